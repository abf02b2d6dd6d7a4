// SPDX-License-Identifier: GPL-2.0-only
//! From the counted buckets of a foreign histogram to a distribution.
//!
//! Decided here, for all formats:
//! - A bucket counts as its value (other programs cut their values down to whole units, and so
//!   do their statistics); in buckets wider than one unit as their lower edge, but for one
//!   value at the known maximum.
//! - Minimum, mean and maximum of the file are checked against the histogram. The minimum and
//!   the maximum are the file's. The mean is computed from the histogram, which is exact to the
//!   unit; where the histogram is too coarse (overflows, wide buckets) it is the nearest that
//!   the file's rounded one allows.
//! - Overflows, the values beyond the last bucket, count as the maximum that the file gives, and
//!   are kept as such ([`crate::beyond`]): percentiles among them are not known, and a warning
//!   says so. Without a known maximum the file is refused.
//! - The standard deviation is always that of the histogram.

use super::TimeUnit;
use crate::distribution::{COUNT_MAX, Moments};
use crate::histogram::VALUE_MAX;
use crate::{Beyond, Distribution, Piece, Warning};

/// The usual width of buckets, which needs no warning.
const NS_PER_US: u64 = 1000;

/// How much memory the histograms of one file may take.
pub struct Budget {
    left_bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            left_bytes: 1 << 30,
        }
    }
}

impl Budget {
    /// Takes the memory of a distribution into account.
    pub fn take(&mut self, distribution: &Distribution) -> Result<(), String> {
        self.left_bytes = self
            .left_bytes
            .checked_sub(distribution.histogram_bytes())
            .ok_or("the histograms up to here take more than 1 GB; split the file")?;
        Ok(())
    }
}

/// Between which two a mean is that was rounded to two decimals.
pub fn rounded(mean: f64) -> (f64, f64) {
    (mean - 0.005, mean + 0.005)
}

/// Between which two a mean is that was cut down to a whole unit.
pub fn cut_down(mean: u64) -> (f64, f64) {
    (mean as f64, mean as f64 + 0.999)
}

/// One histogram as a foreign file gives it, in the file's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    pub unit: TimeUnit,
    /// Lower edge and count, ascending, without empty ones.
    pub buckets: Vec<(u64, u64)>,
    /// How wide a bucket is, in units.
    pub width: u64,
    /// Values beyond the last bucket.
    pub overflows: u64,
    /// Where those begin; none where the file does not give its empty buckets: behind the last
    /// one that counts.
    pub end: Option<u64>,
    pub min: Option<u64>,
    /// Between which two the mean is; files round it or cut it down.
    pub mean: Option<(f64, f64)>,
    pub max: Option<u64>,
}

impl Tally {
    /// A tally without values.
    pub fn new(unit: TimeUnit) -> Self {
        Self {
            unit,
            buckets: Vec::new(),
            width: 1,
            overflows: 0,
            end: None,
            min: None,
            mean: None,
            max: None,
        }
    }

    /// Values in the buckets; none when there are more than a run can have.
    pub fn counted(&self) -> Option<u64> {
        let mut counts = self.buckets.iter().map(|(_, count)| *count);
        let total = counts.try_fold(0, u64::checked_add);
        total.filter(|total| *total <= COUNT_MAX)
    }

    /// The distribution of it.
    ///
    /// # Errors
    /// How the file contradicts itself, or what it lacks.
    pub fn distribution(&self, budget: &mut Budget) -> Result<Distribution, String> {
        let total = self
            .counted()
            .and_then(|counted| counted.checked_add(self.overflows))
            .filter(|total| *total <= COUNT_MAX)
            .ok_or("it counts more values than a run can have")?;
        if total == 0 {
            return Ok(Distribution::new());
        }
        let max = self.checked_max()?;
        let mut values = self.recorded(max, budget)?;
        if let Some(moments) = values.moments() {
            let moments = self.checked_moments(moments)?;
            let (positive, negative) = values.into_histograms();
            values = Distribution::from_parts(positive, negative, Some(moments))
                .and_then(|values| values.with_beyond(self.beyond(max)))
                .map_err(|error| error.to_string())?;
        }
        Ok(values)
    }

    /// The overflows as the distribution keeps them.
    fn beyond(&self, max: u64) -> Beyond {
        let ns = |value: u64| i64::try_from(value.saturating_mul(self.unit.ns()));
        let behind = |(last, _): &(u64, u64)| last.saturating_add(self.width);
        let from = self.end.or(self.buckets.last().map(behind)).unwrap_or(0);
        Beyond::of(Piece {
            count: self.overflows,
            from: ns(from.min(max)).unwrap_or(i64::MAX),
            max: ns(max).unwrap_or(i64::MAX),
        })
    }

    /// The maximum, in units.
    fn checked_max(&self) -> Result<u64, String> {
        let last = self.buckets.last().map_or(0, |(value, _)| *value);
        let max = match self.max {
            Some(max) => max,
            None if self.overflows > 0 => {
                return Err(format!(
                    "{} values lie beyond the last bucket, and the file does not say how far; measure again with a larger \
                     histogram",
                    self.overflows
                ));
            }
            None => last,
        };
        if max
            .checked_mul(self.unit.ns())
            .is_none_or(|ns| ns > VALUE_MAX)
        {
            return Err(format!("a maximum of {max} is out of range"));
        }
        if max < last {
            return Err(format!(
                "max is {max}, but the histogram counts values at {last}"
            ));
        }
        if self.overflows == 0 && max - last >= self.width {
            return Err(format!(
                "max is {max}, but the highest bucket that counts a value is {last}, and no overflow is counted"
            ));
        }
        Ok(max)
    }

    fn recorded(&self, max: u64, budget: &mut Budget) -> Result<Distribution, String> {
        let ns = |value: u64| value.saturating_mul(self.unit.ns());
        let last = self.buckets.last().map_or(0, |(value, _)| *value);
        let width_ns = self.unit.ns().saturating_mul(self.width);
        let mut values = Distribution::for_multiples(width_ns, ns(last), ns(max));
        budget.take(&values)?;
        let signed = |value: u64| i64::try_from(ns(value)).unwrap_or(i64::MAX);
        for (value, count) in &self.buckets {
            // The minimum may lie within its bucket.
            let at = (*value).max(
                self.min
                    .unwrap_or(0)
                    .min(value.saturating_add(self.width - 1)),
            );
            let at_max = u64::from(*value == last && self.overflows == 0);
            values.record_n(signed(at.min(max)), count - at_max);
            values.record_n(signed(max), at_max);
        }
        values.record_n(signed(max), self.overflows);
        Ok(values)
    }

    /// The statistics, after a check of the file's against those of the histogram.
    fn checked_moments(&self, mut moments: Moments) -> Result<Moments, String> {
        let unit = self.unit.ns() as f64;
        let first = self.buckets.first().map(|(value, _)| *value);
        if let Some(min) = self.min {
            let edge = first.unwrap_or(u64::MAX);
            if edge.checked_add(self.width).is_some_and(|end| min >= end) {
                return Err(format!(
                    "min is {min}, but the histogram counts values at {edge}"
                ));
            }
            moments.min = moments
                .min
                .min(i64::try_from(min * self.unit.ns()).unwrap_or(i64::MAX));
        }
        let Some((low, high)) = self.mean.map(|(low, high)| (low * unit, high * unit)) else {
            return Ok(moments);
        };
        let given = (low + high) / 2.0 / unit;
        let (min, max) = (moments.min as f64, moments.max as f64);
        if !(high >= min && low <= max) {
            return Err(format!("the average {given:.2} is not between min and max"));
        }
        if self.overflows > 0 || self.width > 1 {
            moments.mean = moments.mean.max(low).min(high).clamp(min, max);
            return Ok(moments);
        }
        // artis' own files give a mean that is finer than their histogram.
        let slack = 2.0 * unit + 0.002 * moments.mean;
        if !(low - slack..=high + slack).contains(&moments.mean) {
            return Err(format!(
                "the average is {given:.2}, but that of the histogram {:.2}",
                moments.mean / unit
            ));
        }
        Ok(moments)
    }

    /// What is to be said of the series called `name`.
    pub fn warnings(&self, name: &str) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let unit = match self.unit {
            TimeUnit::Nanoseconds => "ns",
            TimeUnit::Microseconds => "us",
        };
        if let (1.., Some(max)) = (self.overflows, self.max) {
            let end = self.end.map(|end| format!("; it ends at {end} {unit}"));
            warnings.push(Warning {
                id: "histogram_overflow".to_owned(),
                seen: format!(
                    "{name}: values beyond the histogram: {}, each counted as the maximum, {max} \
                     {unit}{}",
                    self.overflows,
                    end.unwrap_or_default()
                ),
                why: "percentiles among them are not known, and the standard deviation may be too high"
                    .to_owned(),
                fix: Some("measure again with a larger histogram".to_owned()),
            });
        }
        if self.width > 1
            && self.width.saturating_mul(self.unit.ns()) > NS_PER_US
            && !self.buckets.is_empty()
        {
            warnings.push(Warning {
                id: "wide_buckets".to_owned(),
                seen: format!(
                    "{name}: buckets are up to {} {unit} wide; values count as their lower edge",
                    self.width
                ),
                why: "percentiles may be too low by the width of a bucket".to_owned(),
                fix: Some("measure again with a bucket size of 1".to_owned()),
            });
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        Tally {
            buckets: vec![(3, 2), (5, 1)],
            min: Some(3),
            mean: Some((3.66, 3.67)),
            max: Some(5),
            ..Tally::new(TimeUnit::Microseconds)
        }
    }

    fn refused(tally: &Tally) -> String {
        tally.distribution(&mut Budget::default()).unwrap_err()
    }

    fn moments(tally: &Tally) -> Moments {
        let values = tally.distribution(&mut Budget::default()).unwrap();
        values.moments().unwrap()
    }

    #[test]
    fn values_are_whole_units() {
        let values = tally().distribution(&mut Budget::default()).unwrap();
        let moments = values.moments().unwrap();
        assert_eq!((moments.count, moments.min, moments.max), (3, 3000, 5000));
        assert!((moments.mean - 11_000.0 / 3.0).abs() < 1e-6);
        let units: Vec<i64> = values.buckets().map(|(value, _)| value / 1000).collect();
        assert_eq!(units, [3, 5]);
    }

    #[test]
    fn overflows_count_as_the_maximum_with_a_warning() {
        let over = Tally {
            overflows: 2,
            max: Some(900),
            mean: Some((200.0, 201.0)),
            ..tally()
        };
        let values = over.distribution(&mut Budget::default()).unwrap();
        assert_eq!(values.count(), 5);
        assert_eq!(values.percentile(70.0), None);
        assert_eq!(values.beyond().from(), Some(6000));
        assert_eq!(values.moments().unwrap().mean, 201_000.0);
        assert!(over.warnings("latency")[0].seen.contains("histogram: 2,"));
        assert!(refused(&Tally { max: None, ..over }).contains("does not say how far"));
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(
            refused(&Tally {
                min: Some(4),
                ..tally()
            })
            .contains("min is 4")
        );
        assert!(
            refused(&Tally {
                max: Some(4),
                ..tally()
            })
            .contains("max is 4")
        );
        assert!(
            refused(&Tally {
                max: Some(9),
                ..tally()
            })
            .contains("no overflow")
        );
        assert!(
            refused(&Tally {
                mean: Some((9.0, 9.0)),
                ..tally()
            })
            .contains("between")
        );
        assert!(
            refused(&Tally {
                overflows: u64::MAX,
                ..tally()
            })
            .contains("than a run can have")
        );
        let spread = Tally {
            buckets: vec![(1, 1), (101, 1)],
            min: None,
            max: None,
            mean: Some((9.0, 9.0)),
            ..tally()
        };
        assert!(refused(&spread).contains("that of the histogram 51.00"));
    }

    #[test]
    fn in_wide_buckets_the_extremes_are_the_files() {
        let wide = Tally {
            buckets: vec![(0, 4), (10, 3)],
            width: 10,
            min: Some(7),
            mean: Some((9.0, 9.0)),
            max: Some(12),
            ..tally()
        };
        let moments = moments(&wide);
        assert_eq!(
            (moments.min, moments.max, moments.mean),
            (7000, 12_000, 9000.0)
        );
        assert_eq!(wide.warnings("latency")[0].id, "wide_buckets");
    }

    #[test]
    fn microseconds_stay_apart_up_to_a_hundred_milliseconds() {
        let all = Tally {
            buckets: (99_000..100_000).map(|value| (value, 1)).collect(),
            min: None,
            max: None,
            mean: None,
            ..tally()
        };
        let values = all.distribution(&mut Budget::default()).unwrap();
        let units: Vec<u64> = values
            .buckets()
            .map(|(value, _)| value as u64 / 1000)
            .collect();
        assert_eq!(units, (99_000..100_000).collect::<Vec<u64>>());
    }

    #[test]
    fn memory_is_bounded() {
        let huge = Tally {
            buckets: vec![(1, 1), (VALUE_MAX / 1000, 1)],
            min: None,
            max: None,
            mean: None,
            ..tally()
        };
        let mut budget = Budget::default();
        let taken = (0..1000).take_while(|_| huge.distribution(&mut budget).is_ok());
        assert!(taken.count() < 100);
    }
}
