// SPDX-License-Identifier: GPL-2.0-only
//! Documents of experiments, from outside.

use artis_result::distribution::Inconsistent;
use artis_result::experiment::{Experiment, SCHEMA};
use artis_testing::experiment::{experiment, row};
use hdrhistogram::Histogram;
use proptest::prelude::*;

#[test]
fn what_is_written_is_read_again() {
    let mut with_histogram = row("stock", &[100.0, 120.0]);
    let mut values = Histogram::<u64>::new(3).unwrap();
    values.record_n(20_000, 1999).unwrap();
    values.record(120_000).unwrap();
    with_histogram.latency_histogram = Some(values);
    let written = experiment(vec![with_histogram, row("artis", &[90.0])]);
    let text = serde_json::to_string(&written).unwrap();
    let read: Experiment = serde_json::from_str(&text).unwrap();
    assert_eq!(read, written);
    let latencies = read.rows[0].latencies().unwrap().unwrap();
    assert_eq!(latencies.count(), 2000);
    assert!(read.rows[1].latencies().unwrap().is_none());
}

#[test]
fn unknown_fields_are_passed_over() {
    let mut value = serde_json::to_value(experiment(vec![row("stock", &[1.0])])).unwrap();
    value["colour"] = "red".into();
    value["rows"][0]["colour"] = "red".into();
    value["rows"][0]["per_seed"][0]["colour"] = "red".into();
    serde_json::from_value::<Experiment>(value).unwrap();
}

#[test]
fn documents_with_the_old_name_of_the_latency_are_read() {
    let mut with_histogram = row("stock", &[100.0]);
    let mut values = Histogram::<u64>::new(3).unwrap();
    values.record_n(20_000, 1000).unwrap();
    with_histogram.latency_histogram = Some(values);
    let written = experiment(vec![with_histogram]);
    let text = serde_json::to_string(&written).unwrap();
    let old = text.replace("\"latency_", "\"user_latency_");
    assert_ne!(old, text);
    assert_eq!(serde_json::from_str::<Experiment>(&old).unwrap(), written);
}

#[test]
fn another_schema_and_a_foreign_histogram_are_refused() {
    let whole = serde_json::to_value(experiment(vec![row("stock", &[1.0])])).unwrap();
    let mut other = whole.clone();
    other["schema"] = "artis.result/1".into();
    let complaint = serde_json::from_value::<Experiment>(other).unwrap_err();
    assert!(complaint.to_string().contains(SCHEMA), "{complaint}");
    let mut row = row("stock", &[1.0]);
    row.latency_histogram = Some(Histogram::new(3).unwrap());
    assert!(matches!(row.latencies(), Err(Inconsistent::Count { .. })));
}

proptest! {
    #[test]
    fn no_damage_makes_it_panic(
        at: prop::sample::Index,
        until in 0..12_usize,
        instead in prop::sample::select(vec!["", "null", "-1", "1e308", "18446744073709551616", "\"", "{"]),
    ) {
        let mut damaged = row("stock", &[1.0]);
        damaged.latency_histogram = Some(Histogram::new(3).unwrap());
        let mut text = serde_json::to_string(&experiment(vec![damaged])).unwrap();
        let at = at.index(text.len());
        text.replace_range(at..(at + until).min(text.len()), instead);
        if let Ok(read) = serde_json::from_str::<Experiment>(&text) {
            for row in &read.rows {
                let _ = row.latencies();
            }
        }
    }
}

#[test]
fn times_of_an_emulator_are_never_plain() {
    let unit = experiment(Vec::new()).time_unit();
    assert_eq!(unit, "us at 100 MIPS, emulated (bochs)");
}
