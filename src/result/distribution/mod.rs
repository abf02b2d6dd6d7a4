// SPDX-License-Identifier: GPL-2.0-only
//! A distribution of measured values: exact count, extremes, mean and standard deviation, and
//! a histogram for everything between.
//!
//! Its memory does not depend on how many values it holds, and [`Distribution::record`] neither
//! allocates nor locks, so a measuring thread may call it. The mean and the squares are kept
//! with Welford's update, and joined with that of Chan, Golub and LeVeque ("Algorithms for
//! computing the sample variance", 1983): long runs lose no precision.

mod parts;

use super::beyond::Beyond;
use super::histogram::VALUE_MAX;
use hdrhistogram::Histogram;

/// Values above this land in the histogram's last bucket: an hour in nanoseconds. The maximum
/// stays exact.
const HIGHEST: u64 = 3_600_000_000_000;
/// Values below 2048 are kept exactly, larger ones to 0.1 %.
const DIGITS: u8 = 3;
/// How many equal steps from 0 up a histogram of so many digits keeps apart.
const APART: [(u8, u64); 3] = [(3, 1 << 11), (4, 1 << 15), (5, 1 << 18)];
/// More values are a damaged file; sums of two such counts still fit.
pub const COUNT_MAX: u64 = 1 << 62;

/// The percentiles that every table and file gives, each with its key in the file.
pub const PERCENTILES: [(&str, f64); 6] = [
    ("50", 50.0),
    ("90", 90.0),
    ("99", 99.0),
    ("99.9", 99.9),
    ("99.99", 99.99),
    ("99.999", 99.999),
];

/// What cannot become a distribution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Inconsistent {
    /// The histogram and the count disagree.
    #[error("count is {count}, but the histogram holds {held} values")]
    Count { count: u64, held: u64 },
    /// No run can have so many.
    #[error("more than {COUNT_MAX} values")]
    TooMany,
    /// The statistics contradict each other or the histogram.
    #[error("{0}")]
    Statistics(&'static str),
}

/// Counts, extremes and moments; see the module's text.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Values >= 0.
    positive: Histogram<u64>,
    /// Magnitudes of values < 0; none where they cannot occur.
    negative: Option<Histogram<u64>>,
    /// Only count, extremes and mean are known: the histograms are empty.
    is_summary: bool,
    count: u64,
    min: i64,
    max: i64,
    mean: f64,
    /// Sum of the squared differences from the mean.
    squares: f64,
    /// Values that are counted as the maximum, because their histogram ended before them.
    beyond: Beyond,
}

/// The moments and extremes as a file gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    pub count: u64,
    pub min: i64,
    pub max: i64,
    pub mean: f64,
    /// Of the sample: the divisor is count - 1. None where only the other figures are known.
    pub stddev: Option<f64>,
}

impl Moments {
    /// Refuses figures that contradict each other.
    fn check(&self) -> Result<(), Inconsistent> {
        if self.min > self.max {
            return Err(Inconsistent::Statistics("min is above max"));
        }
        // Half a unit: a mean may have been rounded.
        if !(self.min as f64 - 0.5..=self.max as f64 + 0.5).contains(&self.mean) {
            return Err(Inconsistent::Statistics("mean is not between min and max"));
        }
        let range = self.max as f64 - self.min as f64;
        match self.stddev {
            Some(stddev) if !(0.0..=range + 1.0).contains(&stddev) => Err(
                Inconsistent::Statistics("stddev is negative or larger than max - min"),
            ),
            _ => Ok(()),
        }
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl Distribution {
    /// An empty distribution of values that are never negative; those that are count as 0 in
    /// the histogram.
    pub fn new() -> Self {
        Self {
            positive: empty(),
            negative: None,
            is_summary: false,
            count: 0,
            min: i64::MAX,
            max: i64::MIN,
            mean: 0.0,
            squares: 0.0,
            beyond: Beyond::default(),
        }
    }

    /// An empty distribution of values that may be negative.
    pub fn signed() -> Self {
        Self {
            negative: Some(empty()),
            ..Self::new()
        }
    }

    /// What a program without a histogram prints: count, extremes and mean.
    ///
    /// # Errors
    /// [`Inconsistent`] when they contradict each other.
    pub fn summary(count: u64, min: i64, mean: f64, max: i64) -> Result<Self, Inconsistent> {
        if count == 0 {
            return Ok(Self::new());
        }
        if count > COUNT_MAX {
            return Err(Inconsistent::TooMany);
        }
        let moments = Moments {
            count,
            min,
            max,
            mean,
            stddev: None,
        };
        moments.check()?;
        Ok(Self {
            is_summary: true,
            count,
            min,
            max,
            mean,
            // Not the usual ones, of 270 kB: nothing is counted here.
            positive: within(1, 2, 1),
            ..Self::new()
        })
    }

    /// The same, of which some values are only known to lie beyond the histogram.
    ///
    /// # Errors
    /// [`Inconsistent`] when they cannot be among its values.
    pub fn with_beyond(mut self, beyond: Beyond) -> Result<Self, Inconsistent> {
        beyond
            .check(self.count, self.max)
            .map_err(Inconsistent::Statistics)?;
        self.beyond = beyond;
        Ok(self)
    }

    /// The values of which only number, least and largest are known.
    pub fn beyond(&self) -> &Beyond {
        &self.beyond
    }

    /// Whether only count, extremes and mean are known.
    pub fn is_summary(&self) -> bool {
        self.is_summary
    }

    /// As [`signed`](Self::signed) or [`new`](Self::new), with every page of its memory touched:
    /// recording then takes no page fault, whether memory is locked or not.
    pub fn prefaulted(signed: bool) -> Self {
        let mut empty = if signed { Self::signed() } else { Self::new() };
        empty.positive.reset();
        if let Some(negative) = &mut empty.negative {
            negative.reset();
        }
        empty
    }

    /// An empty distribution that keeps multiples of `step` apart up to `apart_to`, as far as
    /// five digits go (134 ms at 1 us); `highest` is the highest value to come.
    pub fn for_multiples(step: u64, apart_to: u64, highest: u64) -> Self {
        let digits = APART
            .iter()
            // Half: a bucket may be as wide as the power of two below the step.
            .find(|(_, values)| apart_to / step.max(1) < values / 2)
            .map_or(5, |(digits, _)| *digits);
        if digits == DIGITS {
            return Self::new();
        }
        let high = (highest.clamp(2, VALUE_MAX) + 1).next_power_of_two() - 1;
        Self {
            positive: within(1, high, digits),
            ..Self::new()
        }
    }

    /// Memory of the histograms.
    pub fn histogram_bytes(&self) -> usize {
        let all = std::iter::once(&self.positive).chain(&self.negative);
        all.map(|histogram| histogram.distinct_values() * size_of::<u64>())
            .sum()
    }

    /// The lowest value of the bucket that [`buckets`](Self::buckets) gives as `value`.
    pub fn lowest(&self, value: i64) -> i64 {
        match &self.negative {
            Some(negative) if value < 0 => {
                -signed(negative.highest_equivalent(value.unsigned_abs()))
            }
            _ => signed(self.positive.lowest_equivalent(value.unsigned_abs())),
        }
    }

    /// Adds one value. Allocates nothing, locks nothing; true when it is the new maximum.
    #[inline]
    pub fn record(&mut self, value: i64) -> bool {
        self.record_n(value, 1)
    }

    /// Adds `times` equal values, as [`record`](Self::record) does.
    #[inline]
    pub fn record_n(&mut self, value: i64, times: u64) -> bool {
        if times == 0 {
            return false;
        }
        self.count += times;
        let delta = value as f64 - self.mean;
        self.mean += delta * (times as f64 / self.count as f64);
        self.squares += delta * (value as f64 - self.mean) * times as f64;
        match &mut self.negative {
            Some(negative) if value < 0 => {
                negative.saturating_record_n(value.unsigned_abs(), times);
            }
            _ => self
                .positive
                .saturating_record_n(value.max(0).unsigned_abs(), times),
        }
        self.min = self.min.min(value);
        let new_max = value > self.max;
        if new_max {
            self.max = value;
        }
        new_max
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count > 0 {
            let (ours, theirs) = (self.count as f64, other.count as f64);
            let total = ours + theirs;
            let delta = other.mean - self.mean;
            self.mean += delta * (theirs / total);
            self.squares += other.squares + delta * delta * (ours * theirs / total);
            self.count += other.count;
            self.min = self.min.min(other.min);
            self.max = self.max.max(other.max);
        }
        self.is_summary |= other.is_summary;
        if self.is_summary {
            // Half a histogram would be read as a whole one.
            self.positive = within(1, 2, 1);
            self.negative = None;
            self.beyond = Beyond::default();
            return;
        }
        self.beyond.merge(&other.beyond);
        // Also when empty: the sum has the finer bounds, whatever the order.
        add(&mut self.positive, &other.positive);
        if let Some(theirs) = &other.negative {
            add(self.negative.get_or_insert_with(empty), theirs);
        }
    }

    /// Adds all values of `other`, which may come from a file.
    ///
    /// # Errors
    /// [`Inconsistent::TooMany`]; nothing was added then.
    pub fn try_merge(&mut self, other: &Self) -> Result<(), Inconsistent> {
        // Neither is above the limit, so the sum does not overflow.
        if self.count + other.count > COUNT_MAX {
            return Err(Inconsistent::TooMany);
        }
        self.merge(other);
        Ok(())
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The extremes and moments; none without a value.
    pub fn moments(&self) -> Option<Moments> {
        (self.count > 0).then(|| Moments {
            count: self.count,
            min: self.min,
            max: self.max,
            mean: self.mean,
            stddev: (!self.is_summary).then(|| self.stddev()),
        })
    }

    fn stddev(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => (self.squares / (count - 1) as f64).max(0.0).sqrt(),
        }
    }

    /// The value that `percent` per cent of all values do not exceed, to the histogram's
    /// precision and never beyond the extremes; none without a value or a histogram, or where the
    /// histogram ended before it.
    pub fn percentile(&self, percent: f64) -> Option<i64> {
        if self.count == 0 || self.is_summary {
            return None;
        }
        // 99.999 % of 100,000 is 99,999, which floating point misses by a hair.
        let rank = (self.count as f64 * percent / 100.0 * (1.0 - 1e-12)).ceil() as u64;
        let rank = rank.clamp(1, self.count);
        let mut seen = 0;
        let found = self.buckets().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        let found = found.map(|(value, _)| value.clamp(self.min, self.max));
        found.filter(|value| self.beyond.from().is_none_or(|from| *value < from))
    }

    /// As [`percentile`](Self::percentile), and none when no value lies beyond it: it would be
    /// the maximum under another name.
    pub fn supported_percentile(&self, percent: f64) -> Option<i64> {
        let beyond = self.count as f64 * (1.0 - percent / 100.0);
        // One of ten is beyond 90 %, which floating point misses by a hair.
        self.percentile(percent).filter(|_| beyond > 1.0 - 1e-6)
    }

    /// Each non-empty bucket, ascending: its highest value (for negative ones its lowest
    /// magnitude, the highest value too), and how many values it holds.
    pub fn buckets(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let negative = self.negative.iter().flat_map(|histogram| {
            let mut buckets: Vec<(i64, u64)> = histogram
                .iter_recorded()
                .map(|bucket| {
                    let magnitude = histogram.lowest_equivalent(bucket.value_iterated_to());
                    (-signed(magnitude), bucket.count_at_value())
                })
                .collect();
            buckets.reverse();
            buckets
        });
        let positive = self
            .positive
            .iter_recorded()
            .map(|bucket| (signed(bucket.value_iterated_to()), bucket.count_at_value()));
        negative.chain(positive)
    }

    /// The histograms alone, as [`from_parts`](Self::from_parts) takes them.
    pub fn into_histograms(self) -> (Histogram<u64>, Option<Histogram<u64>>) {
        (self.positive, self.negative)
    }

    /// The histogram of values >= 0.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.positive
    }

    /// The histogram of the magnitudes of values < 0, where such can occur.
    pub fn negative(&self) -> Option<&Histogram<u64>> {
        self.negative.as_ref()
    }
}

fn empty() -> Histogram<u64> {
    within(1, HIGHEST, DIGITS)
}

fn within(low: u64, high: u64, digits: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(low, high, digits).expect("the bounds are in order")
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Histograms of other programs have other bounds: the sum takes the finer of each, whose
/// buckets divide the coarser's, so that the order of several sums does not matter.
fn add(to: &mut Histogram<u64>, from: &Histogram<u64>) {
    let bounds = |of: &Histogram<u64>| (of.low(), of.high(), of.sigfig());
    if bounds(to) != bounds(from) {
        let low = to.low().min(from.low());
        let high = to.high().max(from.high());
        let finer = within(low, high, to.sigfig().max(from.sigfig()));
        let before = std::mem::replace(to, finer);
        refill(to, &before);
        refill(to, from);
    } else if to.add(from).is_err() {
        refill(to, from);
    }
}

/// Adds each bucket as its highest value, so that no percentile gets lower.
fn refill(to: &mut Histogram<u64>, from: &Histogram<u64>) {
    for bucket in from.iter_recorded() {
        to.saturating_record_n(bucket.value_iterated_to(), bucket.count_at_value());
    }
}

#[cfg(test)]
mod tests;
