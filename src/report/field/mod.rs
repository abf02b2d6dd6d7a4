// SPDX-License-Identifier: GPL-2.0-only
//! A machine of one's own in text: what is going to be measured on it, its table, and many machines
//! beside each other.

mod joined;
mod plan;

pub use joined::joined;
pub use plan::{Configuration, Outline, plan};

use crate::columns::{Columns, Side};
use crate::comparison::WIDTH;
use crate::experiment_brief::in_rows;
use crate::paragraph::Layout;
use artis_field::column::{Column, Figures as Run, Times, mean};
use artis_result::experiment::{Figures, Row, Scheduler, Summary};
use artis_result::names::Ordinary;
use std::collections::{BTreeMap, BTreeSet};

const WORDS: Layout = Layout {
    margin: 0,
    indent: 0,
    width: WIDTH,
};

/// The table of a machine, as the first page of the documents has it for an emulator; the worst of
/// each run; and what does not count.
pub fn machine(columns: &[Column]) -> String {
    let counted: Vec<&Column> = columns
        .iter()
        .filter(|one| one.worsts().is_some())
        .collect();
    if counted.is_empty() {
        return String::new();
    }
    let names = names(columns);
    let rows: Vec<Row> = counted
        .iter()
        .map(|one| row(one, base(columns, one), &names))
        .collect();
    let mut text = format!("This machine\n{}", in_rows(&rows));
    let legend = "Microseconds of this machine, but for shares; the worst is that of all runs that \
                  count. RT CPU lent: the part of what the real-time thread leaves that others got. \
                  Work kept: of the loads against stock's, the geometric mean. Wakeups are a normal \
                  task's. Leaks are not counted here: artis sched run says them.";
    text += &format!("\n{}", WORDS.paragraph("", legend));
    text += &format!(
        "\nThe worst of each run, us\n{}",
        worsts(&counted, columns, &names)
    );
    text += &WORDS.paragraph("", &left_out(columns, &names));
    text
}

/// Each by its way, and by its kernel where a way was measured on several.
fn names(columns: &[Column]) -> BTreeMap<(String, String), String> {
    let boots: BTreeSet<&str> = columns.iter().map(|one| one.boot.kernel.as_str()).collect();
    let models: BTreeSet<_> = columns.iter().map(|one| &one.boot).collect();
    let named = columns.iter().map(|one| {
        let boot = one.boot.to_string();
        let name = match (models.len(), boots.len()) {
            (1, _) => one.way.clone(),
            (_, 1) => format!("{} {}", one.way, one.boot.preemption),
            _ => format!("{} {}", one.way, one.boot.kernel),
        };
        ((one.way.clone(), boot), name)
    });
    named.collect()
}

fn name(names: &BTreeMap<(String, String), String>, of: &Column) -> String {
    let key = (of.way.clone(), of.boot.to_string());
    names.get(&key).unwrap_or(&of.way).clone()
}

/// What a configuration is compared with: stock on the same boot, else the first stock that counts.
fn base<'a>(columns: &'a [Column], of: &Column) -> Option<&'a Column> {
    let stocks = || {
        let all = columns
            .iter()
            .filter(|one| ["stock", "rt"].contains(&one.way.as_str()));
        all.filter(|one| one.worsts().is_some())
    };
    let here = stocks().find(|one| one.way == "stock" && one.boot == of.boot);
    here.or_else(|| stocks().find(|one| one.way == "stock"))
        .or_else(|| stocks().next())
}

fn row(of: &Column, base: Option<&Column>, names: &BTreeMap<(String, String), String>) -> Row {
    let mean_us = |times: fn(&Run) -> Option<&Times>, figure: fn(&Times) -> Option<f64>| {
        mean(of.pooled(), |run| times(run).and_then(figure))
    };
    let summary = |times: fn(&Run) -> Option<&Times>| {
        Some(Summary {
            samples: of.pooled().filter_map(times).map(|one| one.count).sum(),
            us_mean: mean_us(times, |one| Some(one.us_mean))?,
            us_p99: mean_us(times, |one| one.us_p99)?,
            us_max: of
                .pooled()
                .filter_map(times)
                .map(|one| one.us_max)
                .fold(0.0, f64::max),
        })
    };
    let ordinary = [
        (Ordinary::Normal, summary(|run| run.normal.as_ref())),
        (Ordinary::Commands, summary(|run| run.commands.as_ref())),
    ];
    let latency = |figure| mean_us(|run| Some(&run.latency), figure).unwrap_or(0.0);
    let figures = Figures {
        samples: of.pooled().map(|run| run.latency.count).sum(),
        kernel_latency_us_max: None,
        latency_us_min: 0.0,
        latency_us_mean: latency(|one| Some(one.us_mean)),
        latency_us_p99: None,
        latency_us_p99_9: 0.0,
        latency_us_max: of.worsts().map_or(0.0, |worsts| worsts.largest),
        worst_places: None,
        execution_time_us_min: None,
        execution_time_us_max: None,
        execution_time_variation: None,
        rt_cpu_share_others: mean(of.pooled(), |run| run.rt_cpu_share_others),
        load_cpu_time_relative: None,
        work_relative: base.map(|base| of.work_against(base)).unwrap_or_default(),
        work_per_cpu_second_relative: BTreeMap::new(),
        leaks: None,
        throughput_s: BTreeMap::new(),
        caches: BTreeMap::new(),
        responsiveness: ordinary
            .into_iter()
            .filter_map(|(which, summary)| Some((which.name().to_owned(), summary?)))
            .collect(),
        messages_per_cpu_second_relative: BTreeMap::new(),
        tasks: Vec::new(),
    };
    Row {
        configuration: name(names, of),
        kernel: of.boot.kernel.clone(),
        preemption: of.boot.preemption.clone(),
        scheduler: Scheduler::Stock,
        cpus: 0,
        timers: 1,
        event: "timer".to_owned(),
        seconds: 0,
        loads: Vec::new(),
        seeds: Vec::new(),
        interval_us: None,
        place_us: None,
        groups: None,
        figures,
        latency_histogram: None,
        per_seed: Vec::new(),
        guests: Vec::new(),
    }
}

/// The distribution of the worsts.
fn worsts(
    counted: &[&Column],
    columns: &[Column],
    names: &BTreeMap<(String, String), String>,
) -> String {
    let mut table = Columns::new([
        ("", Side::Left),
        ("runs", Side::Right),
        ("least", Side::Right),
        ("middle", Side::Right),
        ("largest", Side::Right),
        ("a further run is worse", Side::Right),
        ("mean against stock, 95 %", Side::Left),
    ]);
    for of in counted {
        let Some(worsts) = of.worsts() else {
            continue;
        };
        let us = |us: f64| format!("{us:.1}");
        let against = base(columns, of).filter(|base| *base != *of);
        let ratio = against.map(|base| match of.against(base) {
            Some(interval) => format!("{:.2}..{:.2}", interval.low, interval.high),
            None => "unknown".to_owned(),
        });
        table.push([
            name(names, of),
            format!("{}/{}", worsts.runs, of.runs.len()),
            us(worsts.least),
            us(worsts.middle),
            us(worsts.largest),
            format!("at most {:.0} %", worsts.further_max * 100.0),
            ratio.unwrap_or_else(|| "1".to_owned()),
        ]);
    }
    table.text(WIDTH)
}

/// Runs that do not count.
fn left_out(columns: &[Column], names: &BTreeMap<(String, String), String>) -> String {
    let all = columns.iter().filter_map(|of| {
        let runs: Vec<&Run> = of.runs.iter().filter(|run| !run.is_pooled).collect();
        let worst = of.left_out()?;
        let causes: BTreeSet<&str> = runs
            .iter()
            .flat_map(|run| &run.causes)
            .map(|cause| cause.in_words())
            .collect();
        let causes: Vec<&str> = causes.into_iter().collect();
        Some(format!(
            "Not counted: {} of {}, worst {worst:.1} us: {}.",
            runs.len(),
            name(names, of),
            causes.join(", ")
        ))
    });
    all.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
