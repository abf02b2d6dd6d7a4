// SPDX-License-Identifier: GPL-2.0-only
//! The table of an experiment: latency, what others got of the RT CPU, and how the loads fared.

use crate::words::counted;
use crate::{experiment_caches, experiment_set};
use artis_result::experiment::{Experiment, Figures, Row, Scheduler, Summary};
use artis_result::names::Ordinary;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

const NAME_WIDTH_MIN: usize = 14;
const COLUMN: usize = 10;
/// Columns in a block, so that 100 columns of text hold them.
const LOADS_PER_BLOCK: usize = 8;

/// A column: its two lines of heading, and the cell of a row.
type Column = ([&'static str; 2], fn(&Figures) -> String);

const KERNEL_LATENCY: Column = (["kernel", "max"], |of| us(of.kernel_latency_us_max));
/// Where no row has the kernel's part: 100 columns of text have room for one of the two.
const LATENCY_P99: Column = (["latency", "99 %"], |of| us(of.latency_us_p99));
const LATENCY_MEAN: Column = (["latency", "mean"], |of| us(Some(of.latency_us_mean)));
const LATENCY: [Column; 6] = [
    (["latency", "99.9 %"], |of| us(Some(of.latency_us_p99_9))),
    (["latency", "max"], |of| us(Some(of.latency_us_max))),
    (["max at", "places"], |of| whole_percent(of.worst_places)),
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
    heading(&mut text, experiment);
    let width = experiment.rows.iter().map(|row| row.configuration.len());
    let width = width.max().unwrap_or(0).max(NAME_WIDTH_MIN) + 1;
    latencies(&mut text, experiment, width);
    experiment_set::text(&mut text, &experiment.rows, width);
    loads(&mut text, experiment, width);
    throughput(&mut text, experiment, width);
    responsiveness(&mut text, experiment, width);
    messages(&mut text, experiment, width);
    experiment_caches::blocks(&mut text, experiment, width);
    text
}

/// What has to be run of an experiment of so many guests: which, and about how long.
pub fn to_run(name: &str, all: usize, missing: &[String], time: Duration) -> String {
    let count = missing.len();
    if count == 0 {
        return format!("{name}: all {all} guests are in the cache\n");
    }
    let minutes = (time.as_secs_f64() / 60.0).ceil();
    let mut text = format!("{name}: {count} of {all} guests to run, about {minutes} minutes\n");
    for guest in missing {
        let _ = writeln!(text, "  {guest}");
    }
    text
}

/// What was measured on what, beside what, and the unit.
fn heading(text: &mut String, experiment: &Experiment) {
    let rows = &experiment.rows;
    let kernels: BTreeSet<&str> = rows.iter().map(|row| row.kernel.as_str()).collect();
    for kernel in kernels {
        let _ = writeln!(text, "Linux {kernel}");
    }
    let published = rows.iter().filter_map(|row| match &row.scheduler {
        Scheduler::Published(which) => Some(which.to_string()),
        Scheduler::Stock | Scheduler::Isolcpus | Scheduler::Artis => None,
    });
    let published: BTreeSet<String> = published.collect();
    if !published.is_empty() {
        let published: Vec<String> = published.into_iter().collect();
        let _ = writeln!(text, "{}", published.join(", "));
    }
    if let Some(row) = rows.first() {
        let (seconds, seeds) = (row.seconds, row.seeds.len());
        let seeds = format!("{seeds} seed{}", if seeds == 1 { "" } else { "s" });
        let _ = writeln!(
            text,
            "{}; {seconds} virtual s for each of {seeds}",
            experiment.engine_version
        );
    }
    if let Some([rt0, groups]) = setup(rows) {
        let _ = writeln!(text, "{rt0}; {groups}");
    }
    let mut before = None;
    for row in rows {
        if before == Some(&row.loads) {
            continue;
        }
        let all_alike = rows.iter().all(|other| other.loads == row.loads);
        let which = match all_alike {
            true => String::new(),
            false => format!(" from {} on", row.configuration),
        };
        let _ = writeln!(text, "loads{which}: {}", counted(&row.loads, ", "));
        before = Some(&row.loads);
    }
    let _ = writeln!(
        text,
        "Latency in {}:\n1 us is 100 instructions, and no microsecond of a real machine.\n",
        experiment.time_unit()
    );
}

/// How RT0 stood to the tick, and the control groups; none where rows differ.
pub(super) fn setup(rows: &[Row]) -> Option<[String; 2]> {
    let of = |row: &Row| (row.interval_us, row.place_us, row.groups.clone());
    let (interval_us, place_us, groups) = of(rows.first()?);
    if rows.iter().any(|row| of(row) != of(&rows[0])) {
        return None;
    }
    let events: BTreeSet<&str> = rows.iter().map(|row| row.event.as_str()).collect();
    let rt0 = match (interval_us, place_us) {
        _ if rows.iter().all(experiment_set::is_set) => "RT0 is the tasks of a set".to_owned(),
        (Some(us), _) if events.iter().any(|event| *event != "timer") => {
            let events: Vec<&str> = events.into_iter().collect();
            format!("RT0 woken by {}, some {us} us apart", events.join(", "))
        }
        (None, _) => "RT0 stayed at the same places of the tick".to_owned(),
        (Some(us), None) if us.is_multiple_of(2) || us.is_multiple_of(5) => {
            format!("RT0 every {us} us, at some places of the tick")
        }
        (Some(us), None) => format!("RT0 every {us} us, at every place of the tick"),
        (Some(us), Some(place)) => format!("RT0 every {us} us, first {place} us after a tick"),
    };
    let groups = match groups.as_deref() {
        Some("systemd") => "control groups as systemd makes them",
        _ => "no control groups but the loads' own",
    };
    Some([rt0, groups.to_owned()])
}

/// Whether a row is the first of those that are compared with each other, and not of all: an empty
/// line stands before it.
pub(super) fn begins_group(rows: &[Row], at: usize) -> bool {
    let of = |row: &Row| (row.cpus, row.timers, row.event.clone(), row.loads.clone());
    at > 0 && of(&rows[at - 1]) != of(&rows[at])
}

/// A block of a table: its title, the heads of its columns, a line for each row.
pub(super) fn block(
    text: &mut String,
    rows: &[Row],
    width: usize,
    title: &str,
    heads: &[String],
    cells: impl Fn(&Row) -> Vec<String>,
) {
    let in_columns = |words: &[String]| -> String {
        let cells = words.iter().map(|word| format!("{word:>COLUMN$}"));
        cells.collect()
    };
    let _ = writeln!(text, "\n{title}");
    // A name of several words stands in two lines.
    let split = |head: &String| match head.split_once('-') {
        Some((first, rest)) if head.len() >= COLUMN => (first.to_owned(), rest.replace('-', " ")),
        _ => (String::new(), head.clone()),
    };
    let (above, below): (Vec<String>, Vec<String>) = heads.iter().map(split).unzip();
    for heads in [above, below] {
        if heads.iter().any(|head| !head.is_empty()) {
            let line = format!("{:width$}{}", "", in_columns(&heads));
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    for (at, row) in rows.iter().enumerate() {
        if begins_group(rows, at) {
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "{:width$}{}",
            row.configuration,
            in_columns(&cells(row))
        );
    }
}

/// How many messages a second of CPU time passes on.
fn messages(text: &mut String, experiment: &Experiment, width: usize) {
    let relative = |row: &Row| row.figures.messages_per_cpu_second_relative.clone();
    let rows = &experiment.rows;
    let names: BTreeSet<String> = rows
        .iter()
        .flat_map(|row| relative(row).into_keys())
        .collect();
    let names: Vec<String> = names.into_iter().collect();
    let Some(reference) = reference(experiment).filter(|_| !names.is_empty()) else {
        return;
    };
    let title = format!("Against {reference}: messages per second of their CPU time");
    block(text, rows, width, &title, &names, |row| {
        let relative = relative(row);
        let cells = names.iter().map(|name| ratio(relative.get(name).copied()));
        cells.collect()
    });
}

/// How soon ordinary tasks answer: a block for each figure, a column for each kind.
fn responsiveness(text: &mut String, experiment: &Experiment, width: usize) {
    let rows = &experiment.rows;
    let measured: BTreeSet<&String> = rows
        .iter()
        .flat_map(|row| row.figures.responsiveness.keys())
        .collect();
    if measured.is_empty() {
        return;
    }
    let mut kinds: Vec<String> = measured.into_iter().cloned().collect();
    kinds.sort_by_key(|kind| (Ordinary::of_name(kind).is_none(), Ordinary::of_name(kind)));
    type Figure = (&'static str, fn(&Summary) -> String);
    let figures: [Figure; 4] = [
        ("mean", |of| us(Some(of.us_mean))),
        ("99 %", |of| us(Some(of.us_p99))),
        ("longest", |of| us(Some(of.us_max))),
        ("how many", |of| of.samples.to_string()),
    ];
    for (figure, cell) in figures {
        let title = format!("How soon others answer: {figure}");
        block(text, rows, width, &title, &kinds, |row| {
            let of = |kind| row.figures.responsiveness.get(kind);
            let cells = kinds
                .iter()
                .map(|kind| of(kind).map_or_else(|| "-".to_owned(), cell));
            cells.collect()
        });
    }
}

fn latencies(text: &mut String, experiment: &Experiment, width: usize) {
    let mut rows = experiment.rows.iter();
    let first = match rows.any(|row| row.figures.kernel_latency_us_max.is_some()) {
        true => [KERNEL_LATENCY, LATENCY_MEAN],
        false => [LATENCY_MEAN, LATENCY_P99],
    };
    let columns = [&first[..], &LATENCY].concat();
    for line in 0..2 {
        let heads: Vec<String> = (columns.iter())
            .map(|(heads, _)| format!("{:>COLUMN$}", heads[line]))
            .collect();
        let _ = writeln!(
            text,
            "{}",
            format!("{:width$}{}", "", heads.concat()).trim_end()
        );
    }
    for (at, row) in experiment.rows.iter().enumerate() {
        if begins_group(&experiment.rows, at) {
            text.push('\n');
        }
        let cells: Vec<String> = (columns.iter())
            .map(|(_, cell)| format!("{:>COLUMN$}", cell(&row.figures)))
            .collect();
        let _ = writeln!(text, "{:width$}{}", row.configuration, cells.concat());
    }
}

/// What a row's loads are compared with: the first row with the same CPUs, timers and loads.
pub(super) fn reference(experiment: &Experiment) -> Option<String> {
    let rows = &experiment.rows;
    let first = rows.first()?;
    if (0..rows.len()).any(|at| begins_group(rows, at)) {
        return Some("the first row of its group".to_owned());
    }
    Some(first.configuration.clone())
}

/// What the loads did against the reference's, all together and each.
fn loads(text: &mut String, experiment: &Experiment, width: usize) {
    let rows = &experiment.rows;
    let names: BTreeSet<&String> = rows
        .iter()
        .flat_map(|row| row.figures.work_relative.keys())
        .collect();
    let names: Vec<String> = names.into_iter().cloned().collect();
    let Some(reference) = reference(experiment) else {
        return;
    };
    for names in names.chunks(LOADS_PER_BLOCK) {
        let heads = |first: &str| [&[first.to_owned()], names].concat();
        let of = |row: &Row, first: String, all: &BTreeMap<String, f64>| {
            let mut cells = vec![first];
            // A load that runs beside other rows only is not missing here.
            let ran = |name: &&String| row.loads.contains(name);
            cells.extend(names.iter().map(|name| match ran(&name) {
                true => ratio(all.get(name).copied()),
                false => String::new(),
            }));
            cells
        };
        let title = format!("Against {reference}: CPU time of all loads, work of each");
        block(text, rows, width, &title, &heads("CPU time"), |row| {
            let cpu_time = ratio(row.figures.load_cpu_time_relative);
            of(row, cpu_time, &row.figures.work_relative)
        });
        let title = format!("Against {reference}: work per second of its own CPU time");
        block(text, rows, width, &title, &heads(""), |row| {
            of(
                row,
                String::new(),
                &row.figures.work_per_cpu_second_relative,
            )
        });
    }
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

pub(super) fn us(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |us| format!("{us:.1}"))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn whole_percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

pub(super) fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"))
}

pub(super) fn count(value: Option<u64>) -> String {
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
            text.contains("Against the first row of its group: work per second"),
            "{text}"
        );
        assert!(text.contains("\n\nlazy-x2"), "{text}");
    }

    #[test]
    fn each_group_of_rows_names_its_loads_and_each_published_scheduler_its_version() {
        let names = ["stock-two", "bpfland-two", "stock-six", "bpfland-six"];
        let mut rows = names.map(|name| row(name, &[1.0])).to_vec();
        for row in &mut rows[2..] {
            row.loads = ["io", "locks", "io"].map(str::to_owned).to_vec();
            row.figures.work_relative = [("io".to_owned(), 0.5), ("locks".to_owned(), 0.25)].into();
        }
        let published = Scheduler::try_from("scx_bpfland@1.1.4".to_owned()).unwrap();
        rows[1].scheduler = published;
        let text = table("a title", &experiment(rows));
        for line in [
            "loads from stock-two on: hackbench\n",
            "loads from stock-six on: 2 x io, locks\n",
            "\nscx_bpfland@1.1.4\n",
            // A load that did not run beside a row leaves its cell empty.
            "stock-two           1.000     1.000                    \n",
            "bpfland-six         1.000               0.500     0.250\n",
        ] {
            assert!(text.contains(line), "{line:?} in\n{text}");
        }
    }

    #[test]
    fn ordinary_tasks_have_a_block_for_each_figure() {
        let mut rows = vec![row("stock", &[1.0]), row("bpfland-six-4cpus", &[2.0])];
        let of = |samples| Summary {
            samples,
            us_mean: 1.25,
            us_p99: 20.0,
            us_max: 160_136.0,
        };
        rows[0].figures.responsiveness = Ordinary::ALL
            .map(|kind| (kind.name().to_owned(), of(500)))
            .into();
        rows[1].figures.responsiveness = [("normal".to_owned(), of(225))].into();
        let messages = [
            ("messages".to_owned(), 1.0),
            ("messages-to-many".to_owned(), 0.5),
        ];
        rows[0].figures.messages_per_cpu_second_relative = messages.into();
        let text = table("a title", &experiment(rows));
        let heads = "    normal     bound     rt1-1    rt1-20  commands  messages   to many";
        for part in [
            "How soon others answer: mean\n",
            heads,
            "How soon others answer: how many\n",
            "bpfland-six-4cpus        225         -",
            "bpfland-six-4cpus   160136.0         -",
        ] {
            assert!(text.contains(part), "{part:?} in\n{text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }
}
