// SPDX-License-Identifier: GPL-2.0-only
//! `docs/experiment.schema.json`.

use super::Published;
use artis::result::Distribution;
use artis::result::experiment::{
    CacheCycles, CacheFigures, Experiment, Figures, Made, OfTask, Row, Scheduler, SchemaName, Seed,
    Summary,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn published() -> Published {
    Published::new(include_str!("../../../docs/experiment.schema.json"))
}

/// Figures of which none is absent.
fn figures() -> Figures {
    let of_load = |ratio| BTreeMap::from([("hackbench".to_owned(), ratio)]);
    Figures {
        samples: 1,
        kernel_latency_us_max: Some(40.0),
        latency_us_min: 38.0,
        latency_us_mean: 46.5,
        latency_us_p99: Some(90.0),
        latency_us_p99_9: 105.0,
        latency_us_max: 163.0,
        worst_places: Some(0.02),
        execution_time_us_min: Some(1000.0),
        execution_time_us_max: Some(1090.0),
        execution_time_variation: Some(0.09),
        rt_cpu_share_others: Some(0.97),
        load_cpu_time_relative: Some(0.98),
        work_relative: of_load(0.6),
        work_per_cpu_second_relative: of_load(0.99),
        leaks: Some(0),
        throughput_s: BTreeMap::from([("_fifo_cpus1_x2".to_owned(), 2.5)]),
        caches: of_cache(),
        responsiveness: BTreeMap::from([(
            "normal".to_owned(),
            Summary {
                samples: 500,
                us_mean: 190.0,
                us_p99: 1200.0,
                us_max: 1535.0,
            },
        )]),
        messages_per_cpu_second_relative: BTreeMap::from([("messages".to_owned(), 0.97)]),
        tasks: vec![OfTask {
            name: "control".to_owned(),
            period_us: 5000.0,
            deadline_us: 5000.0,
            execution_us: 1700.0,
            bound_us: Some(2100.0),
            response_us_max: 1950.5,
            jobs: 800,
            missed: 0,
        }],
    }
}

fn of_cache() -> BTreeMap<String, CacheFigures> {
    let figures = CacheFigures {
        costs: CacheCycles {
            l1_miss: 14,
            l2_miss: 50,
            other_cpu: 120,
            memory: 250,
        },
        l1_misses: 1000.0,
        l2_misses: 90.0,
        dirty: 80.0,
        cycles: 70_000.0,
        cycles_doubled: 90_000.0,
        work_per_cycle_relative: Some(0.9),
        work_per_cycle_doubled_relative: Some(0.8),
    };
    BTreeMap::from([("hackbench".to_owned(), figures)])
}

/// A document in which nothing is absent. Every field is here by name, so that a new one
/// does not compile until it is here, and does not pass until the schema has it.
fn whole() -> Experiment {
    let text = |text: &str| text.to_owned();
    let mut latencies = Distribution::new();
    latencies.record(163_000);
    Experiment {
        schema: SchemaName,
        name: text("table1"),
        tool: text("0.1.0"),
        kernel: text("7.3.4+deb13-amd64 (7.3.4-1~bpo13+1)"),
        engine: text("bochs"),
        engine_version: text("3.0"),
        unit: text("us at 100 MIPS"),
        made: Some(Made {
            commit: text("0123abcd"),
            packages: vec![text("libc6 2.41-12")],
        }),
        rows: vec![Row {
            configuration: text("artis"),
            kernel: text("7.3.4+deb13-amd64 (7.3.4-1~bpo13+1)"),
            preemption: text("lazy"),
            scheduler: Scheduler::Artis,
            cpus: 2,
            timers: 1,
            event: "futex".to_owned(),
            seconds: 8,
            loads: vec![text("hackbench")],
            seeds: vec![1],
            interval_us: Some(1003),
            place_us: Some(0),
            groups: Some(text("systemd")),
            figures: figures(),
            latency_histogram: Some(latencies.histogram().clone()),
            per_seed: vec![Seed {
                seed: 1,
                figures: figures(),
            }],
            guests: vec![text("8d969eef6ecad3c2")],
        }],
    }
}

fn written(experiment: &Experiment) -> Value {
    serde_json::to_value(experiment).unwrap()
}

#[test]
fn real_documents_fit() {
    published().assert_valid(&written(&whole()));
    let mut bare = whole();
    bare.made = None;
    let other = Scheduler::try_from("scx_bpfland@1.1.4".to_owned()).unwrap();
    for scheduler in [Scheduler::Stock, Scheduler::Isolcpus, other] {
        let row = &mut bare.rows[0];
        row.scheduler = scheduler;
        row.latency_histogram = None;
        row.interval_us = None;
        row.place_us = None;
        row.groups = None;
        row.figures.worst_places = None;
        row.figures.latency_us_p99 = None;
        row.figures.caches.clear();
        row.per_seed.clear();
        row.figures.kernel_latency_us_max = None;
        row.figures.execution_time_us_min = None;
        row.figures.execution_time_us_max = None;
        row.figures.execution_time_variation = None;
        row.figures.rt_cpu_share_others = None;
        row.figures.load_cpu_time_relative = None;
        row.figures.work_relative.clear();
        row.figures.throughput_s.clear();
        row.figures.responsiveness.clear();
        row.figures.messages_per_cpu_second_relative.clear();
        row.figures.leaks = None;
        published().assert_valid(&written(&bare));
    }
}

#[test]
fn the_schema_promises_what_is_written_and_nothing_else() {
    published().assert_promises_only(&written(&whole()));
    // Names of loads and of what was measured.
    let free = ["hackbench", "_fifo_cpus1_x2", "normal", "messages"];
    published().assert_knows(&written(&whole()), &free);
}

#[test]
fn damaged_documents_fit_neither() {
    let damages = [
        ("/schema", json!("artis.experiment/2")),
        ("/name", json!(null)),
        ("/unit", json!(1)),
        ("/rows", json!({})),
        ("/rows/0/configuration", json!(null)),
        ("/rows/0/scheduler", json!("cfs")),
        ("/rows/0/cpus", json!(-1)),
        ("/rows/0/timers", json!(null)),
        ("/rows/0/guests", json!([1])),
        ("/rows/0/throughput_s", json!(2.5)),
        ("/rows/0/loads", json!("hackbench")),
        ("/rows/0/seeds", json!([-1])),
        ("/rows/0/groups", json!(1)),
        ("/rows/0/interval_us", json!(-1)),
        ("/made/commit", json!(null)),
        ("/rows/0/samples", json!(1.5)),
        ("/rows/0/latency_us_max", json!(null)),
        ("/rows/0/work_relative", json!([1])),
        ("/rows/0/leaks", json!("none")),
        ("/rows/0/latency_histogram", json!("@@")),
        ("/rows/0/per_seed/0/seed", json!(null)),
        ("/rows/0/per_seed/0/latency_us_min", json!("38")),
    ];
    published().assert_neither_takes::<Experiment>(&written(&whole()), &damages);
}

#[test]
fn unknown_fields_fit_both() {
    let mut newer = written(&whole());
    newer["rows"][0]["colour"] = json!("red");
    published().assert_valid(&newer);
    serde_json::from_value::<Experiment>(newer).unwrap();
}
