// SPDX-License-Identifier: GPL-2.0-only
//! `docs/simulation.schema.json`.

use super::Published;
use artis::sim::result::{CpuOutcome, Outcome, SCHEMA, TaskOutcome};
use serde_json::{Value, json};

pub fn published() -> Published {
    Published::new(include_str!("../../../docs/simulation.schema.json"))
}

/// A document in which nothing is absent. Every field is here by name, so that a new one does not
/// compile until it is here, and does not pass until the schema has it.
fn whole() -> Value {
    let task = TaskOutcome {
        name: "hog/1".to_owned(),
        class: "Linux".into(),
        policy: "OTHER".to_owned(),
        wall_ns: 9,
        has_ended: true,
        cpu_ns: 8,
        cpu_rt_ns: 1,
        cpu_by_cpu_ns: vec![(0, 7), (1, 1)],
        waited_ns: 1,
        waited_ns_max: 1,
        wakeups: 1,
        wakeup_latency_ns_mean: 1,
        wakeup_latency_ns_max: 1,
        switches: 1,
        migrations: 1,
        displaced: 1,
        deadlines: 2,
        deadlines_met: 1,
        response_ns_max: 3,
        job_ns: Some((1, 2)),
        work_ns: 7,
    };
    let cpu = CpuOutcome {
        cpu: 1,
        is_rt: true,
        idle_ns: 1,
        switches: 1,
        overhead_ns: 1,
    };
    let outcome = Outcome {
        schema: SCHEMA.into(),
        scenario: "mixed".to_owned(),
        scheduler: "artis".into(),
        seed: 1,
        cpus: 2,
        rt_cpus: "1".to_owned(),
        costs: "lab".to_owned(),
        simulated_ns: 9,
        events: 9,
        is_complete: true,
        is_stuck: false,
        tasks: vec![task],
        cpu_time: vec![cpu],
        counters: vec![("leaks_syscall".to_owned(), 0)],
    };
    let mut line = serde_json::to_value(outcome).unwrap();
    for (name, value) in [
        ("number", json!(0)),
        ("of", json!(4)),
        ("whole", json!("9f")),
    ] {
        line[name] = value;
    }
    line
}

#[test]
fn the_schema_promises_what_is_written_and_nothing_else() {
    let (schema, whole) = (published(), whole());
    schema.assert_valid(&whole);
    schema.assert_promises_only(&whole);
    schema.assert_knows(&whole, &[]);
    let mut other = whole;
    other["tasks"][0]["job_ns"] = json!(null);
    for class in ["RT0", "RT1+", "Linux", "unbound"] {
        other["tasks"][0]["class"] = json!(class);
        schema.assert_valid(&other);
    }
}

#[test]
fn damaged_documents_do_not_fit() {
    let damages = [
        ("/schema", json!("artis.simulation/2")),
        ("/scheduler", json!("cfs")),
        ("/cpus", json!(0)),
        ("/rt_cpus", json!(1)),
        ("/is_stuck", json!(0)),
        ("/tasks", json!({})),
        ("/tasks/0/class", json!("rt0")),
        ("/tasks/0/cpu_ns", json!(-1)),
        ("/tasks/0/cpu_by_cpu_ns/0", json!([1])),
        ("/tasks/0/job_ns", json!([1, 2, 3])),
        ("/cpu_time/0/idle_ns", json!(0.5)),
        ("/counters/0", json!([1, "leaks"])),
        ("/number", json!("0")),
    ];
    published().assert_takes_none(&whole(), &damages);
}
