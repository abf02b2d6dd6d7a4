// SPDX-License-Identifier: GPL-2.0-only
//! What stands below a comparison's table: the meaning of its words, what speaks against it, and
//! what became of its gates.

use super::comparison::WIDTH;
use super::paragraph;
use artis_decide::compare::figures::setup::unlike;
use artis_decide::compare::gate::{Bound, Check, Outcome, Verdict};
use artis_decide::compare::interval::METHOD;
use artis_decide::compare::{Cell, Comparison, Range};

pub use artis_result::terminal::plain;

/// What the table's words mean, and what speaks against it.
pub(super) fn legend(all: &Comparison) -> String {
    let mut text = String::from("\n");
    if all.has_runs() {
        text += &wrapped(&format!(
            "95 %: {METHOD}, - where the runs are too few or too different for one; the worst of \
             all runs has none. per run: the mean of each run's worst."
        ));
    }
    text += &unequal(all).map_or_else(String::new, |words| wrapped(&words));
    for note in notes(all) {
        text += &wrapped(&plain(&format!("note: {note}")));
    }
    if text.trim().is_empty() {
        return String::new();
    }
    text
}

/// Says which extremes are not comparable.
pub(super) fn unequal(all: &Comparison) -> Option<String> {
    let base = &all.base().configuration;
    let mut others = Vec::new();
    for one in &all.configurations {
        let unlike = |cell: &Cell| cell.ratio.and_then(|ratio| ratio.unequal);
        if let Some((samples, _)) = one.cells.values().find_map(unlike) {
            others.push(format!("{} {samples}", one.configuration.name));
        }
    }
    if others.is_empty() {
        return None;
    }
    let counts = format!(
        "{} has {} samples, {}: the larger sample has the wider extremes, whatever was measured.",
        plain(&base.name),
        base.samples(),
        plain(&others.join(", ")),
    );
    Some(match all.unequal_allowed {
        true => format!("*: {counts}"),
        false => {
            format!("withheld: {counts} --allow-unequal-samples compares them nevertheless.")
        }
    })
}

/// Loads, each once, with how often it runs when that is several times, and `between` two of them.
pub(crate) fn counted(loads: &[String], between: &str) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for load in loads {
        match counts.iter_mut().find(|(name, _)| name == load) {
            Some((_, count)) => *count += 1,
            None => counts.push((load, 1)),
        }
    }
    let words = counts.iter().map(|(name, count)| match count {
        1 => (*name).to_owned(),
        more => format!("{more} x {name}"),
    });
    let words: Vec<String> = words.collect();
    match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(between),
    }
}

/// What speaks against the comparison, a sentence each.
pub fn notes(all: &Comparison) -> Vec<String> {
    let setups = all.configurations.iter();
    let setups: Vec<_> = setups
        .map(|one| (one.configuration.name.as_str(), &one.configuration.setup))
        .collect();
    let mut notes = unlike(&setups, &[]);
    for note in &mut notes {
        note.insert_str(0, "not alike: ");
    }
    let own = all
        .configurations
        .iter()
        .flat_map(|one| one.configuration.notes.clone());
    notes.extend(own);
    notes
}

/// A gate's verdict as a sentence: those that missed it first.
pub fn sentence(verdict: &Verdict) -> String {
    let mut parts = Vec::new();
    for (words, outcome) in [("MISSED", Outcome::Missed), ("held", Outcome::Held)] {
        let checks = verdict.checks.iter().filter(|one| one.outcome == outcome);
        let names: Vec<String> = checks.map(with_value).collect();
        if !names.is_empty() {
            parts.push(format!("{words} by {}", names.join(", ")));
        }
    }
    let mut open: Vec<(&str, Vec<String>)> = Vec::new();
    for one in &verdict.checks {
        let Outcome::NotJudged(why) = &one.outcome else {
            continue;
        };
        match open.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(with_value(one)),
            None => open.push((why, vec![with_value(one)])),
        }
    }
    let open = open.iter();
    parts.extend(open.map(|(why, names)| format!("NOT JUDGED for {}: {why}", names.join(", "))));
    let bound = match (&verdict.gate.bound, verdict.reference, verdict.bound) {
        (Bound::Times { factor, reference }, Some(value), Some(bound)) => {
            let value = Range::of(value);
            match factor {
                1.0 => format!("; the bound is {bound} of {reference}"),
                factor => format!("; the bound is {bound}, {factor} times {value} of {reference}"),
            }
        }
        _ => String::new(),
    };
    plain(&format!(
        "gate {}: {}{bound}",
        verdict.gate,
        parts.join("; ")
    ))
}

fn with_value(check: &Check) -> String {
    let Some(figure) = check.figure else {
        return check.configuration.clone();
    };
    let missed = match figure.range.is_exact() {
        true => String::new(),
        false => format!(
            "; {} with the {} periods that it missed",
            figure.range, figure.missed
        ),
    };
    let unequal = check.unequal.map_or_else(String::new, |(ours, others)| {
        format!(", {ours} samples against {others}")
    });
    let value = Range::of(figure.value);
    format!("{} ({value}{missed}{unequal})", check.configuration)
}

/// A paragraph, its further lines indented by "note: ".
fn wrapped(words: &str) -> String {
    let words = words.split_whitespace().map(str::to_owned);
    paragraph::wrapped(words, "", "      ", WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::compared;

    #[test]
    fn a_verdict_is_a_sentence() {
        let rows: [(&str, &[f64]); 3] = [
            ("stock", &[900.0]),
            ("shield", &[100.0]),
            ("artis", &[110.5]),
        ];
        let gate: artis_decide::compare::Gate = "latency.max<=1.2*shield".parse().unwrap();
        let verdict = gate.check(&compared(&rows, false)).unwrap();
        assert_eq!(
            sentence(&verdict),
            "gate latency.max<=1.2*shield: MISSED by stock (900); held by artis (110.5); the bound is \
             120, 1.2 times 100 of shield"
        );
    }

    #[test]
    fn paragraphs_fit_the_width() {
        let text = wrapped(&format!("note: {}", "word ".repeat(50)));
        assert_eq!(text.lines().count(), 4);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.starts_with("      word"))
        );
    }
}
