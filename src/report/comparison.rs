// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as a text table: a line of figures for each configuration, the ratios to the
//! baseline below it, and their intervals below these.
//!
//! Columns that do not fit beside each other continue in a second block.

use super::words::{legend, plain};
use artis_decide::compare::{Cell, Compared, Comparison, Metric, Ratio};
use std::fmt::Write;

/// Columns of a terminal that tables may use.
pub(super) const WIDTH: usize = 80;
const NAME_WIDTH_MAX: usize = 28;
const GAP: usize = 2;
/// A longer name is broken, where it can be.
const HEAD_WIDTH: usize = 13;

/// What a column shows.
#[derive(Clone)]
enum Content {
    Samples,
    /// Of all runs together.
    All(Metric),
    /// The mean of each run's worst.
    PerRun(Metric),
}

/// A column, with the decimals that suit its largest figure.
struct Column {
    content: Content,
    /// From the bottom up.
    heads: Vec<String>,
    decimals: usize,
    width: usize,
}

/// The lines of a configuration.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    Figures,
    Ratios,
    Intervals,
}

/// The table, what its words mean, and what speaks against it.
pub fn table(all: &Comparison) -> String {
    let base = &all.base().configuration;
    let mut text = format!("times in {}", plain(&all.unit));
    if all.configurations.len() > 1 {
        let _ = write!(text, "; ratios to {}", plain(&base.name));
    }
    if !base.kernel.is_empty() {
        let _ = write!(text, "\nLinux {}", plain(&base.kernel));
    }
    text.push('\n');
    let names = all
        .configurations
        .iter()
        .map(|one| name(one).chars().count());
    let name_width = names.max().unwrap_or(0).max("  ratio".len());
    for block in blocks(columns(all), WIDTH - name_width) {
        text.push('\n');
        let heads = block.iter().map(|column| column.heads.len()).max();
        for head in (0..heads.unwrap_or(0)).rev() {
            let mut line = " ".repeat(name_width);
            for column in &block {
                let words = column.heads.get(head).map_or("", String::as_str);
                let _ = write!(line, "{words:>0$}", column.width + GAP);
            }
            text += line.trim_end();
            text.push('\n');
        }
        for one in &all.configurations {
            for (line, title) in [
                (Line::Figures, name(one)),
                (Line::Ratios, "  ratio".to_owned()),
                (Line::Intervals, "  95 %".to_owned()),
            ] {
                let cells: Vec<String> = block.iter().map(|it| it.cell(one, line)).collect();
                if line != Line::Figures && cells.iter().all(String::is_empty) {
                    continue;
                }
                let pad = name_width - title.chars().count();
                let mut words = title + &" ".repeat(pad);
                for (column, cell) in block.iter().zip(cells) {
                    let _ = write!(words, "{cell:>0$}", column.width + GAP);
                }
                text += words.trim_end();
                text.push('\n');
            }
        }
    }
    text + &legend(all)
}

fn name(one: &Compared) -> String {
    let name = plain(&one.configuration.name);
    if name.chars().count() <= NAME_WIDTH_MAX {
        return name;
    }
    name.chars().take(NAME_WIDTH_MAX - 1).chain(['…']).collect()
}

fn columns(all: &Comparison) -> Vec<Column> {
    let mut columns = vec![Column::new(Content::Samples, all)];
    for metric in all.metrics().into_iter().filter(Metric::is_in_tables) {
        let several = |one: &Compared| {
            let cell = one.cells.get(&metric);
            cell.is_some_and(|cell| cell.runs.len() > 1)
        };
        let per_run = metric.is_worst() && all.configurations.iter().any(several);
        columns.push(Column::new(Content::All(metric.clone()), all));
        if per_run {
            columns.push(Column::new(Content::PerRun(metric), all));
        }
    }
    columns
}

/// Columns that fit beside each other; those of one block's worst and per-run figures too.
fn blocks(columns: Vec<Column>, width: usize) -> Vec<Vec<Column>> {
    let mut blocks: Vec<Vec<Column>> = vec![Vec::new()];
    let mut used = 0;
    for column in columns {
        let wide = column.width + GAP;
        if used + wide > width && used > 0 {
            blocks.push(Vec::new());
            used = 0;
        }
        used += wide;
        if let Some(block) = blocks.last_mut() {
            block.push(column);
        }
    }
    blocks
}

impl Column {
    fn new(content: Content, all: &Comparison) -> Self {
        let mut heads = match &content {
            Content::Samples => vec!["samples".to_owned()],
            Content::All(metric) | Content::PerRun(metric) => heads(&plain(&metric.to_string())),
        };
        if matches!(content, Content::PerRun(_)) {
            heads.insert(0, "per run".to_owned());
        }
        let mut column = Self {
            content,
            heads,
            decimals: 0,
            width: 0,
        };
        let figures = all
            .configurations
            .iter()
            .filter_map(|one| column.figure(one));
        column.decimals = decimals(figures);
        let lines = [Line::Figures, Line::Ratios, Line::Intervals];
        let cells = all
            .configurations
            .iter()
            .flat_map(|one| lines.map(|line| column.cell(one, line)));
        let widths = cells
            .chain(column.heads.iter().cloned())
            .map(|cell| cell.chars().count());
        column.width = widths.max().unwrap_or(0);
        column
    }

    fn metric<'a>(&self, one: &'a Compared) -> Option<&'a Cell> {
        match &self.content {
            Content::Samples => None,
            Content::All(metric) | Content::PerRun(metric) => one.cells.get(metric),
        }
    }

    fn figure(&self, one: &Compared) -> Option<f64> {
        match &self.content {
            Content::Samples => None,
            Content::All(_) => self.metric(one).map(|cell| cell.figure.value),
            Content::PerRun(_) => self.metric(one)?.mean_of_runs(),
        }
    }

    /// What stands in a line; empty is nothing, `-` what is not known.
    fn cell(&self, one: &Compared, line: Line) -> String {
        let ratio = self.metric(one).and_then(|cell| cell.ratio);
        match (&self.content, line) {
            (Content::Samples, Line::Figures) => one.configuration.samples().to_string(),
            (Content::Samples, _) => String::new(),
            (_, Line::Figures) => self.figure(one).map_or_else(
                || "-".to_owned(),
                |figure| format!("{figure:.*}", self.decimals),
            ),
            (content, Line::Ratios) => ratio.map_or_else(String::new, |ratio| {
                let value = match content {
                    Content::PerRun(_) => ratio.of_means,
                    _ => ratio.of_all,
                };
                self::ratio(value, ratio)
            }),
            (Content::All(metric), Line::Intervals) if metric.is_extreme() => String::new(),
            (_, Line::Intervals) => match ratio {
                Some(Ratio {
                    interval: Some(interval),
                    ..
                }) => format!("{}-{}", short(interval.low), short(interval.high)),
                Some(Ratio {
                    of_means: Some(_), ..
                }) => "-".to_owned(),
                _ => String::new(),
            },
        }
    }
}

/// A figure's name in lines from the bottom up, broken after dots and underscores.
fn heads(name: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in name.split_inclusive(['.', '_']) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.chars().count() <= HEAD_WIDTH => {
                line.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.reverse();
    lines
}

/// Four digits of the largest figure, and none after the point that nobody measured.
fn decimals(figures: impl Iterator<Item = f64>) -> usize {
    let mut largest = 0.0_f64;
    let mut whole = true;
    for figure in figures {
        largest = largest.max(figure.abs());
        whole &= figure.fract() == 0.0;
    }
    match largest {
        _ if whole => 0,
        10_000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    }
}

/// `*`: of extremes of different numbers of samples.
pub(super) fn ratio(value: Option<f64>, of: Ratio) -> String {
    match (value, of.unequal) {
        (Some(value), Some(_)) => short(value) + "*",
        (Some(value), None) => short(value),
        (None, Some(_)) => "withheld".to_owned(),
        (None, None) => "-".to_owned(),
    }
}

/// A ratio with three digits.
pub(super) fn short(ratio: f64) -> String {
    match ratio.abs() {
        100.0..1e6 => format!("{ratio:.0}"),
        10.0..100.0 => format!("{ratio:.1}"),
        0.1..10.0 => format!("{ratio:.2}"),
        0.0..0.1 => format!("{ratio:.3}"),
        _ => format!("{ratio:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::compared;

    #[test]
    fn figures_ratios_and_intervals_stand_below_each_other() {
        let all = compared(
            &[
                ("stock", &[800.0, 1000.0, 900.0]),
                ("artis", &[80.0, 100.0, 90.0]),
            ],
            false,
        );
        let text = table(&all);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "times in us at 100 MIPS, emulated (bochs); ratios to stock",
                "Linux 7.3.4"
            ]
        );
        let words = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>();
        assert_eq!(
            words(3),
            [
                "samples",
                "latency.min",
                "latency.mean",
                "latency.p99_9",
                "latency.max"
            ]
        );
        assert_eq!(words(4), ["stock", "3000", "20", "250", "500", "1000"]);
        assert_eq!(words(6), ["ratio", "1.00", "0.10", "0.10", "0.10"]);
        // Neither the shortest nor the worst of all runs has an interval.
        assert_eq!(words(7)[..2], ["95", "%"]);
        assert_eq!(words(7).len(), 2 + 2);
        assert_eq!(words(9), ["latency.max", "throughput."]);
        assert_eq!(words(10), ["per", "run", "load_cpu_time", "hackbench"]);
        assert_eq!(words(11), ["stock", "900", "1", "1"]);
        assert_eq!(words(13), ["ratio", "0.10", "1.00", "1.00"]);
        assert_eq!(words(14).len(), 2 + 3);
        assert!(text.contains("Fieller"), "{text}");
    }

    #[test]
    fn every_line_fits_80_columns() {
        let long = "a-configuration-with-quite-a-long-name";
        for rows in [
            [("stock", [1e9, 2e9]), (long, [1.0, 2e9])],
            [("stock", [0.5, 0.1]), ("artis", [1e9, 2e9])],
        ] {
            let rows: Vec<(&str, &[f64])> = rows
                .iter()
                .map(|(name, maxima)| (*name, &maxima[..]))
                .collect();
            let text = table(&compared(&rows, false));
            assert!(
                text.lines().all(|line| line.chars().count() <= WIDTH),
                "{text}"
            );
        }
    }

    #[test]
    fn withheld_ratios_are_explained() {
        let rows: [(&str, &[f64]); 2] = [("stock", &[100.0, 300.0]), ("artis", &[50.0])];
        let text = table(&compared(&rows, false));
        assert!(
            text.contains("withheld: stock has 2000 samples, artis 1000"),
            "{text}"
        );
        assert!(text.contains("--allow-unequal-samples"), "{text}");
        let text = table(&compared(&rows, true));
        assert!(
            text.contains("0.17*") && text.contains("*: stock has"),
            "{text}"
        );
    }

    #[test]
    fn long_names_are_broken_where_they_can_be() {
        assert_eq!(heads("latency.max"), ["latency.max"]);
        assert_eq!(heads("load_cpu_time"), ["load_cpu_time"]);
        assert_eq!(
            heads("work_per_cpu_second.hackbench"),
            ["hackbench", "second.", "work_per_cpu_"]
        );
        assert_eq!(
            heads("throughput.unbreakable"),
            ["unbreakable", "throughput."]
        );
    }

    #[test]
    fn ratios_have_three_digits() {
        for (ratio, text) in [
            (0.0, "0.000"),
            (0.0456, "0.046"),
            (1.0, "1.00"),
            (12.34, "12.3"),
            (1234.0, "1234"),
            (1e9, "1.0e9"),
        ] {
            assert_eq!(short(ratio), text);
        }
    }
}
