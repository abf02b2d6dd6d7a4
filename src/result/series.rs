// SPDX-License-Identifier: GPL-2.0-only
//! One measured quantity: a distribution with its name, kind, unit and CPU, and how it is
//! written in the file.
//!
//! The file holds the statistics for people and the histogram for programs; reading checks
//! that they agree. A program that prints no histogram gives a series without one: then
//! percentiles and standard deviation are not known. How the histogram is written:
//! [`super::histogram`].

use super::amount;
use super::beyond::Beyond;
use super::blocks::Blocks;
use super::distribution::{Distribution, Moments, PERCENTILES};
use super::histogram::{decode, encode};
use super::tag::{Tag, word};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// How often something happened, as a number or in a second.
    Count,
}

/// The unit of a series' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// The largest value of each stretch of time, where the measurement kept them.
    pub blocks: Option<Blocks>,
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
            blocks: None,
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

/// A series as it is in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a series: an object in braces")]
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
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "amount::seconds_if_any"
    )]
    max_at_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    missed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    blocks: Option<Blocks>,
    #[serde(default)]
    percentiles: BTreeMap<String, i64>,
    /// Absent where only count, extremes and mean are known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    histogram: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    histogram_negative: Option<String>,
    #[serde(skip_serializing_if = "Beyond::is_empty", default)]
    beyond: Beyond,
}

impl Serialize for Series {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let moments = self.distribution.moments();
        let percentiles = PERCENTILES.iter().filter_map(|(key, percent)| {
            let value = self.distribution.percentile(*percent)?;
            Some(((*key).to_owned(), value))
        });
        let encoded = |histogram| encode(histogram).map_err(serde::ser::Error::custom);
        let histogram = self.distribution.histogram();
        let histogram = (!self.distribution.is_summary()).then_some(histogram);
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
            stddev: moments.and_then(|moments| moments.stddev),
            max_at_s: self.max_at_s,
            missed: self.missed,
            blocks: self.blocks.clone(),
            percentiles: percentiles.collect(),
            histogram: histogram.map(encoded).transpose()?,
            histogram_negative: self.distribution.negative().map(encoded).transpose()?,
            beyond: self.distribution.beyond().clone(),
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
        let distribution = distribution(&stored).map_err(named)?;
        if let Some(blocks) = &stored.blocks {
            blocks
                .check(stored.count, stored.max)
                .map_err(|reason| named(reason.to_owned()))?;
        }
        Ok(Self {
            distribution,
            name: stored.name,
            kind: stored.kind,
            unit: stored.unit,
            cpu: stored.cpu,
            thread: stored.thread,
            max_at_s: stored.max_at_s,
            missed: stored.missed,
            blocks: stored.blocks,
        })
    }
}

/// Reads the series of a document, and refuses two that are called alike.
pub(super) fn all_different<'de, D: serde::Deserializer<'de>>(
    input: D,
) -> Result<Vec<Series>, D::Error> {
    struct AllDifferent;

    impl<'de> Visitor<'de> for AllDifferent {
        type Value = Vec<Series>;

        fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
            out.write_str("a list of series")
        }

        // One by one: an error has the line of the series that is too many.
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut all: Vec<Series> = Vec::new();
            let mut tags = BTreeSet::new();
            while let Some(series) = list.next_element::<Series>()? {
                note(&mut tags, &series).map_err(serde::de::Error::custom)?;
                all.push(series);
            }
            Ok(all)
        }
    }

    input.deserialize_seq(AllDifferent)
}

/// Adds the series to those that are known, and refuses one that is among them.
pub(super) fn note(known: &mut BTreeSet<Tag>, series: &Series) -> Result<(), String> {
    if known.insert(Tag::of(series)) {
        return Ok(());
    }
    Err(format!(
        "a second series {:?} with the same kind, unit, CPU and thread; remove or rename one",
        series.name
    ))
}

/// What a series measures: `latency in ns`.
pub(super) fn meaning(series: &Series) -> String {
    format!("{} in {}", word(&series.kind), word(&series.unit))
}

/// The values, as far as the file has them.
fn distribution(stored: &Stored) -> Result<Distribution, String> {
    let moments = match (stored.min, stored.max, stored.mean) {
        (Some(min), Some(max), Some(mean)) => Some(Moments {
            count: stored.count,
            min,
            max,
            mean,
            stddev: stored.stddev,
        }),
        (None, None, None) if stored.count == 0 && stored.stddev.is_none() => None,
        _ => return Err("min, mean, max and stddev go together".to_owned()),
    };
    let Some(histogram) = &stored.histogram else {
        let more = [
            ("stddev", stored.stddev.is_some()),
            ("percentiles", !stored.percentiles.is_empty()),
            ("histogram_negative", stored.histogram_negative.is_some()),
            ("beyond", !stored.beyond.is_empty()),
        ];
        if let Some((name, _)) = more.iter().find(|(_, is_there)| *is_there) {
            return Err(format!("there is {name}, but no histogram"));
        }
        let moments = moments.ok_or("there is no histogram and no figure")?;
        return Distribution::summary(moments.count, moments.min, moments.mean, moments.max)
            .map_err(|error| error.to_string());
    };
    let negative = stored
        .histogram_negative
        .as_deref()
        .map(decode)
        .transpose()?;
    Distribution::from_parts(decode(histogram)?, negative, moments)
        .and_then(|values| values.with_beyond(stored.beyond.clone()))
        .map_err(|error| error.to_string())
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
    fn a_series_without_a_histogram_keeps_what_is_known() {
        let values = Distribution::summary(5, -3, 17.5, 90).unwrap();
        let series = Series::new("latency", Kind::Latency, Unit::Nanoseconds, values);
        let text = serde_json::to_string(&series).unwrap();
        assert!(!text.contains("histogram"), "{text}");
        let read: Series = serde_json::from_str(&text).unwrap();
        assert_eq!(read, series);
        assert!(read.distribution.is_summary());
        let more = text.replace("\"stddev\":null", "\"stddev\":1.0");
        let refused = serde_json::from_str::<Series>(&more).unwrap_err();
        assert!(refused.to_string().contains("no histogram"), "{refused}");
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
