// SPDX-License-Identifier: GPL-2.0-only
//! The rows of an experiment as configurations.

use super::{Configuration, Error, Extent, Figure, Figures, Setup};
use crate::compare::metric::{Metric, Quantity, Stat};
use artis_result::PERCENTILES;
use artis_result::experiment::{self, Experiment, OfTask, Row};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of an experiment.
///
/// # Errors
/// [`Error`].
pub fn of_experiment(experiment: &Experiment) -> Result<Vec<Configuration>, Error> {
    if experiment.engine.starts_with("qemu") {
        return Err(Error::Emulated(experiment.name.clone()));
    }
    let names = names(&experiment.rows)?;
    let rows = experiment.rows.iter().zip(names);
    rows.map(|(row, name)| {
        let latencies = row.latencies().map_err(|error| Error::Inconsistent {
            name: name.clone(),
            reason: error.to_string(),
        })?;
        let mut loads = row.loads.clone();
        loads.sort();
        Ok(Configuration {
            name,
            unit: experiment.time_unit(),
            kernel: row.kernel.clone(),
            loads,
            load_units: BTreeMap::new(),
            units: BTreeMap::new(),
            whole: of_row(&row.figures),
            runs: row
                .per_seed
                .iter()
                .map(|seed| of_row(&seed.figures))
                .collect(),
            missed: None,
            extent: Some(extent(row)),
            setup: Setup::of_row(&row.kernel, &row.loads),
            latencies,
            notes: Vec::new(),
        })
    })
    .collect()
}

/// Each seed is one run of so many seconds.
fn extent(row: &Row) -> Extent {
    let seconds = row.seconds as f64 * row.seeds.len() as f64;
    Extent::new(seconds, format!("{} timers", row.timers))
}

/// A name for each row: its configuration, and where several rows have that, how they
/// differ: `isolcpus@4cpus`.
fn names(rows: &[Row]) -> Result<Vec<String>, Error> {
    type Aspect = fn(&Row) -> String;
    let aspects: [Aspect; 6] = [
        |row| format!("{}cpus", row.cpus),
        |row| format!("{}timers", row.timers),
        |row| row.loads.join("+"),
        |row| row.preemption.clone(),
        |row| row.kernel.clone(),
        |row| format!("{}s", row.seconds),
    ];
    let name = |row: &Row| {
        let namesakes = |other: &&Row| other.configuration == row.configuration;
        let differing = aspects.iter().filter(|aspect| {
            rows.iter()
                .filter(namesakes)
                .any(|other| aspect(other) != aspect(row))
        });
        let words = differing.map(|aspect| format!("@{}", aspect(row)));
        row.configuration.clone() + &words.collect::<String>()
    };
    let mut seen = BTreeSet::new();
    let all: Vec<String> = rows.iter().map(name).collect();
    match all.iter().find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(Error::Rows(twice.clone())),
        None => Ok(all),
    }
}

fn of_row(row: &experiment::Figures) -> Figures {
    use Quantity::{Execution, Kernel, Latency};
    let percentile = |which| PERCENTILES.iter().position(|(key, _)| *key == which);
    let (near, far) = (percentile("99"), percentile("99.9"));
    let times = [
        (Latency, Some(Stat::Min), Some(row.latency_us_min)),
        (Latency, Some(Stat::Mean), Some(row.latency_us_mean)),
        (Latency, near.map(Stat::Percentile), row.latency_us_p99),
        (
            Latency,
            far.map(Stat::Percentile),
            Some(row.latency_us_p99_9),
        ),
        (Latency, Some(Stat::Max), Some(row.latency_us_max)),
        (Kernel, Some(Stat::Max), row.kernel_latency_us_max),
        (Execution, Some(Stat::Min), row.execution_time_us_min),
        (Execution, Some(Stat::Max), row.execution_time_us_max),
        (
            Execution,
            Some(Stat::Variation),
            row.execution_time_variation,
        ),
    ];
    let mut all = Figures::new();
    for (quantity, stat, value) in times {
        if let (Some(stat), Some(value)) = (stat, value) {
            let figure = Figure::exact(value, Some(row.samples));
            all.insert(Metric::Of(quantity, stat), figure);
        }
    }
    for (kind, of) in &row.responsiveness {
        for (stat, value) in [
            (Some(Stat::Mean), of.us_mean),
            (percentile("99").map(Stat::Percentile), of.us_p99),
            (Some(Stat::Max), of.us_max),
        ] {
            if let Some(stat) = stat {
                let metric = Metric::Of(Quantity::Other(kind.clone()), stat);
                all.insert(metric, Figure::exact(value, Some(of.samples)));
            }
        }
    }
    let mut plain = |metric, value: Option<f64>| {
        if let Some(value) = value {
            all.insert(metric, Figure::exact(value, None));
        }
    };
    plain(Metric::RtCpuShareOthers, row.rt_cpu_share_others);
    plain(Metric::LoadCpuTime, row.load_cpu_time_relative);
    plain(Metric::Leaks, row.leaks.map(|leaks| leaks as f64));
    if !row.tasks.is_empty() {
        let missed: u64 = row.tasks.iter().map(|task| task.missed).sum();
        plain(Metric::Missed, Some(missed as f64));
    }
    // One without a bound leaves nothing to say of all.
    let of_bound: Option<Vec<f64>> = row.tasks.iter().map(OfTask::of_bound).collect();
    let of_bound = of_bound.unwrap_or_default();
    let extreme = |which: fn(f64, f64) -> f64| of_bound.iter().copied().reduce(which);
    plain(Metric::OfBoundMax, extreme(f64::max));
    plain(Metric::OfBoundMin, extreme(f64::min));
    for (load, work) in &row.work_relative {
        plain(Metric::Throughput(load.clone()), Some(*work));
    }
    let messages = &row.messages_per_cpu_second_relative;
    for (load, work) in row.work_per_cpu_second_relative.iter().chain(messages) {
        plain(Metric::WorkPerCpuSecond(load.clone()), Some(*work));
    }
    for (setting, seconds) in &row.throughput_s {
        // Settings are suffixes of names.
        let name = setting.trim_start_matches('_').to_owned();
        plain(Metric::ThroughputSeconds(name), Some(*seconds));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_result::experiment::Summary;
    use artis_testing::experiment::{experiment, row};

    #[test]
    fn meaningless_times_are_refused() {
        let mut qemu = experiment(vec![row("stock", &[1.0])]);
        qemu.engine = "qemu".to_owned();
        assert!(of_experiment(&qemu).is_err());
    }

    #[test]
    fn rows_of_one_configuration_get_names_that_differ() {
        let mut rows = vec![row("a", &[1.0]), row("b", &[1.0]), row("b", &[1.0])];
        let complaint = of_experiment(&experiment(rows.clone())).unwrap_err();
        assert_eq!(complaint, Error::Rows("b".to_owned()));
        rows[2].cpus = 4;
        let all = of_experiment(&experiment(rows)).unwrap();
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b@2cpus", "b@4cpus"]);
    }

    #[test]
    fn an_experiments_row_has_all_its_figures() {
        let mut row = row("artis", &[100.0]);
        row.figures.leaks = Some(0);
        row.figures.throughput_s = [("_fifo_cpus1_x2".to_owned(), 2.5)].into();
        row.figures.execution_time_variation = Some(0.25);
        let summary = Summary {
            samples: 10,
            us_mean: 2.0,
            us_p99: 3.0,
            us_max: 4.0,
        };
        row.figures.responsiveness = [("rt1-20".to_owned(), summary)].into();
        row.figures.messages_per_cpu_second_relative = [("messages".to_owned(), 0.9)].into();
        let all = of_experiment(&experiment(vec![row])).unwrap();
        for (metric, expected) in [
            ("latency.max", 100.0),
            ("latency.p99_9", 50.0),
            ("leaks", 0.0),
            ("execution.variation", 0.25),
            ("throughput.hackbench", 1.0),
            ("throughput_s.fifo_cpus1_x2", 2.5),
            ("rt1-20.mean", 2.0),
            ("rt1-20.p99", 3.0),
            ("rt1-20.max", 4.0),
            ("work_per_cpu_second.messages", 0.9),
        ] {
            assert_eq!(
                all[0].whole[&metric.parse().unwrap()].value,
                expected,
                "{metric}"
            );
        }
    }
}
