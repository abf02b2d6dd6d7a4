// SPDX-License-Identifier: GPL-2.0-only
//! Whether block maxima are what laws of extremes are for: independent values of one cause that
//! stays the same.
//!
//! Each test gives the probability that such values look as uneven by chance. All work on ranks,
//! so that no law is assumed.

use crate::special::{normal_above, normal_quantile};

/// Lags of the test of independence: what comes back every twentieth block is found.
const LAGS: usize = 20;

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    while at < order.len() {
        let same = order[at..]
            .iter()
            .take_while(|index| values[**index] == values[order[at]])
            .count();
        let rank = at as f64 + f64::midpoint(1.0, same as f64);
        for index in &order[at..at + same] {
            ranks[*index] = rank;
        }
        at += same;
    }
    ranks
}

/// The two-sided probability of a value of the standard normal law.
fn two_sided(z: f64) -> f64 {
    2.0 * normal_above(z.abs())
}

/// Values do not grow or shrink in time: Spearman's rank correlation with time.
pub fn no_trend(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let ranks = ranks(values);
    let middle = f64::midpoint(count, 1.0);
    let (mut product, mut squares, mut times) = (0.0, 0.0, 0.0);
    for (at, rank) in ranks.iter().enumerate() {
        let time = at as f64 + 1.0 - middle;
        product += time * (rank - middle);
        squares += (rank - middle).powi(2);
        times += time * time;
    }
    if squares == 0.0 {
        return 1.0;
    }
    let correlation = product / (squares * times).sqrt();
    two_sided(correlation * (count - 1.0).sqrt())
}

/// Their spread does not either: the same of the distances from the median.
pub fn no_trend_of_spread(values: &[f64]) -> f64 {
    let mut ascending = values.to_vec();
    ascending.sort_by(f64::total_cmp);
    let median = ascending[ascending.len() / 2];
    let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    no_trend(&distances)
}

/// No value says anything about a later one: the largest correlation of normal scores (B. L. van
/// der Waerden, 1952) over all lags, with Bonferroni's correction for their number.
pub fn independent(values: &[f64]) -> f64 {
    let count = values.len();
    let ranks = ranks(values);
    let scores: Vec<f64> = ranks
        .iter()
        .map(|rank| normal_quantile(rank / (count as f64 + 1.0)))
        .collect();
    let squares: f64 = scores.iter().map(|it| it * it).sum();
    let lags = LAGS.min(count / 5);
    if squares == 0.0 || lags == 0 {
        return 1.0;
    }
    let z = |lag: usize| {
        let pairs = scores.iter().zip(&scores[lag..]);
        let product: f64 = pairs.map(|(one, other)| one * other).sum();
        // About normal, with this variance.
        product / squares * count as f64 / ((count - lag) as f64).sqrt()
    };
    let largest = (1..=lags).map(|lag| z(lag).abs()).fold(0.0, f64::max);
    (two_sided(largest) * lags as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    /// The part of samples of independent values that a test rejects at 1 %.
    fn rejected(test: fn(&[f64]) -> f64) -> f64 {
        let mut random = Random(7);
        let samples = 1000;
        let all = (0..samples).filter(|_| {
            let values: Vec<f64> = (0..100).map(|_| random.uniform()).collect();
            test(&values) < 0.01
        });
        all.count() as f64 / f64::from(samples)
    }

    #[test]
    fn tests_reject_as_often_as_they_say() {
        for test in [no_trend, no_trend_of_spread, independent] {
            let part = rejected(test);
            assert!((0.003..=0.02).contains(&part), "{part}");
        }
    }

    #[test]
    fn what_they_are_for_is_found() {
        let mut random = Random(3);
        let noise: Vec<f64> = (0..200).map(|_| random.normal()).collect();
        let with = |change: &dyn Fn(usize, f64) -> f64| {
            let all = noise.iter().enumerate();
            all.map(|(at, value)| change(at, *value))
                .collect::<Vec<_>>()
        };
        assert!(no_trend(&noise) > 0.05 && independent(&noise) > 0.05);
        assert!(no_trend(&with(&|at, value| value + at as f64 / 60.0)) < 1e-6);
        assert!(no_trend_of_spread(&with(&|at, value| value * (1.0 + at as f64 / 50.0))) < 1e-6);
        let periodic = with(&|at, value| if at % 10 == 0 { value + 6.0 } else { value });
        assert!(independent(&periodic) < 0.01);
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
    }
}
