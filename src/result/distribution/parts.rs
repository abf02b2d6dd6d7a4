// SPDX-License-Identifier: GPL-2.0-only
//! A distribution from what a file holds: histograms and statistics that must belong together.

use super::{COUNT_MAX, Distribution, Inconsistent, Moments, signed};
use crate::beyond::Beyond;
use hdrhistogram::Histogram;

impl Distribution {
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
}
