// SPDX-License-Identifier: GPL-2.0-only
//! An experiment's figures as tables of Markdown: RT0, the work of the loads, ordinary tasks, and
//! the same work in ten ways. A table that no row has a figure for is left out, and so is a column.

use crate::experiment::us;
use artis_result::experiment::{Figures, Row, Summary};
use artis_result::names::Ordinary;
use std::collections::BTreeSet;
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
    table(text, "ordinary tasks", rows, &ordinary());
    table(text, "work per CPU second", rows, &work(rows, true));
    table(text, "work", rows, &work(rows, false));
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

fn rt0(rows: &[Row]) -> Vec<Column<'static>> {
    let several = rows.iter().any(|row| row.per_seed.len() > 1);
    vec![
        Column::new("kernel max", |row| {
            row.figures.kernel_latency_us_max.map(one)
        }),
        Column::new("mean", |row| Some(one(row.figures.latency_us_mean))),
        Column::new("99.9 %", |row| Some(one(row.figures.latency_us_p99_9))),
        Column::new("worst", |row| Some(one(row.figures.latency_us_max))),
        Column::new("worst at places", |row| {
            row.figures.worst_places.map(percent)
        }),
        Column::new("worst of each seed", move |row| {
            several.then(|| of_seeds(row))
        }),
        Column::new("RT CPU to others", |row| {
            row.figures.rt_cpu_share_others.map(percent)
        }),
        Column::new("CPU time of loads", |row| {
            row.figures.load_cpu_time_relative.map(ratio)
        }),
        Column::new("leaks", |row| row.figures.leaks.map(|all| all.to_string())),
    ]
}

fn of_seeds(row: &Row) -> String {
    let worst = row.per_seed.iter().map(|seed| seed.figures.latency_us_max);
    let worst: Vec<String> = worst.map(|us| format!("{us:.0}")).collect();
    worst.join(", ")
}

fn ordinary() -> Vec<Column<'static>> {
    let mut columns = Vec::new();
    for kind in Ordinary::ALL {
        let wakeups = matches!(kind, Ordinary::Normal | Ordinary::Bound);
        let rt1 = matches!(kind, Ordinary::Rt1Level1 | Ordinary::Rt1Level20);
        let kind = kind.name();
        if !rt1 {
            columns.push(Column::new(format!("{kind}: mean"), move |row| {
                of_kind(row, kind).map(|of| one(of.us_mean))
            }));
        }
        if wakeups {
            columns.push(Column::new("99 %", move |row| {
                of_kind(row, kind).map(|of| one(of.us_p99))
            }));
        }
        if wakeups || kind.starts_with("rt1") {
            let head = match wakeups {
                true => "longest".to_owned(),
                false => format!("{kind}: longest"),
            };
            columns.push(Column::new(head, move |row| {
                of_kind(row, kind).map(|of| one(of.us_max))
            }));
        }
    }
    columns
}

fn of_kind<'a>(row: &'a Row, kind: &str) -> Option<&'a Summary> {
    row.figures.responsiveness.get(kind)
}

/// What the loads did against the first row: of each, per second of its CPU time or of all time.
fn work(rows: &[Row], per_cpu_second: bool) -> Vec<Column<'static>> {
    let all = move |of: &Figures| match per_cpu_second {
        true => {
            let mut all = of.work_per_cpu_second_relative.clone();
            all.extend(of.messages_per_cpu_second_relative.clone());
            all
        }
        false => of.work_relative.clone(),
    };
    let names: BTreeSet<String> = rows
        .iter()
        .flat_map(|row| all(&row.figures).into_keys())
        .collect();
    names
        .into_iter()
        .map(|name| {
            let head = name.replace('-', " ");
            Column::new(head, move |row| {
                all(&row.figures).get(&name).copied().map(ratio)
            })
        })
        .collect()
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
    format!("{:.0} %", share * 100.0)
}

fn ratio(value: f64) -> String {
    format!("{value:.3}")
}
