// SPDX-License-Identifier: GPL-2.0-only
//! The tasks of admitted sets in an experiment: each one's worst response beside its bound.

use crate::experiment::us;
use artis_result::experiment::{OfTask, Row};
use std::fmt::Write as _;

/// A column: its heading, and the cell of a task.
type Column = (&'static str, fn(&OfTask) -> String);

const COLUMNS: [Column; 8] = [
    ("period", |of| us(Some(of.period_us))),
    ("deadline", |of| us(Some(of.deadline_us))),
    ("execution", |of| us(Some(of.execution_us))),
    ("bound", |of| us(of.bound_us)),
    ("worst", |of| us(Some(of.response_us_max))),
    ("of bound", |of| match of.of_bound() {
        Some(part) => format!("{part:.2}"),
        None => "-".to_owned(),
    }),
    ("jobs", |of| of.jobs.to_string()),
    ("missed", |of| of.missed.to_string()),
];
const COLUMN: usize = 10;

/// Whether a row is of a set.
pub(super) fn is_set(row: &Row) -> bool {
    !row.figures.tasks.is_empty()
}

/// A line for each task of each row; nothing where no row is of a set.
pub(super) fn text(text: &mut String, rows: &[Row], width: usize) {
    if !rows.iter().any(is_set) {
        return;
    }
    let heads = COLUMNS.map(|(head, _)| format!("{head:>COLUMN$}"));
    let _ = writeln!(
        text,
        "\nWorst responses of admitted tasks against their bounds\n{:width$}{}",
        "",
        heads.concat()
    );
    for (name, task) in tasks(rows) {
        let cells = COLUMNS.map(|(_, cell)| format!("{:>COLUMN$}", cell(task)));
        let _ = writeln!(text, "{name:width$}{}", cells.concat());
    }
}

/// The same as a table of Markdown.
pub(super) fn markdown(text: &mut String, rows: &[Row]) {
    if !rows.iter().any(is_set) {
        return;
    }
    let heads = COLUMNS.map(|(head, _)| format!(" {head} |"));
    let rule = "---|".repeat(COLUMNS.len());
    let _ = writeln!(text, "\n| admitted tasks |{}\n|---|{rule}", heads.concat());
    for (name, task) in tasks(rows) {
        let cells = COLUMNS.map(|(_, cell)| format!(" {} |", cell(task)));
        let _ = writeln!(text, "| {name} |{}", cells.concat());
    }
}

/// Each task with the name of its row before its own.
fn tasks(rows: &[Row]) -> impl Iterator<Item = (String, &OfTask)> {
    rows.iter().flat_map(|row| {
        let of_row = |task: &OfTask| format!("{} {}", row.configuration, task.name);
        let tasks = row.figures.tasks.iter();
        tasks.map(move |task| (of_row(task), task))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::experiment::row;

    #[test]
    fn a_task_without_a_bound_has_no_part_of_it() {
        let mut of_set = row("edf", &[5.0]);
        let task = |bound_us| OfTask {
            name: "control".to_owned(),
            period_us: 5000.0,
            deadline_us: 4000.0,
            execution_us: 1000.0,
            bound_us,
            response_us_max: 1500.0,
            jobs: 80,
            missed: 0,
        };
        of_set.figures.tasks = vec![task(Some(2000.0)), task(None)];
        let (mut plain, mut page, mut nothing) = (String::new(), String::new(), String::new());
        let rows = [row("stock", &[1.0]), of_set];
        text(&mut plain, &rows, 14);
        markdown(&mut page, &rows);
        text(&mut nothing, &rows[..1], 14);
        assert!(plain.contains("0.75        80"), "{plain}");
        assert!(
            page.contains("| edf control | 5000.0 | 4000.0 | 1000.0 | - | 1500.0 | - | 80 | 0 |"),
            "{page}"
        );
        assert!(plain.lines().all(|line| line.len() <= 100), "{plain}");
        assert_eq!(nothing, "");
    }
}
