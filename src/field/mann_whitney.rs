// SPDX-License-Identifier: GPL-2.0-only
//! Whether one group of values tends to be larger than another, whatever their law.
//!
//! Theory: H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is
//! stochastically larger than the other", 1947; the variance with ties as E. L. Lehmann,
//! "Nonparametrics", 1975, section 1.2. Of many questions asked at once S. Holm, "A simple
//! sequentially rejective multiple test procedure", 1979, keeps the chance of any wrong yes.
//! Latencies of machines spread over decades, so that a mean would be that of the worst machine.

use artis_decide::special::normal_above;

/// The probability that groups of one law differ as much; none where that cannot be told: the
/// normal law stands for the ranks' only from some values in each on.
pub fn two_sided(ours: &[f64], others: &[f64]) -> Option<f64> {
    const EACH_MIN: usize = 5;
    if ours.len() < EACH_MIN || others.len() < EACH_MIN {
        return None;
    }
    let mut all: Vec<(f64, bool)> = ours
        .iter()
        .map(|value| (*value, true))
        .chain(others.iter().map(|value| (*value, false)))
        .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut rank_sum, mut ties, mut at) = (0.0, 0.0, 0);
    while at < all.len() {
        let alike = all[at..]
            .iter()
            .take_while(|one| one.0 == all[at].0)
            .count();
        // All of them have the mean of their ranks, which begin at 1.
        let rank = at as f64 + (alike as f64 + 1.0) / 2.0;
        let ours_here = all[at..at + alike].iter().filter(|one| one.1).count();
        rank_sum += rank * ours_here as f64;
        ties += (alike as f64).powi(3) - alike as f64;
        at += alike;
    }
    let (m, n) = (ours.len() as f64, others.len() as f64);
    let sum = m + n;
    let u = rank_sum - m * (m + 1.0) / 2.0;
    let variance = m * n / 12.0 * (sum + 1.0 - ties / (sum * (sum - 1.0)));
    if variance <= 0.0 {
        return Some(1.0);
    }
    // Half a step, because ranks are whole.
    let z = ((u - m * n / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    Some(2.0 * normal_above(z))
}

/// Which of these probabilities are significant together at this level.
pub fn significant(all: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|one, other| all[*one].total_cmp(&all[*other]));
    let mut found = vec![false; all.len()];
    for (step, at) in order.iter().enumerate() {
        if all[*at] > level / (all.len() - step) as f64 {
            break;
        }
        found[*at] = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.mannwhitneyu(x, y, method="asymptotic").pvalue`: the U and its variance follow
    /// by hand, U = 0 of 25, variance 5 * 5 * 11 / 12, z = 12 / 4.787 = 2.507.
    #[test]
    fn groups_apart_are_found_and_equal_ones_are_not() {
        let low = [1.0, 2.0, 3.0, 4.0, 5.0];
        let high = [6.0, 7.0, 8.0, 9.0, 10.0];
        let p = two_sided(&low, &high).unwrap();
        assert!((p - 0.012_186).abs() < 1e-5, "{p}");
        assert_eq!(two_sided(&high, &low), Some(p));
        assert!(two_sided(&low, &low).unwrap() > 0.9);
        assert_eq!(two_sided(&[1.0; 5], &[1.0; 9]), Some(1.0));
        assert_eq!(two_sided(&low[1..], &high), None);
    }

    #[test]
    fn many_questions_need_stronger_answers() {
        for (all, expected) in [
            (vec![0.04], vec![true]),
            (vec![0.04, 0.9], vec![false, false]),
            (vec![0.9, 0.01, 0.04], vec![false, true, false]),
            (vec![0.01, 0.02], vec![true, true]),
            (vec![], vec![]),
        ] {
            assert_eq!(significant(&all, 0.05), expected, "{all:?}");
        }
    }
}
