// SPDX-License-Identifier: GPL-2.0-only
//! A distribution of measured values: exact count, extremes, mean and standard deviation, and
//! a histogram for everything between.
//!
//! Its memory does not depend on how many values it holds, and [`Distribution::record`] neither
//! allocates nor locks, so a measuring thread may call it. The mean and the squares are kept
//! with Welford's update, and joined with that of Chan, Golub and LeVeque ("Algorithms for
//! computing the sample variance", 1983): long runs lose no precision.

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

    /// The distribution that histograms show, each value in the middle of its bucket; `max` is
    /// the exact maximum where it is known.
    ///
    /// # Errors
    /// [`Inconsistent`] when there are too many values, or `max` is not in the last bucket.
    pub fn from_histograms(
        positive: Histogram<u64>,
        negative: Option<Histogram<u64>>,
        max: Option<i64>,
    ) -> Result<Self, Inconsistent> {
        let all = Self {
            positive,
            negative,
            ..Self::new()
        };
        let mut count = 0_u64;
        for (_, times) in all.buckets() {
            count = count.saturating_add(times);
        }
        let (Some((first, _)), Some((last, _))) = (all.buckets().next(), all.buckets().last())
        else {
            return Ok(all);
        };
        let weighed = |weigh: &dyn Fn(f64) -> f64| -> f64 {
            let middles = all.buckets().map(|(value, times)| {
                let middle = (all.lowest(value) as f64 + value as f64) / 2.0;
                weigh(middle) * times as f64
            });
            middles.sum()
        };
        let mean = weighed(&|value| value) / count as f64;
        let squares = weighed(&|value| (value - mean) * (value - mean));
        let moments = Moments {
            count,
            min: all.lowest(first),
            max: max.unwrap_or(last),
            mean: mean.min(max.unwrap_or(last) as f64),
            stddev: Some((squares / count.saturating_sub(1).max(1) as f64).sqrt()),
        };
        Self::from_parts(all.positive, all.negative, Some(moments))
    }

    /// Memory of the histograms.
    pub fn histogram_bytes(&self) -> usize {
        let all = std::iter::once(&self.positive).chain(&self.negative);
        all.map(|histogram| histogram.distinct_values() * size_of::<u64>())
            .sum()
    }

    /// Puts together what a file holds.
    ///
    /// # Errors
    /// [`Inconsistent`] when the parts cannot belong together.
    pub fn from_parts(
        positive: Histogram<u64>,
        negative: Option<Histogram<u64>>,
        moments: Option<Moments>,
    ) -> Result<Self, Inconsistent> {
        let held = positive
            .len()
            .saturating_add(negative.as_ref().map_or(0, Histogram::len));
        let count = moments.map_or(0, |moments| moments.count);
        if count.max(held) > COUNT_MAX {
            return Err(Inconsistent::TooMany);
        }
        if held != count {
            return Err(Inconsistent::Count { count, held });
        }
        let Some(moments) = moments.filter(|moments| moments.count > 0) else {
            return Ok(Self {
                positive,
                negative,
                ..Self::new()
            });
        };
        moments.check()?;
        let Some(stddev) = moments.stddev else {
            return Err(Inconsistent::Statistics(
                "there is a histogram, but no stddev",
            ));
        };
        let whole = Self {
            positive,
            negative,
            is_summary: false,
            count,
            min: moments.min,
            max: moments.max,
            mean: moments.mean,
            squares: stddev * stddev * (count - 1) as f64,
            beyond: Beyond::default(),
        };
        whole.check_extremes()?;
        Ok(whole)
    }

    /// Refuses extremes that lie outside the histogram's first and last bucket.
    fn check_extremes(&self) -> Result<(), Inconsistent> {
        let (Some((first, _)), Some((last, _))) = (self.buckets().next(), self.buckets().last())
        else {
            return Ok(());
        };
        // Values below 0 may have been counted as 0, those above the range in the last bucket.
        if self.min > first && self.min <= signed(self.positive.high()) {
            return Err(Inconsistent::Statistics(
                "min is above the first value of the histogram",
            ));
        }
        if self.max.max(0) < self.lowest(last) {
            return Err(Inconsistent::Statistics(
                "max is below the last value of the histogram",
            ));
        }
        Ok(())
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[i64]) -> Distribution {
        let mut all = Distribution::signed();
        for value in values {
            all.record(*value);
        }
        all
    }

    #[test]
    fn nothing_recorded_has_no_statistics() {
        assert_eq!(Distribution::new().moments(), None);
        assert_eq!(Distribution::new().percentile(50.0), None);
    }

    #[test]
    fn small_values_are_exact() {
        let some = of(&[5, 1, 4, 2, 3]);
        let moments = some.moments().unwrap();
        assert_eq!((moments.min, moments.max, moments.mean), (1, 5, 3.0));
        assert!((moments.stddev.unwrap() - 2.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(some.percentile(50.0), Some(3));
        assert_eq!(some.percentile(100.0), Some(5));
    }

    #[test]
    fn a_summary_makes_no_percentile_up() {
        let mut all = Distribution::summary(10, 1, 3.0, 9).unwrap();
        assert_eq!((all.percentile(50.0), all.buckets().count()), (None, 0));
        all.merge(&of(&[1, 2, 30]));
        let moments = all.moments().unwrap();
        assert_eq!((moments.count, moments.min, moments.max), (13, 1, 30));
        assert!((moments.mean - 63.0 / 13.0).abs() < 1e-12);
        assert_eq!((moments.stddev, all.percentile(50.0)), (None, None));
        let mut other = of(&[1, 2, 30]);
        other.merge(&Distribution::summary(10, 1, 3.0, 9).unwrap());
        assert!(other.is_summary());
        assert!(Distribution::summary(1, 5, 5.0, 4).is_err());
        assert!(Distribution::summary(1, 5, 9.0, 6).is_err());
        assert!(Distribution::summary(1, 5, f64::NAN, 6).is_err());
    }

    #[test]
    fn a_percentile_needs_a_value_beyond_it() {
        let ten = of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(ten.supported_percentile(90.0), Some(9));
        assert_eq!(ten.supported_percentile(99.0), None);
        assert_eq!(ten.percentile(99.0), Some(10));
    }

    #[test]
    fn the_maximum_stays_exact_above_the_histogram() {
        let huge = 5 * signed(HIGHEST);
        assert_eq!(of(&[1, huge]).moments().unwrap().max, huge);
    }

    #[test]
    fn record_tells_a_new_maximum() {
        let mut some = Distribution::new();
        assert!(some.record(3) && !some.record(3) && some.record(4) && !some.record(1));
    }

    #[test]
    fn parts_that_contradict_each_other_are_refused() {
        let some = of(&[1, 2]);
        let moments = some.moments().unwrap();
        let refused = |moments| {
            Distribution::from_parts(some.histogram().clone(), None, Some(moments)).is_err()
        };
        assert!(!refused(moments));
        assert!(refused(Moments {
            count: 3,
            ..moments
        }));
        assert!(refused(Moments { min: 9, ..moments }));
        assert!(refused(Moments {
            mean: 9.0,
            ..moments
        }));
        assert!(refused(Moments {
            stddev: Some(-1.0),
            ..moments
        }));
        assert!(refused(Moments {
            stddev: None,
            ..moments
        }));
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_values(
            mut values in prop::collection::vec(-1_000_000_000_i64..1_000_000_000, 1..300),
            percent in 0.0..=100.0_f64,
        ) {
            let found = of(&values).percentile(percent).unwrap();
            values.sort_unstable();
            let rank = (values.len() as f64 * percent / 100.0).ceil() as usize;
            let exact = values[rank.clamp(1, values.len()) - 1];
            prop_assert!((found - exact).abs() as f64 <= exact.abs() as f64 * 0.001 + 0.5);
        }

        #[test]
        fn merged_is_as_recorded_together(
            one in prop::collection::vec(-1_000_000_i64..1_000_000, 0..100),
            two in prop::collection::vec(-1_000_000_i64..1_000_000, 0..100),
        ) {
            let mut merged = of(&one);
            merged.merge(&of(&two));
            let together = of(&[one, two].concat());
            prop_assert_eq!(merged.histogram(), together.histogram());
            prop_assert_eq!(merged.negative(), together.negative());
            match (merged.moments(), together.moments()) {
                (Some(merged), Some(together)) => {
                    prop_assert_eq!(merged.count, together.count);
                    prop_assert_eq!((merged.min, merged.max), (together.min, together.max));
                    prop_assert!((merged.mean - together.mean).abs() < 1e-6);
                    let deviation = |moments: Moments| moments.stddev.unwrap();
                    prop_assert!((deviation(merged) - deviation(together)).abs() < 1e-6);
                }
                (merged, together) => prop_assert_eq!(merged, together),
            }
        }
    }
}
