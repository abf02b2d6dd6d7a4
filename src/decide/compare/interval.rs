// SPDX-License-Identifier: GPL-2.0-only
//! How certain a ratio of two means is.
//!
//! Theory: Fieller's theorem (E. C. Fieller, "Some problems in interval estimation", Journal of
//! the Royal Statistical Society B 16, 1954), which T. Kalibera and R. Jones recommend for
//! ratios of benchmarks ("Quantifying performance changes with effect size confidence
//! intervals", 2012). The runs are independent and their means about normal; degrees of freedom
//! are Welch's and Satterthwaite's, the variances being unequal. Nothing is drawn at random, so
//! the same files give the same interval.

use distrs::StudentsT;
use serde::Serialize;

/// The method, by the name that every output gives.
pub const METHOD: &str = "interval of the ratio of the runs' means (Fieller 1954)";

/// Probability that the interval holds the ratio.
pub const CONFIDENCE: f64 = 0.95;

/// A ratio lies between these.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// A mean and how certain it is.
#[derive(Clone, Copy)]
struct Mean {
    value: f64,
    /// Of the mean, not of the values.
    variance: f64,
    freedom: f64,
}

/// None with fewer than two values.
fn mean(values: &[f64]) -> Option<Mean> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let value = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
    Some(Mean {
        value,
        variance: squares / (count - 1.0) / count,
        freedom: count - 1.0,
    })
}

/// The ratio of the means of `ours` and `base`; none with fewer than two values of either, and
/// when the base's mean is 0.
pub fn of_means(ours: &[f64], base: &[f64]) -> Option<f64> {
    let (ours, base) = (mean(ours)?, mean(base)?);
    Some(ours.value / base.value).filter(|ratio| ratio.is_finite())
}

/// Where that ratio is likely to lie. None also when the base's mean cannot be distinguished
/// from 0: the ratio may then be anything.
pub fn fieller(ours: &[f64], base: &[f64]) -> Option<Interval> {
    let never_negative = ours.iter().chain(base).all(|value| *value >= 0.0);
    let ratio = of_means(ours, base)?;
    let (ours, base) = (mean(ours)?, mean(base)?);
    // The variance of `ours - ratio * base`, which the theorem rests on.
    let (first, second) = (ours.variance, ratio * ratio * base.variance);
    if first + second == 0.0 {
        return Some(Interval {
            low: ratio,
            high: ratio,
        });
    }
    let freedom =
        (first + second).powi(2) / (first * first / ours.freedom + second * second / base.freedom);
    let t = StudentsT::ppf(f64::midpoint(1.0, CONFIDENCE), freedom.max(1.0));
    let t_squared = t * t;
    let g = t_squared * base.variance / (base.value * base.value);
    if g.is_nan() || g >= 1.0 {
        return None;
    }
    let half = t / base.value.abs() * (first * (1.0 - g) + second).sqrt();
    let low = (ratio - half) / (1.0 - g);
    let interval = Interval {
        low: if never_negative { low.max(0.0) } else { low },
        high: (ratio + half) / (1.0 - g),
    };
    (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn near(one: f64, other: f64) {
        assert!(
            (one - other).abs() < 5e-4 * other.abs(),
            "{one} is not {other}"
        );
    }

    #[test]
    fn a_sure_base_gives_students_interval() {
        // 10 +- t(0.975, 4) * sqrt(2.5 / 5), and t is 2.7764 in every table.
        let interval = fieller(&[8.0, 9.0, 10.0, 11.0, 12.0], &[1.0; 5]).unwrap();
        near(interval.low, 10.0 - 2.7764 * 0.5_f64.sqrt());
        near(interval.high, 10.0 + 2.7764 * 0.5_f64.sqrt());
    }

    #[test]
    fn the_bounds_solve_the_theorems_equation() {
        let (ours, base) = ([8.0, 9.5, 10.0, 12.0], [4.0, 5.0, 5.5, 6.0, 4.5]);
        let interval = fieller(&ours, &base).unwrap();
        let (a, b) = (mean(&ours).unwrap(), mean(&base).unwrap());
        // At both bounds ours - bound * base lies as many standard deviations from 0.
        let t = |bound: f64| {
            (a.value - bound * b.value).abs() / (a.variance + bound * bound * b.variance).sqrt()
        };
        near(t(interval.low), t(interval.high));
        assert!(t(interval.low) > 2.3 && t(interval.low) < 3.2);
    }

    #[test]
    fn equal_runs_leave_no_doubt() {
        let interval = fieller(&[6.0, 6.0], &[3.0, 3.0]).unwrap();
        assert_eq!((interval.low, interval.high), (2.0, 2.0));
    }

    #[test]
    fn too_little_is_known_of_one_run_and_of_a_base_around_zero() {
        assert_eq!(fieller(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(fieller(&[1.0, 2.0], &[0.0, 0.0]), None);
        assert_eq!(fieller(&[1.0, 2.0], &[0.0, 9.0]), None);
    }

    proptest! {
        #[test]
        fn the_ratio_lies_within(
            ours in prop::collection::vec(0.0..1e6_f64, 2..8),
            base in prop::collection::vec(0.0..1e6_f64, 2..8),
        ) {
            if let Some(interval) = fieller(&ours, &base) {
                let ratio = of_means(&ours, &base).unwrap();
                let slack = 1e-9 * ratio.abs();
                prop_assert!(interval.low <= ratio + slack && ratio <= interval.high + slack);
                prop_assert!(interval.low >= 0.0);
            }
        }

        #[test]
        fn no_values_make_it_panic(
            ours in prop::collection::vec(any::<f64>(), 0..5),
            base in prop::collection::vec(any::<f64>(), 0..5),
        ) {
            let _ = fieller(&ours, &base);
        }
    }
}
