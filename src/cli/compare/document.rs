// SPDX-License-Identifier: GPL-2.0-only
//! The JSON document of `artis compare`.

use crate::decide::compare::gate::{Outcome, Verdict};
use crate::decide::compare::interval::{CONFIDENCE, METHOD};
use crate::decide::compare::{Cell, Compared, Comparison, Interval, Range};
use crate::report::words::{notes, sentence};
use serde::Serialize;
use std::collections::BTreeMap;

/// Of `docs/comparison.schema.json`.
const SCHEMA: &str = "artis.comparison/1";

/// All that the table has, and the figures that it has no room for.
#[derive(Serialize)]
pub struct Document {
    schema: &'static str,
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
    /// Periods of the latencies that passed without a value.
    missed: u64,
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
    /// By every configuration.
    held: bool,
    /// None where it was not measured.
    bound: Option<Bounds>,
    checks: Vec<Checked>,
    sentence: String,
}

#[derive(Serialize)]
struct Checked {
    configuration: String,
    /// Of the values; none where it was not measured.
    value: Option<f64>,
    /// With the periods that were missed.
    range: Option<Bounds>,
    held: bool,
    outcome: &'static str,
    /// Why it was not judged.
    reason: Option<String>,
}

/// Where a figure lies.
#[derive(Serialize)]
struct Bounds {
    low: f64,
    /// None where nobody knows.
    high: Option<f64>,
}

impl From<Range> for Bounds {
    fn from(range: Range) -> Self {
        Self {
            low: range.low,
            high: Some(range.high).filter(|high| high.is_finite()),
        }
    }
}

impl Document {
    pub fn new(all: &Comparison, verdicts: &[Verdict]) -> Self {
        let configurations = all.configurations.iter();
        Self {
            schema: SCHEMA,
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
        missed: its.missed.map_or(0, |missed| missed.periods),
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
    let checks = verdict.checks.iter().map(|check| {
        let (outcome, reason) = match &check.outcome {
            Outcome::Held => ("held", None),
            Outcome::Missed => ("missed", None),
            Outcome::NotJudged(reason) => ("not_judged", Some(reason.clone())),
        };
        Checked {
            configuration: check.configuration.clone(),
            value: check.figure.map(|figure| figure.value),
            range: check.figure.map(|figure| figure.range.into()),
            held: check.outcome == Outcome::Held,
            outcome,
            reason,
        }
    });
    GateDone {
        gate: verdict.gate.to_string(),
        held: verdict.held(),
        bound: verdict.bound.map(Bounds::from),
        checks: checks.collect(),
        sentence: sentence(verdict),
    }
}
