// SPDX-License-Identifier: GPL-2.0-only
//! How much was measured: what makes extremes comparable, and what periods without a value do to
//! a figure.
//!
//! A thread that wakes up late by more than its period misses periods, and these have no value.
//! Each stands for a latency of a period at least: left out, they would make the later thread look
//! better (G. Tene, "How NOT to measure latency", calls it coordinated omission).

use super::setup::is_ours;
use super::{Figure, cyclictest};
use crate::compare::metric::{Metric, Quantity, Stat};
use artis_result::{Distribution, Document, PERCENTILES};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// Amounts that differ by less count as equal: 1 % more samples hold the worst of all with a
/// probability of 1 %.
const SURPLUS: f64 = 0.01;
const NS_PER_US: f64 = 1000.0;

/// Whether two amounts are about the same.
fn are_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= one.max(other) * SURPLUS
}

/// How long was measured, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// Of all runs together.
    seconds: f64,
    /// What says how many values a second has when nothing is late.
    pace: String,
}

impl Extent {
    /// Of the runs of one configuration; none where one does not say.
    pub fn of(documents: &[Document]) -> Option<Self> {
        let seconds: Option<f64> = documents.iter().map(|one| one.seconds).sum();
        let paces: BTreeSet<Option<String>> = documents.iter().map(pace).collect();
        let paces: Option<Vec<String>> = paces.into_iter().collect();
        Some(Self {
            seconds: seconds?,
            pace: paces?.join(" and "),
        })
    }

    /// Of so many seconds in all.
    pub fn new(seconds: f64, pace: String) -> Self {
        Self { seconds, pace }
    }
}

/// Whether extremes of both are comparable: of as many values, missed periods among them, or
/// measured equally long in the same way.
pub fn are_alike(
    (one, its): (&Figure, Option<&Extent>),
    (other, others): (&Figure, Option<&Extent>),
) -> bool {
    let by_count = match (one.offered(), other.offered()) {
        (Some(one), Some(other)) => are_near(one as f64, other as f64),
        (one, other) => one == other,
    };
    let by_time = its.zip(others).is_some_and(|(its, others)| {
        its.pace == others.pace && are_near(its.seconds, others.seconds)
    });
    by_count || by_time
}

/// None where the file does not say at which pace it measured.
fn pace(document: &Document) -> Option<String> {
    let threads: BTreeSet<_> = document
        .series
        .iter()
        .map(|one| (one.cpu, one.thread))
        .collect();
    let interval_us = interval_us(document);
    if interval_us.is_none() && !is_ours(document) {
        return None;
    }
    let options = &document.setup.options;
    let other = [
        "source",
        "distance_us",
        "routine",
        "count",
        "pairs",
        "workers",
    ];
    let other = other.map(|name| options.get(name));
    Some(format!("{interval_us:?} {} {other:?}", threads.len()))
}

/// The period, us.
pub fn interval_us(document: &Document) -> Option<f64> {
    let said = document.setup.options.get("interval_us");
    said.and_then(Value::as_f64).or_else(|| {
        let asked = cyclictest::asked(document)?;
        asked.interval_us.map(|us| us as f64)
    })
}

/// Periods that passed without a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Missed {
    pub periods: u64,
    /// The shortest of them, us; none where the files do not say.
    pub interval_us: Option<f64>,
}

impl Missed {
    /// In the latencies of all runs; none where nothing was missed.
    pub fn of(documents: &[Document]) -> Option<Self> {
        let series = documents.iter().flat_map(|one| &one.series);
        let periods = series
            .filter_map(|one| one.missed)
            .fold(0_u64, u64::saturating_add);
        let intervals: Option<Vec<f64>> = documents.iter().map(interval_us).collect();
        let shortest = |all: Vec<f64>| all.into_iter().reduce(f64::min);
        (periods > 0).then_some(Self {
            periods,
            interval_us: intervals.and_then(shortest),
        })
    }
}

/// Where a figure lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    /// Infinite where nobody knows.
    pub high: f64,
}

impl Range {
    pub fn of(value: f64) -> Self {
        Self {
            low: value,
            high: value,
        }
    }

    pub fn is_exact(self) -> bool {
        self.low == self.high
    }
}

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            range if range.is_exact() => out.write_str(&rounded(range.low)),
            Self { low, high } if high.is_infinite() => write!(out, "at least {}", rounded(low)),
            Self { low, high } => write!(out, "{} to {}", rounded(low), rounded(high)),
        }
    }
}

/// To six decimals, without zeros at the end: enough to see why a close gate was missed.
fn rounded(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The figures of latencies, each with its range: every missed period is a latency of a period at
/// least, and of the longest latency at most.
pub fn with_missed(
    figures: impl Iterator<Item = (Metric, Figure)>,
    values: &Distribution,
    missed: Missed,
) -> Vec<(Metric, Figure)> {
    let Some(moments) = values.moments() else {
        return figures.collect();
    };
    let periods = missed.periods;
    let max_us = moments.max as f64 / NS_PER_US;
    let interval_us = missed.interval_us.unwrap_or(0.0);
    // Missed by something else than a late wakeup, a period says nothing of how late it was.
    let longest_us = match interval_us > max_us {
        true => f64::INFINITY,
        false => max_us,
    };
    let all_at = |us: f64| {
        let mut all = values.clone();
        all.record_n((us * NS_PER_US) as i64, periods);
        all
    };
    let (shortest, longest) = (all_at(interval_us), all_at(longest_us.min(1e15)));
    let range = |stat: Stat, value: f64| match stat {
        Stat::Min | Stat::Variation => Range::of(value),
        Stat::Max => Range {
            low: value.max(interval_us),
            high: longest_us,
        },
        Stat::Mean => {
            let mean = |us: f64| {
                let (count, missed) = (moments.count as f64, periods as f64);
                (value * count + us * missed) / (count + missed)
            };
            Range {
                low: mean(interval_us),
                high: mean(longest_us),
            }
        }
        Stat::Percentile(which) => {
            let of = |all: &Distribution| all.percentile(PERCENTILES[which].1);
            let us = |ns: Option<i64>| ns.map(|ns| ns as f64 / NS_PER_US);
            let high = us(of(&longest)).unwrap_or(value);
            Range {
                low: us(of(&shortest)).unwrap_or(value),
                high: if high > max_us { longest_us } else { high },
            }
        }
    };
    let with = |(metric, figure): (Metric, Figure)| {
        let figure = match &metric {
            Metric::Of(Quantity::Latency, stat) => Figure {
                missed: periods,
                range: range(*stat, figure.value),
                ..figure
            },
            _ => figure,
        };
        (metric, figure)
    };
    figures.map(with).collect()
}
