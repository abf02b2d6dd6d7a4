// SPDX-License-Identifier: GPL-2.0-only
//! The made parts of pages: between `<!-- made: NAME -->` and `<!-- end -->` stands what the result
//! file NAME says, and nobody types a figure there.
//!
//! Pure: an experiment's document and what became of its gates in, Markdown out. Who reads the
//! files and writes the pages is `packaging/results`.

mod origin;
pub mod same;
mod tables;

pub use origin::Usual;

use super::experiment_brief;
use super::paragraph::Layout;
use artis_decide::compare::gate::{Check, Outcome, Verdict};
use artis_result::experiment::Experiment;
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

/// What all parts of a page have in common.
pub fn common(usual: &Usual) -> String {
    format!("\n{}\n", LAYOUT.paragraph("", &usual.sentence()))
}

/// All that a page says of the result file `name`: what was measured on what, a sentence, tables,
/// gates.
pub fn part(name: &str, experiment: &Experiment, verdicts: &[Verdict], usual: &Usual) -> String {
    let origin = format!("`{name}`: {}", origin::paragraph(experiment, usual));
    let mut text = format!("\n{}", LAYOUT.paragraph("", &origin));
    if let Some(sentence) = experiment_brief::sentence(&experiment.rows) {
        text += &format!("\n{}", LAYOUT.paragraph("", &sentence));
    }
    tables::all(&mut text, &experiment.rows);
    gates(&mut text, verdicts);
    text.push('\n');
    text
}

/// The experiment in one small table and a sentence, for a first page.
pub fn in_brief(experiment: &Experiment) -> String {
    let mut text = format!(
        "\n```\n{}```\n",
        experiment_brief::in_rows(&experiment.rows)
    );
    if let Some(sentence) = experiment_brief::sentence(&experiment.rows) {
        text += &format!("\n{}", LAYOUT.paragraph("", &sentence));
    }
    text.push('\n');
    text
}

/// A gate on a configuration, and what became of it.
type Judged<'a> = (&'a Verdict, &'a Check);

/// How many gates are held, and those that are not.
fn judge(verdicts: &[Verdict]) -> (String, Vec<Judged<'_>>) {
    let checks = verdicts.iter().flat_map(|verdict| {
        let checks = verdict.checks.iter();
        checks.map(move |check| (verdict, check))
    });
    let all: Vec<Judged> = checks.collect();
    let missed = |(_, check): &Judged| check.outcome != Outcome::Held;
    let missed: Vec<Judged> = all.iter().copied().filter(missed).collect();
    let held = all.len() - missed.len();
    (format!("{held} of {} gates held", all.len()), missed)
}

/// How many gates are held, and a table of those that are not.
fn gates(text: &mut String, verdicts: &[Verdict]) {
    if verdicts.is_empty() {
        return;
    }
    let (sentence, missed) = judge(verdicts);
    if missed.is_empty() {
        let _ = writeln!(text, "\n{sentence}.");
        return;
    }
    let _ = writeln!(text, "\n{sentence}; these did not:\n");
    text.push_str("| gate | measured | bound |\n|---|---|---|\n");
    for judged in missed {
        let [gate, figure, bound, outcome] = cells(judged);
        let figure = match judged.1.outcome {
            Outcome::NotJudged(_) => outcome,
            _ => figure,
        };
        let _ = writeln!(text, "| {} | {figure} | {bound} |", gate.replace('|', "/"));
    }
}

/// The gate, its figure, its bound, and what became of it.
fn cells((verdict, check): Judged) -> [String; 4] {
    let number = |value: f64| match value {
        small if small.abs() < 10.0 => format!("{small:.3}"),
        large => format!("{large:.1}"),
    };
    let figure = check.figure.map(|figure| number(figure.value));
    let bound = verdict.bound.map(|bound| number(bound.low));
    let outcome = match &check.outcome {
        Outcome::Held => "held",
        Outcome::Missed => "missed",
        Outcome::NotJudged(_) => "not judged",
    };
    let none = || "-".to_owned();
    [
        verdict.gate.to_string(),
        figure.unwrap_or_else(none),
        bound.unwrap_or_else(none),
        outcome.to_owned(),
    ]
}

/// What became of the gates, for a terminal: a sentence, and those that are not held.
pub fn judged(name: &str, verdicts: &[Verdict]) -> String {
    let (sentence, missed) = judge(verdicts);
    let lines = missed
        .into_iter()
        .map(|judged| format!("  {}\n", cells(judged).join("  ")));
    format!("{name}: {sentence}\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests;
