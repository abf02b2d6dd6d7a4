// SPDX-License-Identifier: GPL-2.0-only
//! A made-up experiment, row by row.

use artis_result::experiment::{Experiment, Figures, Row, Scheduler, SchemaName, Seed};
use std::collections::BTreeMap;

/// Figures of which the latency is `user_max`, in microseconds.
pub fn figures(samples: u64, user_max: f64) -> Figures {
    Figures {
        samples,
        kernel_latency_us_max: None,
        latency_us_min: 20.0,
        latency_us_mean: user_max / 4.0,
        latency_us_p99: None,
        latency_us_p99_9: user_max / 2.0,
        latency_us_max: user_max,
        worst_places: None,
        execution_time_us_min: None,
        execution_time_us_max: None,
        execution_time_variation: None,
        rt_cpu_share_others: None,
        load_cpu_time_relative: Some(1.0),
        work_relative: BTreeMap::from([("hackbench".to_owned(), 1.0)]),
        work_per_cpu_second_relative: BTreeMap::new(),
        leaks: None,
        throughput_s: BTreeMap::new(),
        caches: BTreeMap::new(),
        responsiveness: BTreeMap::new(),
        messages_per_cpu_second_relative: BTreeMap::new(),
        tasks: Vec::new(),
    }
}

/// A row whose seeds have these maxima.
pub fn row(name: &str, maxima: &[f64]) -> Row {
    let per_seed: Vec<Seed> = (1..)
        .zip(maxima)
        .map(|(seed, max)| Seed {
            seed,
            figures: figures(1000, *max),
        })
        .collect();
    let worst = maxima.iter().copied().fold(0.0, f64::max);
    Row {
        configuration: name.to_owned(),
        kernel: "7.3.4".to_owned(),
        preemption: "lazy".to_owned(),
        scheduler: Scheduler::Stock,
        cpus: 2,
        timers: 1,
        event: "timer".to_owned(),
        seconds: 8,
        loads: vec!["hackbench".to_owned()],
        seeds: per_seed.iter().map(|seed| seed.seed).collect(),
        interval_us: None,
        place_us: None,
        groups: None,
        figures: figures(1000 * maxima.len() as u64, worst),
        latency_histogram: None,
        per_seed,
        guests: Vec::new(),
    }
}

pub fn experiment(rows: Vec<Row>) -> Experiment {
    Experiment {
        schema: SchemaName,
        name: "some".to_owned(),
        tool: "0.1.0".to_owned(),
        kernel: "7.3.4".to_owned(),
        engine: "bochs".to_owned(),
        engine_version: "3.0".to_owned(),
        unit: "us at 100 MIPS".to_owned(),
        made: None,
        rows,
    }
}

/// An experiment of rows whose seeds have these maxima.
pub fn of_rows(rows: &[(&str, &[f64])]) -> Experiment {
    experiment(
        rows.iter()
            .map(|(name, maxima)| row(name, maxima))
            .collect(),
    )
}
