// SPDX-License-Identifier: GPL-2.0-only
//! `docs/result.schema.json`.

use super::Published;
use artis::result::{
    Beyond, Block, Blocks, Distribution, Document, Kind, LoadDone, Machine, Piece, SchemaName,
    Series, Setup, Unit, Warning,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn published() -> Published {
    Published::new(include_str!("../../../docs/result.schema.json"))
}

fn values(values: &[i64]) -> Distribution {
    let mut all = Distribution::signed();
    for value in values {
        all.record(*value);
    }
    all
}

/// A document in which nothing is absent. Every field is here by name, so that a new one
/// does not compile until it is here, and does not pass until the schema has it.
fn whole() -> Document {
    let text = |text: &str| text.to_owned();
    Document {
        schema: SchemaName,
        tool: text("artis 0.1.0"),
        started: Some(text("2026-11-21T19:10:04.500Z")),
        seconds: Some(10.5),
        ended_early: Some(text("signal 2")),
        machine: Some(Machine {
            kernel: text("7.1.0"),
            preemption: text("lazy"),
            cmdline: text("quiet"),
            cpus: text("0-3"),
            cpu_model: Some(text("A 9000")),
            scheduler: Some(text("artis")),
            virtualisation: Some(text("KVM")),
        }),
        setup: Setup {
            command: vec![text("artis"), text("measure")],
            options: BTreeMap::from([(text("interval_us"), json!(1000))]),
        },
        load: vec![LoadDone {
            name: text("compute"),
            cpus: Some(text("0")),
            command: text("stress-ng --cpu 1"),
            work: 5.0,
            unit: text("bogo-ops"),
            seconds: 10.0,
            cpu_seconds: Some(9.5),
        }],
        audit: vec![Warning {
            id: text("rt_throttling"),
            seen: text("it is on"),
            why: text("it takes the CPU away"),
            fix: Some(text("sysctl kernel.sched_rt_runtime_us=-1")),
        }],
        series: vec![Series {
            name: text("latency"),
            kind: Kind::Latency,
            unit: Unit::Nanoseconds,
            cpu: Some(3),
            thread: Some(0),
            max_at_s: Some(7.25),
            missed: Some(1),
            blocks: Some(Blocks {
                seconds: 0.1,
                all: vec![Block {
                    count: 3,
                    max: 1_000_000,
                    max_at_s: 7.25,
                }],
            }),
            distribution: values(&[-5, 3, 1_000_000])
                .with_beyond(Beyond::of(Piece {
                    count: 1,
                    from: 4,
                    max: 1_000_000,
                }))
                .unwrap(),
        }],
    }
}

fn written(document: &Document) -> Value {
    serde_json::to_value(document).unwrap()
}

#[test]
fn real_documents_fit() {
    published().assert_valid(&written(&whole()));
    let mut bare = Document::new(Setup::default());
    published().assert_valid(&written(&bare));
    let empty = Series::new("count", Kind::Count, Unit::Count, Distribution::new());
    bare.series.push(empty);
    published().assert_valid(&written(&bare));
}

#[test]
fn every_kind_and_unit_fits() {
    use Kind::{Count, Duration, ExecutionTime, Latency, Noise};
    let mut document = Document::new(Setup::default());
    for kind in [Latency, ExecutionTime, Noise, Duration, Count] {
        for unit in [Unit::Nanoseconds, Unit::Count] {
            let series = Series::new("some", kind, unit, values(&[1]));
            document.series.push(series);
        }
    }
    published().assert_valid(&written(&document));
}

#[test]
fn the_examples_of_other_programs_fit_once_imported() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/result");
    let files = std::fs::read_dir(folder).unwrap();
    for path in files.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        // One needs its format's name, one is an explanation, one says what they are.
        if ["jitterdebugger.raw", "rtla-analysis.txt", "README.md"].contains(&name) {
            continue;
        }
        let document = artis::result::import::read(&path, None, None).unwrap();
        published().assert_valid(&written(&document));
    }
}

#[test]
fn the_schema_promises_nothing_that_is_never_written() {
    published().assert_promises_only(&written(&whole()));
}

#[test]
fn damaged_documents_fit_neither() {
    let damages: [(&str, Value); 22] = [
        ("/schema", json!("artis.result/2")),
        ("/surprise", json!(1)),
        ("/tool", json!(null)),
        ("/seconds", json!("10")),
        ("/seconds", json!(-1)),
        ("/seconds", json!(1e308)),
        ("/machine/surprise", json!(1)),
        ("/machine/kernel", json!(null)),
        ("/setup/surprise", json!(1)),
        ("/load/0/work", json!("much")),
        ("/load/0/work", json!(-1)),
        ("/load/0/seconds", json!(-1)),
        ("/load/0/surprise", json!(1)),
        ("/audit/0/why", json!(7)),
        ("/series/0/kind", json!("speed")),
        ("/series/0/unit", json!("us")),
        ("/series", json!(["latency"])),
        ("/series/0/cpu", json!(-1)),
        ("/series/0/min", json!(null)),
        ("/series/0/histogram", json!("@@")),
        ("/series/0/surprise", json!(1)),
        ("/series/0/beyond/0/count", json!(-1)),
    ];
    published().assert_neither_takes::<Document>(&written(&whole()), &damages);
}
