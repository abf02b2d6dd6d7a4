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

use super::distribution::{Distribution, Inconsistent};
use super::histogram::{decode, encode};
use super::schema::schema_name;
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
    pub rows: Vec<Row>,
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
    /// Measured per seed, in virtual time.
    pub seconds: u32,
    /// What ran beside the measurement, all at once.
    pub loads: Vec<String>,
    /// One run each.
    pub seeds: Vec<u64>,
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

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seed {
    pub seed: u64,
    #[serde(flatten)]
    pub figures: Figures,
}

/// How the real-time CPU was kept for its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduler {
    /// Not at all.
    Stock,
    /// `isolcpus`.
    Shield,
    Artis,
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
    #[serde(alias = "user_latency_us_p99_9")]
    pub latency_us_p99_9: f64,
    #[serde(alias = "user_latency_us_max")]
    pub latency_us_max: f64,
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn figures(samples: u64, user_max: f64) -> Figures {
        Figures {
            samples,
            kernel_latency_us_max: None,
            latency_us_min: 20.0,
            latency_us_mean: user_max / 4.0,
            latency_us_p99_9: user_max / 2.0,
            latency_us_max: user_max,
            execution_time_us_min: None,
            execution_time_us_max: None,
            execution_time_variation: None,
            rt_cpu_share_others: None,
            load_cpu_time_relative: Some(1.0),
            work_relative: BTreeMap::from([("hackbench".to_owned(), 1.0)]),
            work_per_cpu_second_relative: BTreeMap::new(),
            leaks: None,
            throughput_s: BTreeMap::new(),
        }
    }

    /// A row whose seeds have these maxima.
    pub(crate) fn row(name: &str, maxima: &[f64]) -> Row {
        let per_seed: Vec<Seed> = (1..)
            .zip(maxima)
            .map(|(seed, max)| Seed {
                seed,
                figures: figures(1000, *max),
            })
            .collect();
        let worst = maxima.iter().copied().fold(0.0, f64::max);
        Row {
            configuration: name.to_owned(),
            kernel: "7.3.4".to_owned(),
            preemption: "lazy".to_owned(),
            scheduler: Scheduler::Stock,
            cpus: 2,
            timers: 1,
            seconds: 8,
            loads: vec!["hackbench".to_owned()],
            seeds: per_seed.iter().map(|seed| seed.seed).collect(),
            figures: figures(1000 * maxima.len() as u64, worst),
            latency_histogram: None,
            per_seed,
            guests: Vec::new(),
        }
    }

    pub(crate) fn experiment(rows: Vec<Row>) -> Experiment {
        Experiment {
            schema: SchemaName,
            name: "some".to_owned(),
            tool: "0.1.0".to_owned(),
            kernel: "7.3.4".to_owned(),
            engine: "bochs".to_owned(),
            engine_version: "3.0".to_owned(),
            unit: "us at 100 MIPS".to_owned(),
            rows,
        }
    }

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
}
