// SPDX-License-Identifier: GPL-2.0-only
//! The figures of one configuration, as result files and experiments give them.
//!
//! Owns what each field of a file is called in a comparison. Times become microseconds, a load's
//! work becomes work per time; a figure that not every run has is left out, with a note. Refuses
//! times that mean nothing.

mod cyclictest;
pub mod extent;
mod loads;
pub mod machine;
mod of_experiment;
mod of_results;
pub mod setup;

pub use extent::{Extent, Missed, Range, are_alike};
pub use of_experiment::of_experiment;
pub use of_results::{of_one_measurement, of_results};
pub use setup::Setup;

use super::metric::{Metric, Quantity, Stat};
use artis_result::{Distribution, Unit};
use std::collections::BTreeMap;

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Of the values that were measured; times in microseconds.
    pub value: f64,
    /// Of how many values; none where it is no figure of a distribution.
    pub samples: Option<u64>,
    /// Periods that passed without a value.
    pub missed: u64,
    /// Where it lies when the periods count that passed without a value.
    pub range: Range,
}

impl Figure {
    /// One of which nothing was missed.
    pub fn exact(value: f64, samples: Option<u64>) -> Self {
        Self {
            value,
            samples,
            missed: 0,
            range: Range::of(value),
        }
    }

    /// The values, and the periods without one.
    pub fn offered(&self) -> Option<u64> {
        Some(self.samples? + self.missed)
    }
}

/// All figures of a run, or of all runs.
pub type Figures = BTreeMap<Metric, Figure>;

/// What is compared: one set-up, measured once or several times.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub name: String,
    /// The unit of its times.
    pub unit: String,
    /// Kernel release; empty when the files do not say.
    pub kernel: String,
    /// What ran beside the measurement, ascending.
    pub loads: Vec<String>,
    /// What the work of each load is counted in, where the files say.
    pub load_units: BTreeMap<String, String>,
    /// Whether the values of each series are times or numbers.
    pub units: BTreeMap<String, Unit>,
    /// Of all runs together.
    pub whole: Figures,
    /// Of each run.
    pub runs: Vec<Figures>,
    /// Periods of its latencies that passed without a value.
    pub missed: Option<Missed>,
    /// How long was measured, and how.
    pub extent: Option<Extent>,
    pub setup: Setup,
    /// The latencies of all runs, in nanoseconds; none without a histogram of them.
    pub latencies: Option<Distribution>,
    /// Reasons to distrust its figures, a sentence each.
    pub notes: Vec<String>,
}

/// Why a file gives no figures.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error(
        "{0}: its times are an emulator's (QEMU) and mean nothing, so they are not compared; \
         measure on a real machine, or with artis lab's engine bochs"
    )]
    Emulated(String),
    #[error("{name}: {reason}")]
    Inconsistent { name: String, reason: String },
    #[error(
        "two rows are named {0:?}, and do not differ in CPUs, loads, kernel or duration; rename one"
    )]
    Rows(String),
    #[error("runs of {name} are in {one} and in {other}: these are not one configuration")]
    Units {
        name: String,
        one: String,
        other: String,
    },
    #[error(
        "files of {name} differ in {what}: {one} and {other}; these are not one configuration, so \
         give each a name of its own"
    )]
    Machines {
        name: String,
        what: &'static str,
        one: String,
        other: String,
    },
}

impl Configuration {
    /// Each run's figure of this name.
    pub fn of_runs(&self, metric: &Metric) -> Vec<f64> {
        let values = self.runs.iter().filter_map(|run| run.get(metric));
        values.map(|figure| figure.value).collect()
    }

    /// Whether the other has one of its figures. Without a figure at all, it shares what it can.
    pub fn shares_with(&self, other: &Self) -> bool {
        self.whole.is_empty()
            || other.whole.is_empty()
            || self
                .whole
                .keys()
                .any(|metric| other.whole.contains_key(metric))
    }

    /// The names of its figures that tables give.
    pub fn in_tables(&self) -> Vec<String> {
        let metrics = self.whole.keys().filter(|metric| metric.is_in_tables());
        metrics.map(Metric::to_string).collect()
    }

    /// How many latencies, or values of whatever was measured most often.
    pub fn samples(&self) -> u64 {
        let latency = Metric::Of(Quantity::Latency, Stat::Mean);
        let samples = |figure: &Figure| figure.samples;
        self.whole
            .get(&latency)
            .and_then(samples)
            .or_else(|| self.whole.values().filter_map(samples).max())
            .unwrap_or(0)
    }
}
