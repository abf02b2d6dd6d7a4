// SPDX-License-Identifier: GPL-2.0-only
//! The made parts of pages: between `<!-- made: NAME -->` and `<!-- end -->` stands what the result
//! file NAME says, and nobody types a figure there.
//!
//! Pure: an experiment's document and what became of its gates in, Markdown out. Who reads the
//! files and writes the pages is `packaging/results`.

pub mod same;
mod tables;

use super::brief;
use super::experiment::setup;
use super::paragraph::Layout;
use super::words::counted;
use artis_decide::compare::gate::{Check, Outcome, Verdict};
use artis_result::experiment::{Experiment, Row};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const BEGIN: &str = "<!-- made: ";
const BEGIN_END: &str = " -->\n";
const END: &str = "<!-- end -->";

/// Paragraphs of pages.
const LAYOUT: Layout = Layout {
    margin: 0,
    indent: 0,
    width: 100,
};

/// Why a page cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("\"{BEGIN}{0}{BEGIN_END}\" has no \"{END}\" behind it", BEGIN_END = BEGIN_END.trim_end())]
    NoEnd(String),
    #[error("\"{BEGIN}\" has no \"{BEGIN_END}\" on its line", BEGIN_END = BEGIN_END.trim_end())]
    NoName,
}

/// The page with each made part replaced by what `part` gives for its name.
///
/// # Errors
/// [`Error`].
pub fn page(page: &str, part: impl Fn(&str) -> String) -> Result<String, Error> {
    let mut made = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let named = after.split_once(BEGIN_END);
        let (name, after) = named
            .filter(|(name, _)| !name.contains('\n'))
            .ok_or(Error::NoName)?;
        let (_, behind) = after
            .split_once(END)
            .ok_or_else(|| Error::NoEnd(name.to_owned()))?;
        let part = part(name);
        let _ = write!(made, "{before}{BEGIN}{name}{BEGIN_END}{part}{END}");
        rest = behind;
    }
    Ok(made + rest)
}

/// The names of a page's made parts.
pub fn names(page: &str) -> Vec<&str> {
    let parts = page.split(BEGIN).skip(1);
    parts
        .filter_map(|part| Some(part.split_once(BEGIN_END)?.0))
        .collect()
}

/// All that a page says of an experiment: what was measured on what, a sentence, tables, gates.
pub fn part(experiment: &Experiment, verdicts: &[Verdict]) -> String {
    let mut text = String::from("\n");
    text += &LAYOUT.paragraph("", &origin(experiment));
    if let Some(sentence) = brief::sentence(&experiment.rows) {
        text += &format!("\n{}", LAYOUT.paragraph("", &sentence));
    }
    tables::all(&mut text, &experiment.rows);
    gates(&mut text, verdicts);
    text.push('\n');
    text
}

/// The experiment in one small table and a sentence, for a first page.
pub fn in_brief(experiment: &Experiment) -> String {
    let mut text = format!("\n```\n{}```\n", brief::in_rows(&experiment.rows));
    if let Some(sentence) = brief::sentence(&experiment.rows) {
        text += &format!("\n{}", LAYOUT.paragraph("", &sentence));
    }
    text.push('\n');
    text
}

/// In one paragraph: the unit, what was measured, on what, and from what it was built.
fn origin(experiment: &Experiment) -> String {
    let rows = &experiment.rows;
    let kernels: BTreeSet<&str> = rows.iter().map(|row| row.kernel.as_str()).collect();
    let kernels: Vec<&str> = kernels.into_iter().collect();
    let mut text = format!(
        "In {}. Linux {}; {}",
        experiment.time_unit(),
        kernels.join(" and "),
        experiment.engine_version
    );
    if let Some(row) = rows.first() {
        let seeds = rows.iter().map(|row| row.seeds.len()).max().unwrap_or(0);
        let plural = if seeds == 1 { "" } else { "s" };
        let _ = write!(
            text,
            "; {} CPUs; {seeds} seed{plural} of {} virtual s",
            listed(rows, |row| row.cpus.to_string()),
            row.seconds
        );
        let _ = write!(text, "; loads: {}", loads(rows));
    }
    if let Some(setup) = setup(rows) {
        let _ = write!(text, "; {setup}");
    }
    // Before control groups had a layout, the end of threads was not repaired either.
    if rows
        .iter()
        .any(|row| row.timers > 1 && row.groups.is_none())
    {
        text += "; the worst of several threads is the measurement's own, which ended one while \
                 another still measured";
    }
    if let Some(made) = &experiment.made {
        let packages = made.packages.join(", ");
        let _ = write!(text, "; commit {}, with {packages}", made.commit);
    }
    text + "."
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

fn loads(rows: &[Row]) -> String {
    let all = listed(rows, |row| counted(&row.loads, " + "));
    all.replace(", ", "; or ").replace(" + ", ", ")
}

/// What was wanted, and what became of it.
fn gates(text: &mut String, verdicts: &[Verdict]) {
    if verdicts.is_empty() {
        return;
    }
    text.push_str("\n| wanted | measured | bound | |\n|---|---|---|---|\n");
    for verdict in verdicts {
        for check in &verdict.checks {
            let _ = writeln!(text, "{}", gate(verdict, check));
        }
    }
}

fn gate(verdict: &Verdict, check: &Check) -> String {
    let number = |value: f64| match value {
        small if small.abs() < 10.0 => format!("{small:.3}"),
        large => format!("{large:.1}"),
    };
    let figure = check.figure.map(|figure| number(figure.value));
    let bound = verdict.bound.map(|bound| number(bound.low));
    let outcome = match &check.outcome {
        Outcome::Held => "held",
        Outcome::Missed => "**missed**",
        Outcome::NotJudged(_) => "**not judged**",
    };
    let none = || "-".to_owned();
    format!(
        "| {} | {} | {} | {outcome} |",
        verdict.gate.to_string().replace('|', "/"),
        figure.unwrap_or_else(none),
        bound.unwrap_or_else(none)
    )
}

/// What became of the gates, in a sentence for a terminal: those that are not held first.
pub fn judged(name: &str, verdicts: &[Verdict]) -> String {
    let checks = || {
        let of = |verdict| move |check| (verdict, check);
        verdicts
            .iter()
            .flat_map(move |verdict: &Verdict| verdict.checks.iter().map(of(verdict)))
    };
    let missed: Vec<String> = checks()
        .filter(|(_, check)| check.outcome != Outcome::Held)
        .map(|(verdict, check)| format!("  {}\n", plain(&gate(verdict, check))))
        .collect();
    let all = checks().count();
    let held = all - missed.len();
    format!("{name}: {held} of {all} gates held\n{}", missed.concat())
}

/// A row of a table as text.
fn plain(row: &str) -> String {
    let cells = row.split('|').map(str::trim);
    let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
    cells.join("  ").replace("**", "")
}

#[cfg(test)]
mod tests;
