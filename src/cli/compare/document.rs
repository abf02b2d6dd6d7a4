// SPDX-License-Identifier: GPL-2.0-only
//! The JSON document of `artis compare`.

use crate::decide::compare::gate::Verdict;
use crate::decide::compare::interval::{CONFIDENCE, METHOD};
use crate::decide::compare::{Cell, Compared, Comparison, Interval};
use crate::report::words::{notes, sentence};
use serde::Serialize;
use std::collections::BTreeMap;

/// All that the table has, and the figures that it has no room for.
#[derive(Serialize)]
pub struct Document {
    tool: String,
    /// Of all times.
    unit: String,
    baseline: String,
    /// How intervals were found.
    interval_method: &'static str,
    /// With which probability they hold the ratio.
    interval_confidence: f64,
    configurations: Vec<Configuration>,
    gates: Vec<GateDone>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Configuration {
    name: String,
    /// Empty when the files do not say.
    kernel: String,
    loads: Vec<String>,
    runs: usize,
    samples: u64,
    throughput_kept: Option<f64>,
    figures: BTreeMap<String, Figure>,
}

/// One figure; `null` is: not defined, or withheld.
#[derive(Serialize)]
struct Figure {
    /// Of all runs together.
    value: f64,
    samples: Option<u64>,
    runs: Vec<f64>,
    /// To the baseline's.
    ratio: Option<f64>,
    ratio_of_means: Option<f64>,
    /// Of `ratio_of_means`.
    interval: Option<Interval>,
    /// The numbers of samples are too different for extremes to be compared.
    unequal_samples: bool,
}

#[derive(Serialize)]
struct GateDone {
    gate: String,
    held: bool,
    bound: f64,
    checks: Vec<Checked>,
    sentence: String,
}

#[derive(Serialize)]
struct Checked {
    configuration: String,
    value: f64,
    held: bool,
}

impl Document {
    pub fn new(all: &Comparison, verdicts: &[Verdict]) -> Self {
        let configurations = all.configurations.iter();
        Self {
            tool: format!("artis {}", env!("CARGO_PKG_VERSION")),
            unit: all.unit.clone(),
            baseline: all.base().configuration.name.clone(),
            interval_method: METHOD,
            interval_confidence: CONFIDENCE,
            configurations: configurations.map(|one| configuration(all, one)).collect(),
            gates: verdicts.iter().map(gate).collect(),
            notes: notes(all),
        }
    }
}

fn configuration(all: &Comparison, one: &Compared) -> Configuration {
    let its = &one.configuration;
    let figures = one.cells.iter();
    Configuration {
        name: its.name.clone(),
        kernel: its.kernel.clone(),
        loads: its.loads.clone(),
        runs: its.runs.len(),
        samples: its.samples(),
        throughput_kept: all.throughput_kept(one),
        figures: figures
            .map(|(metric, cell)| (metric.to_string(), figure(cell)))
            .collect(),
    }
}

fn figure(cell: &Cell) -> Figure {
    let ratio = cell.ratio.unwrap_or_default();
    Figure {
        value: cell.figure.value,
        samples: cell.figure.samples,
        runs: cell.runs.clone(),
        ratio: ratio.of_all,
        ratio_of_means: ratio.of_means,
        interval: ratio.interval,
        unequal_samples: ratio.unequal.is_some(),
    }
}

fn gate(verdict: &Verdict) -> GateDone {
    let checks = verdict.checks.iter().map(|check| Checked {
        configuration: check.configuration.clone(),
        value: check.value,
        held: check.held,
    });
    GateDone {
        gate: verdict.gate.to_string(),
        held: verdict.held(),
        bound: verdict.bound,
        checks: checks.collect(),
        sentence: sentence(verdict),
    }
}
