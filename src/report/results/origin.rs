// SPDX-License-Identifier: GPL-2.0-only
//! Where figures are from: what most experiments of a page share is said once for all, and a part
//! says only what is its own.

use crate::experiment::setup;
use crate::words::counted;
use artis_result::experiment::{Experiment, Row};
use std::collections::BTreeSet;

/// Facts of an experiment: unit and emulator, kernel, PREEMPT_RT kernel, CPUs, loads, RT0 and the
/// tick, control groups, leaks, what it was made from. None: it has none, or rows differ.
const FACTS: usize = 9;

type Facts = [Option<String>; FACTS];

/// What most experiments of a page have in common.
#[derive(Clone, Debug, Default)]
pub struct Usual(Facts);

impl Usual {
    /// Of each fact what most of the experiments say, the first of them where none is most.
    pub fn of<'a>(experiments: impl IntoIterator<Item = &'a Experiment>) -> Self {
        let all: Vec<Facts> = experiments.into_iter().map(facts).collect();
        let most = |at: usize| {
            let said = || all.iter().filter_map(move |facts| facts[at].as_ref());
            let count = |text: &String| said().filter(|other| *other == text).count();
            // Of equals the last is taken, so the first is put there.
            said().rev().max_by_key(|text| count(text)).cloned()
        };
        Self(std::array::from_fn(most))
    }

    /// In one paragraph.
    pub fn sentence(&self) -> String {
        let said: Vec<&str> = self.0.iter().flatten().map(String::as_str).collect();
        format!("Unless a part says otherwise: {}.", said.join("; "))
    }
}

/// What a part says of its figures: seeds and loads, and what is not as usual.
pub(super) fn paragraph(experiment: &Experiment, usual: &Usual) -> String {
    let rows = &experiment.rows;
    let seeds = rows.iter().map(|row| row.seeds.len()).max().unwrap_or(0);
    let plural = if seeds == 1 { "" } else { "s" };
    let seconds = listed(rows, |row| row.seconds.to_string());
    let mut parts = vec![format!("{seeds} seed{plural} of {seconds} virtual s")];
    let own = facts(experiment).into_iter().zip(&usual.0);
    parts.extend(own.filter_map(|(own, usual)| own.filter(|own| Some(own) != usual.as_ref())));
    // Before control groups had a layout, the end of threads was not repaired either.
    let unrepaired = |row: &Row| row.timers > 1 && row.groups.is_none();
    if rows.iter().any(unrepaired) {
        let note = "the worst of several threads is the measurement's own, which ended one while \
                    another still measured";
        parts.push(note.to_owned());
    }
    format!("{}.", parts.join("; "))
}

fn facts(experiment: &Experiment) -> Facts {
    let rows = &experiment.rows;
    let kernels = |rt: bool| {
        let kernels = rows.iter().filter(|row| (row.preemption == "rt") == rt);
        let kernels: BTreeSet<&str> = kernels.map(|row| row.kernel.as_str()).collect();
        let kernels: Vec<&str> = kernels.into_iter().collect();
        Some(kernels.join(", ")).filter(|names| !names.is_empty())
    };
    let [rt0, groups] = setup(rows).map_or([None, None], |facts| facts.map(Some));
    let mut leaks = rows.iter().filter_map(|row| row.figures.leaks).peekable();
    let leaks = leaks.peek().is_some().then(|| match leaks.sum::<u64>() {
        0 => "no leaks".to_owned(),
        all => format!("leaks: {all}"),
    });
    let made = experiment.made.as_ref();
    [
        Some(format!(
            "{}, {}",
            experiment.time_unit(),
            experiment.engine_version
        )),
        kernels(false).map(|names| format!("Linux {names}")),
        kernels(true).map(|names| format!("PREEMPT_RT {names}")),
        Some(format!("{} CPUs", listed(rows, |row| row.cpus.to_string()))),
        Some(format!("loads: {}", loads(rows))),
        rt0,
        groups,
        leaks,
        Some(made.map_or_else(
            || "commit not written down".to_owned(),
            |made| format!("commit {}", made.commit),
        )),
    ]
}

/// The values of the rows, each once, in their order.
fn listed(rows: &[Row], value: impl Fn(&Row) -> String) -> String {
    let mut all: Vec<String> = Vec::new();
    for value in rows.iter().map(value) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all.join(", ")
}

/// The sets of loads; one set, and how often, where all are multiples of one.
fn loads(rows: &[Row]) -> String {
    let mut times: Vec<usize> = Vec::new();
    let mut base: Option<Vec<String>> = None;
    for row in rows {
        let (one, many) = multiple(&row.loads);
        if base.get_or_insert_with(|| one.clone()) != &one {
            let all = listed(rows, |row| counted(&row.loads, " + "));
            return all.replace(", ", "; or ").replace(" + ", ", ");
        }
        if !times.contains(&many) {
            times.push(many);
        }
    }
    let one = counted(&base.unwrap_or_default(), ", ");
    match times.as_slice() {
        [] | [1] => one,
        times => {
            let times: Vec<String> = times.iter().map(ToString::to_string).collect();
            format!("{one}, {} of each", times.join(", "))
        }
    }
}

/// Loads as a set without a common factor, sorted by first appearance, and that factor.
fn multiple(loads: &[String]) -> (Vec<String>, usize) {
    let mut names: Vec<String> = Vec::new();
    for load in loads {
        if !names.contains(load) {
            names.push(load.clone());
        }
    }
    let count = |name: &String| loads.iter().filter(|load| *load == name).count();
    let many = names.iter().map(count).fold(0, greatest_common_divisor);
    let many = many.max(1);
    let one = names
        .iter()
        .flat_map(|name| vec![name.clone(); count(name) / many]);
    (one.collect(), many)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    match b {
        0 => a,
        b => greatest_common_divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_result::experiment::Made;
    use artis_testing::experiment::{experiment, of_rows, row};

    #[test]
    fn what_most_share_is_said_once() {
        let mut usual = of_rows(&[("stock", &[300.0, 280.0])]);
        usual.rows[0].figures.leaks = Some(0);
        let mut other = experiment(vec![row("stock", &[300.0]), row("rt", &[100.0])]);
        other.rows[1].preemption = "rt".to_owned();
        for row in &mut other.rows {
            row.cpus = 4;
            row.interval_us = Some(1003);
        }
        other.rows[1].figures.leaks = Some(3);
        other.made = Some(Made {
            commit: "0123abc".to_owned(),
            packages: vec!["libc6 2.41".to_owned()],
        });
        let common = Usual::of([&other, &usual, &usual]);
        assert_eq!(
            common.sentence(),
            "Unless a part says otherwise: us at 100 MIPS, emulated (bochs), 3.0; Linux 7.3.4; \
             PREEMPT_RT 7.3.4; 2 CPUs; loads: hackbench; RT0 stayed at the same places of the \
             tick; no control groups but the loads' own; no leaks; commit not written down."
        );
        assert_eq!(paragraph(&usual, &common), "2 seeds of 8 virtual s.");
        assert_eq!(
            paragraph(&other, &common),
            "1 seed of 8 virtual s; 4 CPUs; RT0 every 1003 us, at every place of the tick; leaks: \
             3; commit 0123abc."
        );
    }

    #[test]
    fn loads_are_named_once_where_rows_have_several_of_each() {
        let set = |names: &[&str]| {
            let mut row = row("stock", &[1.0]);
            row.loads = names.iter().map(|&name| name.to_owned()).collect();
            row
        };
        let (one, two) = (set(&["io", "fork"]), set(&["io", "fork", "io", "fork"]));
        assert_eq!(loads(&[one.clone(), two.clone()]), "io, fork, 1, 2 of each");
        assert_eq!(loads(&[two]), "io, fork, 2 of each");
        let more = set(&["io", "io", "fork"]);
        assert_eq!(loads(&[one, more]), "io, fork; or 2 x io, fork");
        assert_eq!(loads(&[set(&[])]), "none");
    }
}
