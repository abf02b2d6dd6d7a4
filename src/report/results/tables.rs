// SPDX-License-Identifier: GPL-2.0-only
//! An experiment's figures as tables of Markdown: RT0 beside the work of the loads, ordinary tasks,
//! and the same work in ten ways. A table that no row has a figure for is left out, and so is a
//! column. What is not here is in the result file, and `artis compare` shows it.

use crate::experiment::{begins_group, us};
use crate::{experiment_brief, experiment_set};
use artis_result::experiment::{Row, Summary};
use artis_result::names::Ordinary;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A column: its heading, and the cell of a row; none where the row has no such figure.
struct Column<'a>(String, Box<Cell<'a>>);

type Cell<'a> = dyn Fn(&Row) -> Option<String> + 'a;

impl<'a> Column<'a> {
    fn new(head: impl Into<String>, cell: impl Fn(&Row) -> Option<String> + 'a) -> Self {
        Self(head.into(), Box::new(cell))
    }
}

/// All tables that the rows have figures for.
pub(super) fn all(text: &mut String, rows: &[Row]) {
    table(text, "RT0", rows, &rt0(rows));
    experiment_set::markdown(text, rows);
    table(text, "ordinary tasks", rows, &ordinary());
    throughput(text, rows);
}

/// A table with those of the columns that some row has a figure for.
fn table(text: &mut String, title: &str, rows: &[Row], columns: &[Column]) {
    let has = |column: &&Column| rows.iter().any(|row| column.1(row).is_some());
    let columns: Vec<&Column> = columns.iter().filter(has).collect();
    if columns.is_empty() {
        return;
    }
    let heads: String = columns.iter().map(|one| format!(" {} |", one.0)).collect();
    let rule = "---|".repeat(columns.len());
    let _ = writeln!(text, "\n| {title} |{heads}\n|---|{rule}");
    for row in rows {
        let cell = |column: &&Column| column.1(row).unwrap_or_default();
        let cells: String = columns
            .iter()
            .map(|one| format!(" {} |", cell(one)))
            .collect();
        let _ = writeln!(text, "| {} |{cells}", row.configuration);
    }
}

/// What RT0 gains, and beside it what the others pay.
fn rt0(rows: &[Row]) -> Vec<Column<'static>> {
    // What the others of a group are compared with has no least: all of it is 1.
    let references = (0..rows.len()).filter(|&at| at == 0 || begins_group(rows, at));
    let references: BTreeSet<String> = references
        .map(|at| rows[at].configuration.clone())
        .collect();
    let references_too = references.clone();
    let leaked = rows.iter().any(|row| row.figures.leaks.unwrap_or(0) > 0);
    vec![
        Column::new("kernel max", |row| {
            row.figures.kernel_latency_us_max.map(one)
        }),
        Column::new("mean", |row| Some(one(row.figures.latency_us_mean))),
        Column::new("99.9 %", |row| Some(one(row.figures.latency_us_p99_9))),
        Column::new("worst", |row| Some(one(row.figures.latency_us_max))),
        Column::new("at places, %", |row| row.figures.worst_places.map(percent)),
        Column::new("leaks", move |row| {
            row.figures
                .leaks
                .filter(|_| leaked)
                .map(|all| all.to_string())
        }),
        Column::new("RT CPU lent, %", |row| {
            row.figures.rt_cpu_share_others.map(percent)
        }),
        Column::new("work kept", |row| {
            experiment_brief::work(&row.figures).map(ratio)
        }),
        Column::new("least", move |row| {
            let is_reference = references.contains(&row.configuration);
            least(&row.figures.work_relative).filter(|_| !is_reference)
        }),
        Column::new("least per CPU second", move |row| {
            let mut all = row.figures.work_per_cpu_second_relative.clone();
            all.extend(row.figures.messages_per_cpu_second_relative.clone());
            let is_reference = references_too.contains(&row.configuration);
            least(&all).filter(|_| !is_reference)
        }),
    ]
}

/// The load that did least, with its figure.
fn least(work: &BTreeMap<String, f64>) -> Option<String> {
    let (name, least) = work
        .iter()
        .min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    Some(format!("{} {name}", ratio(*least)))
}

/// Wakeups of a normal task in full, of all others the figure that says most: a bound and a
/// real-time task's longest wait, and the mean of what is done many times.
fn ordinary() -> Vec<Column<'static>> {
    type Figure = (&'static str, fn(&Summary) -> f64);
    const MEAN: Figure = ("mean", |of| of.us_mean);
    const P99: Figure = ("99 %", |of| of.us_p99);
    const LONGEST: Figure = ("longest", |of| of.us_max);
    let mut columns = Vec::new();
    for kind in Ordinary::ALL {
        let figures: &[Figure] = match kind {
            Ordinary::Normal => &[MEAN, P99, LONGEST],
            Ordinary::Bound | Ordinary::Rt1Level1 | Ordinary::Rt1Level20 => &[LONGEST],
            Ordinary::Commands | Ordinary::Messages | Ordinary::MessagesToMany => &[MEAN],
        };
        let name = kind.name();
        for &(figure, value) in figures {
            let head = match figure {
                "99 %" => figure.to_owned(),
                _ => format!("{name} {figure}"),
            };
            columns.push(Column::new(head, move |row| {
                of_kind(row, name).map(|of| one(value(of)))
            }));
        }
    }
    columns
}

fn of_kind<'a>(row: &'a Row, kind: &str) -> Option<&'a Summary> {
    row.figures.responsiveness.get(kind)
}

/// A line for each way of running the same work.
fn throughput(text: &mut String, rows: &[Row]) {
    let settings: BTreeSet<&String> = rows
        .iter()
        .flat_map(|row| row.figures.throughput_s.keys())
        .collect();
    if settings.is_empty() {
        return;
    }
    let heads = rows.iter().map(|row| format!(" {} |", row.configuration));
    let rule = "---|".repeat(rows.len());
    let _ = writeln!(
        text,
        "\n| the same work, virtual s |{}\n|---|{rule}",
        heads.collect::<String>()
    );
    for setting in settings {
        let of = |row: &Row| row.figures.throughput_s.get(setting).copied();
        let cells = rows
            .iter()
            .map(|row| format!(" {} |", of(row).map(ratio).unwrap_or_default()));
        let name = setting.trim_start_matches('_').replace('_', " ");
        let _ = writeln!(text, "| {name} |{}", cells.collect::<String>());
    }
}

fn one(value: f64) -> String {
    us(Some(value))
}

fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

fn ratio(value: f64) -> String {
    format!("{value:.3}")
}
