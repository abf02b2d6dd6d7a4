// SPDX-License-Identifier: GPL-2.0-only
//! What the loads of result files did.

use super::{Figure, Figures};
use crate::compare::metric::Metric;
use artis_result::{Document, LoadDone};
use std::collections::BTreeMap;

/// The loads of all runs.
pub fn loads(documents: &[Document]) -> impl Iterator<Item = &LoadDone> {
    documents.iter().flat_map(|document| &document.load)
}

/// What the work of each load is counted in.
///
/// # Errors
/// A sentence, when it is counted in two units.
pub fn load_units(documents: &[Document]) -> Result<BTreeMap<String, String>, String> {
    let mut units = BTreeMap::new();
    for load in loads(documents) {
        let known: &mut String = units
            .entry(load.name.clone())
            .or_insert_with(|| load.unit.clone());
        if *known != load.unit {
            return Err(format!(
                "the load {} is counted in {known} in one run, in {} in another",
                load.name, load.unit
            ));
        }
    }
    Ok(units)
}

/// Work, time and CPU time of a load in all runs.
#[derive(Clone, Copy)]
struct Done {
    work: f64,
    seconds: f64,
    /// None when a run does not say.
    cpu_seconds: Option<f64>,
}

/// The work of the loads of all runs.
pub fn of_loads(documents: &[Document]) -> Figures {
    let mut sums: BTreeMap<&str, Done> = BTreeMap::new();
    for load in loads(documents) {
        let sum = sums.entry(&load.name).or_insert(Done {
            work: 0.0,
            seconds: 0.0,
            cpu_seconds: Some(0.0),
        });
        sum.work += load.work;
        sum.seconds += load.seconds;
        sum.cpu_seconds = sum
            .cpu_seconds
            .zip(load.cpu_seconds)
            .map(|(one, two)| one + two);
    }
    let mut all = Figures::new();
    let mut plain = |metric, value: f64| {
        if value.is_finite() {
            all.insert(metric, Figure::exact(value, None));
        }
    };
    // CPU seconds per second: how many CPUs the loads had. They ran at the same time, so
    // their time is that of the longest.
    let seconds = sums.values().map(|done| done.seconds).fold(0.0, f64::max);
    let cpu_seconds: Option<f64> = sums.values().map(|done| done.cpu_seconds).sum();
    if let Some(cpu_seconds) = cpu_seconds {
        plain(Metric::LoadCpuTime, cpu_seconds / seconds);
    }
    for (name, done) in sums {
        plain(
            Metric::Throughput(name.to_owned()),
            done.work / done.seconds,
        );
        if let Some(cpu_seconds) = done.cpu_seconds {
            plain(
                Metric::WorkPerCpuSecond(name.to_owned()),
                done.work / cpu_seconds,
            );
        }
    }
    all
}
