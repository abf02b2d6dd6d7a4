// SPDX-License-Identifier: GPL-2.0-only
//! One measured quantity: a distribution with its name, kind, unit and CPU, and how it stands
//! in the file.
//!
//! The file holds the statistics for people and the histogram for programs; reading checks
//! that they agree. How the histogram is written: [`super::histogram`].

use super::distribution::{Distribution, Moments, PERCENTILES};
use super::histogram::{decode, encode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Observed minus requested time.
    Latency,
    /// How long a fixed piece of work took.
    ExecutionTime,
    /// Time lost against the ideal.
    Noise,
    /// How long a command or a round took.
    Duration,
    /// How often something happened.
    Count,
}

/// The unit of a series' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Something counted.
    #[serde(rename = "count")]
    Count,
}

/// A named distribution.
#[derive(Clone, Debug)]
pub struct Series {
    /// `latency`, `timer_to_irq`, …; series of one name may be merged.
    pub name: String,
    pub kind: Kind,
    pub unit: Unit,
    /// CPU it was measured on; none is several.
    pub cpu: Option<u32>,
    /// Thread of the measurement, from 0; none is several.
    pub thread: Option<u32>,
    /// When the maximum was, seconds after the start.
    pub max_at_s: Option<f64>,
    /// Periods that passed unserved.
    pub missed: Option<u64>,
    /// The values.
    pub distribution: Distribution,
}

impl Series {
    /// A series of several CPUs with nothing but its values.
    pub fn new(name: &str, kind: Kind, unit: Unit, distribution: Distribution) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            unit,
            cpu: None,
            thread: None,
            max_at_s: None,
            missed: None,
            distribution,
        }
    }
}

/// Equal as files: the same statistics to the last digit, the same histograms.
impl PartialEq for Series {
    fn eq(&self, other: &Self) -> bool {
        match (serde_json::to_value(self), serde_json::to_value(other)) {
            (Ok(one), Ok(two)) => one == two,
            _ => false,
        }
    }
}

/// How a series stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    name: String,
    kind: Kind,
    unit: Unit,
    #[serde(default)]
    cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    thread: Option<u32>,
    count: u64,
    min: Option<i64>,
    mean: Option<f64>,
    max: Option<i64>,
    stddev: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    max_at_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    missed: Option<u64>,
    #[serde(default)]
    percentiles: BTreeMap<String, i64>,
    histogram: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    histogram_negative: Option<String>,
}

impl Serialize for Series {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let moments = self.distribution.moments();
        let percentiles = PERCENTILES.iter().filter_map(|(key, percent)| {
            let value = self.distribution.percentile(*percent)?;
            Some(((*key).to_owned(), value))
        });
        let encoded = |histogram| encode(histogram).map_err(serde::ser::Error::custom);
        let stored = Stored {
            name: self.name.clone(),
            kind: self.kind,
            unit: self.unit,
            cpu: self.cpu,
            thread: self.thread,
            count: self.distribution.count(),
            min: moments.map(|moments| moments.min),
            mean: moments.map(|moments| moments.mean),
            max: moments.map(|moments| moments.max),
            stddev: moments.map(|moments| moments.stddev),
            max_at_s: self.max_at_s,
            missed: self.missed,
            percentiles: percentiles.collect(),
            histogram: encoded(self.distribution.histogram())?,
            histogram_negative: self.distribution.negative().map(encoded).transpose()?,
        };
        stored.serialize(out)
    }
}

impl<'de> Deserialize<'de> for Series {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let stored = Stored::deserialize(input)?;
        let named =
            |reason: String| D::Error::custom(format!("series {:?}: {reason}", stored.name));
        let decoded = |text: &String| decode(text).map_err(named);
        let moments = match (stored.min, stored.max, stored.mean, stored.stddev) {
            (Some(min), Some(max), Some(mean), Some(stddev)) => Some(Moments {
                count: stored.count,
                min,
                max,
                mean,
                stddev,
            }),
            (None, None, None, None) if stored.count == 0 => None,
            _ => return Err(named("min, mean, max and stddev go together".to_owned())),
        };
        let positive = decoded(&stored.histogram)?;
        let negative = stored
            .histogram_negative
            .as_ref()
            .map(decoded)
            .transpose()?;
        let distribution = Distribution::from_parts(positive, negative, moments)
            .map_err(|error| named(error.to_string()))?;
        Ok(Self {
            distribution,
            name: stored.name,
            kind: stored.kind,
            unit: stored.unit,
            cpu: stored.cpu,
            thread: stored.thread,
            max_at_s: stored.max_at_s,
            missed: stored.missed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Series {
        let mut values = Distribution::signed();
        for value in [-3, 0, 1700, 1_234_567, 1_234_567] {
            values.record(value);
        }
        let mut series = Series::new("latency", Kind::Latency, Unit::Nanoseconds, values);
        series.cpu = Some(3);
        series.max_at_s = Some(1.5);
        series
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = serde_json::to_string(&some()).unwrap();
        let read: Series = serde_json::from_str(&text).unwrap();
        assert_eq!(read, some());
        assert_eq!(read.distribution.percentile(50.0), Some(1700));
    }

    #[test]
    fn an_empty_series_is_one_too() {
        let empty = Series::new(
            "latency",
            Kind::Latency,
            Unit::Nanoseconds,
            Distribution::new(),
        );
        let text = serde_json::to_string(&empty).unwrap();
        assert_eq!(serde_json::from_str::<Series>(&text).unwrap(), empty);
    }

    #[test]
    fn damage_is_named() {
        let whole = serde_json::to_value(some()).unwrap();
        let read = |key: &str, value: serde_json::Value| {
            let mut damaged = whole.clone();
            damaged[key] = value;
            serde_json::from_value::<Series>(damaged)
                .unwrap_err()
                .to_string()
        };
        assert!(read("histogram", "@@".into()).contains("no base64"));
        assert!(read("histogram", "AAAA".into()).contains("damaged"));
        assert!(read("count", 4.into()).contains("holds 5 values"));
        assert!(read("min", serde_json::Value::Null).contains("go together"));
        assert!(read("kind", "speed".into()).contains("unknown variant"));
        assert!(read("colour", "red".into()).contains("unknown field"));
    }
}
