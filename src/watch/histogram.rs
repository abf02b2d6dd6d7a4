// SPDX-License-Identifier: GPL-2.0-only
//! Histograms of the light watch: a fixed number of buckets, each at most an eighth of its values
//! wide.
//!
//! Figures are upper edges of buckets, so that nothing is said to be better than it was.

use crate::constants::{BUCKETS, FIRST, LAST, SUB, SUB_BITS};

/// How often each length of time came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    /// The longest, to the nanosecond.
    pub max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new(&[], 0)
    }
}

/// The values of a bucket are below this.
pub(crate) fn end_ns(bucket: u32) -> u64 {
    let (power, part) = (bucket / SUB, u64::from(bucket % SUB));
    match power {
        0 => (part + 1) << (FIRST - SUB_BITS),
        power => {
            let shift = FIRST + power - 1 - SUB_BITS;
            (u64::from(SUB) + part + 1) << shift
        }
    }
}

/// Where the values of a bucket begin.
pub(crate) fn begin_ns(bucket: u32) -> u64 {
    match bucket {
        0 => 0,
        bucket => end_ns(bucket - 1),
    }
}

/// What is not below it is in the last bucket all the same.
pub const MOST_NS: u64 = 1 << (LAST + 1);

impl Histogram {
    /// Of the program's counts.
    pub fn new(counts: &[u64], max_ns: u64) -> Self {
        let mut all = vec![0; BUCKETS as usize];
        for (to, from) in all.iter_mut().zip(counts) {
            *to = *from;
        }
        Self {
            counts: all,
            max_ns,
        }
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The value that this share of all is not above; none without values. At most the longest.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        // A count beyond 2^53 is that of centuries.
        let wanted = ((count as f64 * share).ceil() as u64).clamp(1, count);
        let mut so_far = 0;
        let at = self.counts.iter().position(|one| {
            so_far += one;
            so_far >= wanted
        });
        let end = end_ns(u32::try_from(at?).ok()?);
        Some(end.min(self.max_ns))
    }

    /// How many are certainly below this: all that are, where a bucket ends there.
    pub fn count_below(&self, ns: u64) -> u64 {
        let buckets = (0..).zip(&self.counts);
        let below = buckets.take_while(|(bucket, _)| end_ns(*bucket) <= ns);
        below.map(|(_, count)| count).sum()
    }

    /// The sum of all values, within half of their buckets.
    pub fn sum_ns(&self) -> u64 {
        let buckets = (0..).zip(&self.counts).filter(|(_, count)| **count > 0);
        let middle = |bucket| (begin_ns(bucket) + end_ns(bucket)) / 2;
        buckets.fold(0, |sum: u64, (bucket, count)| {
            sum.saturating_add(middle(bucket).saturating_mul(*count))
        })
    }

    /// The buckets that have values: where each begins and ends, and how many it has.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let buckets = (0..).zip(&self.counts).filter(|(_, count)| **count > 0);
        buckets.map(|(bucket, count)| (begin_ns(bucket), end_ns(bucket), *count))
    }

    /// Adds what another one has.
    pub fn add(&mut self, other: &Self) {
        for (to, from) in self.counts.iter_mut().zip(&other.counts) {
            *to += from;
        }
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut counts = vec![0; BUCKETS as usize];
        for value in values {
            let fits = |bucket: &u32| *value < end_ns(*bucket);
            let bucket = (0..BUCKETS).find(fits).unwrap_or(BUCKETS - 1);
            counts[bucket as usize] += 1;
        }
        Histogram::new(&counts, values.iter().copied().max().unwrap_or(0))
    }

    #[test]
    fn buckets_follow_each_other_and_are_an_eighth_wide_at_most() {
        assert_eq!(begin_ns(0), 0);
        assert_eq!(end_ns(BUCKETS - 1), MOST_NS);
        for bucket in 0..BUCKETS {
            let width = end_ns(bucket) - begin_ns(bucket);
            assert!(width >= 128, "{bucket}");
            assert!(width <= 128 || width * 8 <= begin_ns(bucket), "{bucket}");
        }
    }

    #[test]
    fn a_quantile_is_no_better_than_the_values_and_no_worse_than_the_worst() {
        let values: Vec<u64> = (1..=1000).map(|n| n * 100).collect();
        let histogram = of(&values);
        assert_eq!(histogram.count(), 1000);
        for (share, exact) in [(0.5, 50_000), (0.99, 99_000), (0.999, 99_900)] {
            let at = histogram.quantile_ns(share).unwrap();
            assert!(at >= exact && at <= exact + exact / 8, "{share}: {at}");
        }
        assert_eq!(histogram.quantile_ns(1.0), Some(100_000));
        assert_eq!(of(&[]).quantile_ns(0.5), None);
    }

    #[test]
    fn what_may_be_on_either_side_of_an_edge_is_not_below_it() {
        let histogram = of(&[1_000, 1_024, 50_000, 200_000]);
        assert_eq!(histogram.count_below(1_024), 1);
        assert_eq!(histogram.count_below(1 << 16), 3);
        // Within the bucket of 50,000.
        assert_eq!(histogram.count_below(50_001), 2);
        assert_eq!(histogram.count_below(MOST_NS), 4);
    }

    #[test]
    fn two_are_one() {
        let mut both = of(&[1, 2_000]);
        both.add(&of(&[3_000_000]));
        assert_eq!((both.count(), both.max_ns), (3, 3_000_000));
        let sum = both.sum_ns();
        assert!((2_800_000..3_200_000).contains(&sum), "{sum}");
    }
}
