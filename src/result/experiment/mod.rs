// SPDX-License-Identifier: GPL-2.0-only
//! The experiment file, `artis.experiment/1`: several configurations of one machine, measured
//! alike, a row each.
//!
//! Owns what is in the file; runs no experiment and compares nothing. Times are in the
//! file's own unit, because an emulator's are not those of a real machine
//! ([`Experiment::time_unit`]); only histograms are in that unit's thousandth, 1 ns for 1 us.
//! A reader passes over fields it does not know. The latency of the task was called
//! `user_latency` once, and documents that say so are still read. The published schema is
//! `docs/experiment.schema.json`.

mod caches;
mod scheduler;

pub use caches::{CacheCounts, CacheCycles, CacheFigures};
pub use scheduler::{Published, Scheduler, WrongScheduler};

use crate::distribution::{Distribution, Inconsistent};
use crate::histogram::{decode, encode};
use crate::schema::schema_name;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema's name, the first thing in each file.
pub const SCHEMA: &str = "artis.experiment/1";

/// One experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// [`SCHEMA`].
    pub schema: SchemaName,
    /// `table1`.
    pub name: String,
    /// Version of the artis that ran it.
    pub tool: String,
    /// Release and package version of the kernel that the rows share, or the first row's.
    pub kernel: String,
    /// What it ran on: `bochs`.
    pub engine: String,
    pub engine_version: String,
    /// What the fields with `_us_` in their names count: `us at 100 MIPS`.
    pub unit: String,
    /// What it was built from; none in documents that were not made by `make results`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    pub rows: Vec<Row>,
}

/// What the guests were built from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// The commit of the sources, shortened; with a `+` when they were changed since.
    pub commit: String,
    /// Packages and compilers whose files are in the guests, each with its version.
    pub packages: Vec<String>,
}

/// One configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name: `isolcpus`.
    pub configuration: String,
    /// Release and package version.
    pub kernel: String,
    /// `lazy`, `full` or `rt`.
    pub preemption: String,
    pub scheduler: Scheduler,
    /// How many.
    pub cpus: u32,
    /// Threads of RT0.
    #[serde(default = "one")]
    pub timers: u32,
    /// What woke RT0.
    #[serde(default = "timer", skip_serializing_if = "is_timer")]
    pub event: String,
    /// Measured per seed, in virtual time.
    pub seconds: u32,
    /// What ran beside the measurement, all at once.
    pub loads: Vec<String>,
    /// One run each.
    pub seeds: Vec<u64>,
    /// RT0's period; none in older documents, where it is 1000 and divides the tick's period, so
    /// that a seed kept its places of the tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_us: Option<u64>,
    /// Where RT0's first wakeup was due, us after a tick; none: it went through all places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place_us: Option<u64>,
    /// The layout of control groups, `systemd` or `none`; none in older documents, which mean
    /// `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<String>,
    /// Of all seeds together.
    #[serde(flatten)]
    pub figures: Figures,
    /// All latencies, in nanoseconds of [`Experiment::unit`].
    #[serde(with = "histogram_text", default, alias = "user_latency_histogram")]
    pub latency_histogram: Option<Histogram<u64>>,
    pub per_seed: Vec<Seed>,
    /// A hash of all that each guest consisted of: the same hash, the same figures.
    #[serde(default)]
    pub guests: Vec<String>,
}

fn one() -> u32 {
    1
}

fn timer() -> String {
    "timer".to_owned()
}

fn is_timer(event: &str) -> bool {
    event == timer()
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seed {
    pub seed: u64,
    #[serde(flatten)]
    pub figures: Figures,
}

/// What was measured. None is: not measured, or not defined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// How many latencies.
    pub samples: u64,
    /// From the timer to its handler.
    pub kernel_latency_us_max: Option<f64>,
    /// From the timer to the task.
    #[serde(alias = "user_latency_us_min")]
    pub latency_us_min: f64,
    #[serde(alias = "user_latency_us_mean")]
    pub latency_us_mean: f64,
    /// None in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us_p99: Option<f64>,
    #[serde(alias = "user_latency_us_p99_9")]
    pub latency_us_p99_9: f64,
    #[serde(alias = "user_latency_us_max")]
    pub latency_us_max: f64,
    /// Of a hundred places of the tick, the share that had a latency of nine tenths of the worst or
    /// more, 0 to 1; none in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_places: Option<f64>,
    pub execution_time_us_min: Option<f64>,
    pub execution_time_us_max: Option<f64>,
    /// (max - min) / min.
    pub execution_time_variation: Option<f64>,
    /// Of what RT0 leaves of the real-time CPU, the part that others got, 0 to 1.
    pub rt_cpu_share_others: Option<f64>,
    /// CPU time of all loads against that of the experiment's reference row.
    pub load_cpu_time_relative: Option<f64>,
    /// Work of each load against the reference row's.
    pub work_relative: BTreeMap<String, f64>,
    /// Work per second of its CPU time of each load against the reference row's.
    pub work_per_cpu_second_relative: BTreeMap<String, f64>,
    /// Kernel entries of others whose body ran on the real-time CPU.
    pub leaks: Option<u64>,
    /// How long the same work took in each of its permutations, virtual seconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub throughput_s: BTreeMap<String, f64>,
    /// How soon ordinary tasks answer, by the name of what was measured
    /// ([`crate::names::Ordinary`]).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub responsiveness: BTreeMap<String, Summary>,
    /// What modelled caches cost each load, where that was measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caches: BTreeMap<String, CacheFigures>,
    /// Messages per second of their CPU time against the reference row's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub messages_per_cpu_second_relative: BTreeMap<String, f64>,
    /// The tasks of an admitted set, most urgent first; none where one RT0 was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<OfTask>,
}

/// A task of an admitted set: its bound, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfTask {
    pub name: String,
    pub period_us: f64,
    pub deadline_us: f64,
    /// The longest of a job that runs alone.
    pub execution_us: f64,
    /// From release to end, at most, by the analysis; none: it has no bound.
    pub bound_us: Option<f64>,
    pub response_us_max: f64,
    pub jobs: u64,
    /// Jobs that ended after their deadline.
    pub missed: u64,
}

impl OfTask {
    /// The worst response as a part of the bound; none without a bound.
    pub fn of_bound(&self) -> Option<f64> {
        self.bound_us.map(|bound| self.response_us_max / bound)
    }
}

/// Many times, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many.
    pub samples: u64,
    pub us_mean: f64,
    pub us_p99: f64,
    pub us_max: f64,
}

schema_name!(SCHEMA);

impl Experiment {
    /// The unit of its times as every table and picture has to name it.
    pub fn time_unit(&self) -> String {
        format!("{}, emulated ({})", self.unit, self.engine)
    }
}

impl Row {
    /// The latencies; none without a histogram.
    ///
    /// # Errors
    /// [`Inconsistent`] when the histogram is not that of the row's samples.
    pub fn latencies(&self) -> Result<Option<Distribution>, Inconsistent> {
        let Some(histogram) = &self.latency_histogram else {
            return Ok(None);
        };
        if histogram.len() != self.figures.samples {
            return Err(Inconsistent::Count {
                count: self.figures.samples,
                held: histogram.len(),
            });
        }
        Distribution::from_histograms(histogram.clone(), None, None).map(Some)
    }
}

/// A histogram as base64 text, or null.
mod histogram_text {
    use super::{Histogram, decode, encode};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(
        histogram: &Option<Histogram<u64>>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        let text = histogram.as_ref().map(encode).transpose();
        text.map_err(serde::ser::Error::custom)?.serialize(out)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Option<Histogram<u64>>, D::Error> {
        let text = Option::<String>::deserialize(input)?;
        let histogram = text.as_deref().map(decode).transpose();
        histogram.map_err(serde::de::Error::custom)
    }
}
