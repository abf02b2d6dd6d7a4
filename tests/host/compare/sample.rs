// SPDX-License-Identifier: GPL-2.0-only
//! An experiment like the paper's Table 1, with figures that are made up and always the same.

use artis::result::Distribution;
use artis::result::experiment::{Experiment, Figures, Row, Scheduler, SchemaName, Seed};
use std::collections::BTreeMap;

const SEEDS: u64 = 5;
pub const SAMPLES_PER_SEED: u64 = 8000;

/// What a row's figures are made of.
pub struct Sketch {
    pub name: &'static str,
    scheduler: Scheduler,
    preemption: &'static str,
    base_ns: u64,
    spread_ns: u64,
    /// The larger, the earlier the worst case.
    tail: u64,
    rt_cpu_share_others: f64,
    /// hackbench, compute.
    work: [f64; 2],
    leaks: Option<u64>,
}

pub const TABLE1: [Sketch; 6] = [
    Sketch {
        name: "stock-lazy",
        scheduler: Scheduler::Stock,
        preemption: "lazy",
        base_ns: 28_000,
        spread_ns: 14_000,
        tail: 900,
        rt_cpu_share_others: 1.0,
        work: [1.0, 1.0],
        leaks: None,
    },
    Sketch {
        name: "stock-full",
        scheduler: Scheduler::Stock,
        preemption: "full",
        base_ns: 29_000,
        spread_ns: 13_000,
        tail: 1300,
        rt_cpu_share_others: 1.0,
        work: [0.93, 0.98],
        leaks: None,
    },
    Sketch {
        name: "rt",
        scheduler: Scheduler::Stock,
        preemption: "rt",
        base_ns: 33_000,
        spread_ns: 10_000,
        tail: 3600,
        rt_cpu_share_others: 0.999,
        work: [0.55, 1.27],
        leaks: None,
    },
    Sketch {
        name: "isolcpus",
        scheduler: Scheduler::Isolcpus,
        preemption: "lazy",
        base_ns: 27_000,
        spread_ns: 8000,
        tail: 5000,
        rt_cpu_share_others: 0.012,
        work: [0.53, 0.54],
        leaks: None,
    },
    Sketch {
        name: "artis",
        scheduler: Scheduler::Artis,
        preemption: "lazy",
        base_ns: 27_500,
        spread_ns: 8500,
        tail: 5600,
        rt_cpu_share_others: 0.973,
        work: [0.52, 10.4],
        leaks: Some(0),
    },
    Sketch {
        name: "rt-artis",
        scheduler: Scheduler::Artis,
        preemption: "rt",
        base_ns: 31_000,
        spread_ns: 8200,
        tail: 5200,
        rt_cpu_share_others: 0.968,
        work: [0.47, 9.9],
        leaks: Some(3),
    },
];

/// A latency for each of `state`'s steps: many near the base, few far off. Whole numbers only,
/// so that every machine gets the same.
fn latency_ns(sketch: &Sketch, state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    let (even, heavy) = (*state >> 48, (*state >> 24) & 0xffff);
    sketch.base_ns
        + sketch.spread_ns * even / 65_536
        + sketch.spread_ns * 65_536 / (heavy + sketch.tail)
}

fn us(ns: f64) -> f64 {
    (ns / 10.0).round() / 100.0
}

fn figures(sketch: &Sketch, values: &Distribution, factor: f64) -> Figures {
    let moments = values.moments().unwrap();
    let max = us(moments.max as f64);
    let rounded = |value: f64| (value * 1e4).round() / 1e4;
    let of_loads = |values: [f64; 2]| {
        let names = ["hackbench", "compute"].map(str::to_owned);
        names
            .into_iter()
            .zip(values.map(rounded))
            .collect::<BTreeMap<_, _>>()
    };
    Figures {
        samples: moments.count,
        kernel_latency_us_max: Some(us(moments.max as f64 * 0.4)),
        latency_us_min: us(moments.min as f64),
        latency_us_mean: us(moments.mean),
        latency_us_p99: None,
        latency_us_p99_9: us(values.percentile(99.9).unwrap() as f64),
        latency_us_max: max,
        worst_places: None,
        execution_time_us_min: Some(500.0),
        execution_time_us_max: Some(500.0 + max),
        execution_time_variation: Some(rounded(max / 500.0)),
        rt_cpu_share_others: Some(rounded(sketch.rt_cpu_share_others)),
        load_cpu_time_relative: Some(rounded((1.0 + sketch.rt_cpu_share_others) / 2.0 * factor)),
        work_relative: of_loads(sketch.work.map(|work| work * factor)),
        work_per_cpu_second_relative: of_loads([0.97, 1.01].map(|work| work * factor)),
        leaks: sketch.leaks,
        throughput_s: BTreeMap::new(),
        caches: BTreeMap::new(),
        responsiveness: BTreeMap::new(),
        messages_per_cpu_second_relative: BTreeMap::new(),
        tasks: Vec::new(),
    }
}

fn row(sketch: &Sketch) -> Row {
    let mut all = Distribution::new();
    let per_seed = (1..=SEEDS).map(|seed| {
        let mut values = Distribution::new();
        let mut state = seed * 7919 + sketch.base_ns;
        for _ in 0..SAMPLES_PER_SEED {
            values.record(latency_ns(sketch, &mut state) as i64);
        }
        all.merge(&values);
        let factor = 0.99 + 0.005 * (seed % 4) as f64;
        Seed {
            seed,
            figures: figures(sketch, &values, factor),
        }
    });
    let per_seed: Vec<Seed> = per_seed.collect();
    Row {
        configuration: sketch.name.to_owned(),
        kernel: "7.3.4+deb13-amd64 (7.3.4-1~bpo13+1)".to_owned(),
        preemption: sketch.preemption.to_owned(),
        scheduler: sketch.scheduler.clone(),
        cpus: 2,
        timers: 1,
        event: "timer".to_owned(),
        seconds: 8,
        loads: vec!["hackbench".to_owned(), "compute".to_owned()],
        seeds: (1..=SEEDS).collect(),
        interval_us: None,
        place_us: None,
        groups: None,
        figures: figures(sketch, &all, 1.0),
        latency_histogram: Some(all.histogram().clone()),
        per_seed,
        guests: Vec::new(),
    }
}

pub fn experiment() -> Experiment {
    Experiment {
        schema: SchemaName,
        name: "table1".to_owned(),
        tool: "0.1.0".to_owned(),
        kernel: "7.3.4+deb13-amd64 (7.3.4-1~bpo13+1)".to_owned(),
        engine: "bochs".to_owned(),
        engine_version: "3.0".to_owned(),
        unit: "us at 100 MIPS".to_owned(),
        made: None,
        rows: TABLE1.iter().map(row).collect(),
    }
}
