// SPDX-License-Identifier: GPL-2.0-only
//! What so many misses among so many activations say about the probability of a miss.
//!
//! Theory: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits
//! illustrated in the case of the binomial", 1934. Without a miss the bound is 1 - 0.05^(1/n),
//! about 3/n: the rule of three.

use super::{CONFIDENCE, Estimate, root};
use crate::special::beta_below;

/// The probability of a miss: the part that missed, and the exact interval.
///
/// # Panics
/// Never; `activations` of 0 gives an interval from 0 to 1.
pub fn interval(misses: u64, activations: u64) -> Estimate {
    let rest = (1.0 - CONFIDENCE) / 2.0;
    let value = match activations {
        0 => 0.0,
        _ => misses as f64 / activations as f64,
    };
    Estimate {
        value,
        low: match misses {
            0 => 0.0,
            // At least so many misses have the probability `rest` there.
            _ => at_least(misses, activations, rest),
        },
        high: upper(misses, activations, 1.0 - rest),
    }
}

/// A probability that the true one does not exceed, with this confidence (one-sided).
pub fn upper(misses: u64, activations: u64, confidence: f64) -> f64 {
    let rest = 1.0 - confidence;
    if misses >= activations {
        return 1.0;
    }
    if misses == 0 {
        // 1 - rest^(1/n), without losing the digits of a small one.
        return -(rest.ln() / activations as f64).exp_m1();
    }
    at_least(misses + 1, activations, confidence)
}

/// The probability of a single miss for which `misses` or more come with probability `level`.
fn at_least(misses: u64, activations: u64, level: f64) -> f64 {
    let (a, b) = (misses as f64, (activations - misses) as f64 + 1.0);
    // On a logarithmic scale: the answer may be 1e-12.
    let at = |ln_p: f64| (ln_p, beta_below(a, b, ln_p.exp().min(1.0)) - level);
    let middle = at((a / (a + b)).ln());
    let is_above = middle.1 > 0.0;
    // The answer is a few standard deviations away at most. Nothing is above a probability of 1.
    let mut step = if is_above { -2.0 } else { 2.0 } / a.sqrt();
    let (mut near, mut far) = (middle, middle);
    while (far.1 > 0.0) == is_above && far.0 < 0.0 {
        near = far;
        far = at((far.0 + step).min(0.0));
        step *= 2.0;
    }
    root::crossing(near, far, 1e-9, at).exp()
}

/// How many activations without a miss show, with this confidence, that a miss has at most this
/// probability. None where no number does: a probability of 0.
pub fn activations_needed(probability: f64, confidence: f64) -> Option<u64> {
    if !(probability > 0.0 && confidence < 1.0) {
        return None;
    }
    let needed = (1.0 - confidence).ln() / (-probability).ln_1p();
    Some(needed.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(one: f64, other: f64) {
        assert!((one / other - 1.0).abs() < 1e-5, "{one:e}, not {other:e}");
    }

    /// `scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact")`, scipy 1.16.
    #[test]
    fn intervals_are_those_of_scipy() {
        for line in include_str!("data/binomial.txt").lines() {
            if line.starts_with('#') {
                continue;
            }
            let words: Vec<f64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let [misses, activations, low, high] = words[..] else {
                panic!("{line}");
            };
            let found = interval(misses as u64, activations as u64);
            if low > 0.0 {
                is(found.low, low);
            }
            is(found.high, high);
        }
    }

    /// The bound is where so many misses or more have the probability that was asked for.
    #[test]
    fn bounds_are_exact_for_few_and_for_many() {
        for activations in [1_u64, 2, 10, 1_000, 1_000_000, 100_000_000] {
            // Close to 1, a bound has fewer digits.
            let most = activations.min(1_000);
            for misses in [1, 2, 5, activations / 3, most - 1, most] {
                for level in [0.001, 0.025, 0.05, 0.5, 0.95, 0.975, 0.999] {
                    if !(1..=activations).contains(&misses) {
                        continue;
                    }
                    let p = at_least(misses, activations, level);
                    let (a, b) = (misses as f64, (activations - misses) as f64 + 1.0);
                    let around =
                        [1.0 - 1e-6, 1.0 + 1e-6].map(|one| beta_below(a, b, (p * one).min(1.0)));
                    let what = format!("{misses} of {activations}, {level}: {around:?}");
                    assert!(around[0] <= level && level <= around[1], "{what}");
                }
            }
        }
    }

    #[test]
    fn no_miss_follows_the_rule_of_three() {
        is(upper(0, 1_000_000, 0.95), 2.995_727_e-6);
        assert_eq!(activations_needed(1e-6, 0.95), Some(2_995_731));
        assert_eq!(activations_needed(0.0, 0.95), None);
        let needed = activations_needed(1e-9, 0.95).unwrap();
        assert!(upper(0, needed, 0.95) <= 1e-9 && upper(0, needed - 1_000_000, 0.95) > 1e-9);
    }

    #[test]
    fn all_missed_and_nothing_seen_are_bounded_too() {
        assert_eq!(interval(5, 5).high, 1.0);
        let nothing = interval(0, 0);
        assert_eq!((nothing.low, nothing.high), (0.0, 1.0));
    }
}
