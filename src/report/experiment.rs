// SPDX-License-Identifier: GPL-2.0-only
//! The table of an experiment: latency, what others got of the RT CPU, and how the loads fared.

use artis_result::experiment::{Experiment, Figures, Row};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const NAME_WIDTH_MIN: usize = 14;
const COLUMN: usize = 10;
const MESSAGES_COLUMN: usize = 18;
/// Columns in a block, so that 100 columns of text hold them.
const LOADS_PER_BLOCK: usize = 8;

/// A column: its two lines of heading, and the cell of a row.
type Column = ([&'static str; 2], fn(&Figures) -> String);

const LATENCY: [Column; 8] = [
    (["kernel", "max"], |of| us(of.kernel_latency_us_max)),
    (["latency", "min"], |of| us(Some(of.latency_us_min))),
    (["latency", "mean"], |of| us(Some(of.latency_us_mean))),
    (["latency", "99.9 %"], |of| us(Some(of.latency_us_p99_9))),
    (["latency", "max"], |of| us(Some(of.latency_us_max))),
    (["exec.time", "variation"], |of| {
        percent(of.execution_time_variation)
    }),
    (["RT CPU to", "others"], |of| {
        percent(of.rt_cpu_share_others)
    }),
    (["leaks", ""], |of| count(of.leaks)),
];

/// The whole table, with a heading that says what its figures are.
pub fn table(title: &str, experiment: &Experiment) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{title}");
    let kernels: BTreeSet<&str> = experiment
        .rows
        .iter()
        .map(|row| row.kernel.as_str())
        .collect();
    for kernel in kernels {
        let _ = writeln!(text, "Linux {kernel}");
    }
    if let Some(row) = experiment.rows.first() {
        let _ = writeln!(
            text,
            "{}; loads: {}; {} virtual s for each of {} seeds",
            experiment.engine_version,
            row.loads.join(", "),
            row.seconds,
            row.seeds.len()
        );
    }
    let _ = writeln!(
        text,
        "Latency in {}:\n1 us is 100 instructions, and no microsecond of a real machine.\n",
        experiment.time_unit()
    );
    let width = experiment.rows.iter().map(|row| row.configuration.len());
    let width = width.max().unwrap_or(0).max(NAME_WIDTH_MIN) + 1;
    latencies(&mut text, experiment, width);
    loads(&mut text, experiment, width);
    throughput(&mut text, experiment, width);
    responsiveness(&mut text, experiment, width);
    messages(&mut text, experiment, width);
    text
}

/// How many messages a second of CPU time passes on.
fn messages(text: &mut String, experiment: &Experiment, width: usize) {
    let relative = |row: &Row| row.figures.messages_per_cpu_second_relative.clone();
    let names: BTreeSet<String> = experiment
        .rows
        .iter()
        .flat_map(|row| relative(row).into_keys())
        .collect();
    let Some(reference) = reference(experiment).filter(|_| !names.is_empty()) else {
        return;
    };
    let heads: String = names
        .iter()
        .map(|name| format!("{name:>MESSAGES_COLUMN$}"))
        .collect();
    let _ = writeln!(
        text,
        "\nAgainst {reference}: messages per second of their CPU time\n{:width$}{heads}",
        ""
    );
    for row in &experiment.rows {
        let cells: String = names
            .iter()
            .map(|name| {
                format!(
                    "{:>MESSAGES_COLUMN$}",
                    ratio(relative(row).get(name).copied())
                )
            })
            .collect();
        let _ = writeln!(text, "{:width$}{cells}", row.configuration);
    }
}

/// How soon ordinary tasks answer: a block for each kind, mean, 99 % and longest.
fn responsiveness(text: &mut String, experiment: &Experiment, width: usize) {
    let kinds: BTreeSet<&String> = experiment
        .rows
        .iter()
        .flat_map(|row| row.figures.responsiveness.keys())
        .collect();
    for kind in kinds {
        let _ = writeln!(
            text,
            "\nHow soon others answer: {kind}\n{:width$}{:>COLUMN$}{:>COLUMN$}{:>COLUMN$}{:>COLUMN$}",
            "", "samples", "mean", "99 %", "max"
        );
        for row in &experiment.rows {
            let Some(of) = row.figures.responsiveness.get(kind) else {
                continue;
            };
            let cells = [of.us_mean, of.us_p99, of.us_max].map(|value| us(Some(value)));
            let cells: String = cells
                .iter()
                .map(|cell| format!("{cell:>COLUMN$}"))
                .collect();
            let samples = of.samples;
            let _ = writeln!(
                text,
                "{:width$}{samples:>COLUMN$}{cells}",
                row.configuration
            );
        }
    }
}

fn latencies(text: &mut String, experiment: &Experiment, width: usize) {
    for line in 0..2 {
        let heads = LATENCY.map(|(heads, _)| format!("{:>COLUMN$}", heads[line]));
        let _ = writeln!(
            text,
            "{}",
            format!("{:width$}{}", "", heads.concat()).trim_end()
        );
    }
    for row in &experiment.rows {
        let cells = LATENCY.map(|(_, cell)| format!("{:>COLUMN$}", cell(&row.figures)));
        let _ = writeln!(text, "{:width$}{}", row.configuration, cells.concat());
    }
}

/// What a row's loads are compared with: the first row of those that have its CPUs and timers.
fn reference(experiment: &Experiment) -> Option<String> {
    let first = experiment.rows.first()?;
    let alike = |row: &Row| (row.cpus, row.timers) == (first.cpus, first.timers);
    if experiment.rows.iter().all(alike) {
        return Some(first.configuration.clone());
    }
    Some("the first row with as many CPUs and timers".to_owned())
}

/// What the loads did against the reference's, all together and each.
fn loads(text: &mut String, experiment: &Experiment, width: usize) {
    let names: Vec<&String> = experiment
        .rows
        .first()
        .map(|row| row.figures.work_relative.keys().collect())
        .unwrap_or_default();
    let Some(reference) = reference(experiment) else {
        return;
    };
    for names in names.chunks(LOADS_PER_BLOCK) {
        let heads: String = names
            .iter()
            .map(|name| format!("{name:>COLUMN$}"))
            .collect();
        let _ = writeln!(
            text,
            "\nAgainst {reference}: CPU time of all loads, work of each\n{:width$}{:>COLUMN$}{heads}",
            "", "CPU time"
        );
        for row in &experiment.rows {
            let cpu_time = ratio(row.figures.load_cpu_time_relative);
            let cells = cells(row, names, |figures| &figures.work_relative);
            let _ = writeln!(
                text,
                "{:width$}{cpu_time:>COLUMN$}{cells}",
                row.configuration
            );
        }
        let _ = writeln!(
            text,
            "\nAgainst {reference}: work per second of its own CPU time\n{:width$}{:COLUMN$}{heads}",
            "", ""
        );
        for row in &experiment.rows {
            let cells = cells(row, names, |figures| &figures.work_per_cpu_second_relative);
            let _ = writeln!(text, "{:width$}{:COLUMN$}{cells}", row.configuration, "");
        }
    }
}

fn cells(
    row: &Row,
    names: &[&String],
    of: fn(&Figures) -> &std::collections::BTreeMap<String, f64>,
) -> String {
    let cell = |name: &&String| format!("{:>COLUMN$}", ratio(of(&row.figures).get(*name).copied()));
    names.iter().map(cell).collect()
}

/// How long the same work took, a line for each way of running it.
fn throughput(text: &mut String, experiment: &Experiment, width: usize) {
    let settings: BTreeSet<&String> = experiment
        .rows
        .iter()
        .flat_map(|row| row.figures.throughput_s.keys())
        .collect();
    if settings.is_empty() {
        return;
    }
    let heads: String = experiment
        .rows
        .iter()
        .map(|row| format!("{:>COLUMN$}", row.configuration))
        .collect();
    let width = width.max(24);
    let _ = writeln!(
        text,
        "\nThe same work, virtual seconds\n{:width$}{heads}",
        ""
    );
    for setting in settings {
        let cells: String = experiment
            .rows
            .iter()
            .map(|row| row.figures.throughput_s.get(setting))
            .map(|seconds| {
                let cell =
                    seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.3}"));
                format!("{cell:>COLUMN$}")
            })
            .collect();
        let name = setting.trim_start_matches('_').replace('_', " ");
        let _ = writeln!(text, "{name:width$}{cells}");
    }
}

fn us(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |us| format!("{us:.1}"))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"))
}

fn count(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), |count| count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::experiment::{experiment, row};

    #[test]
    fn the_table_says_what_its_figures_are_and_fits_100_columns() {
        let mut rows = vec![
            row("lazy", &[336.5, 1012.0]),
            row("rt-artis-4cpus", &[92.9, 93.1]),
        ];
        rows[1].figures.kernel_latency_us_max = Some(41.2);
        rows[1].figures.rt_cpu_share_others = Some(0.991);
        rows[1].figures.leaks = Some(0);
        rows[1]
            .figures
            .throughput_s
            .insert("_fifo_cpus1_x2".to_owned(), 1.25);
        let text = table("a title", &experiment(rows));
        assert!(text.contains("us at 100 MIPS, emulated (bochs)"), "{text}");
        assert!(text.contains("99.1 %"), "{text}");
        assert!(text.contains("fifo cpus1 x2"), "{text}");
        assert!(text.contains("Against lazy: work per second"), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }

    #[test]
    fn rows_of_unlike_machines_are_not_said_to_be_compared_with_the_first() {
        let mut rows = vec![row("lazy-x1", &[1.0]), row("lazy-x2", &[2.0])];
        rows[1].timers = 2;
        let text = table("a title", &experiment(rows));
        assert!(
            text.contains("Against the first row with as many CPUs and timers: work per second"),
            "{text}"
        );
    }
}
