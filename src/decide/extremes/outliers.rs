// SPDX-License-Identifier: GPL-2.0-only
//! Whether the largest values belong to the law of the others.
//!
//! Under the right law, -ln of the probability above a value is exponential, and so are the
//! distances between the largest ones of them, each times its rank (A. Renyi, "On the theory of
//! order statistics", 1953). The distances of the largest j sum up to what the j values exceed the
//! next one by: a gamma law of order j. The law is fitted without them, so that they cannot hide
//! behind a shape that they made themselves (V. Barnett and T. Lewis, "Outliers in Statistical
//! Data", 1994, call that masking).

use super::gpd::{Fit, Gpd};
use super::largest::Largest;
use crate::special::gamma_above;

/// How many of the largest are held against the others.
const COUNTS: [usize; 7] = [1, 2, 3, 5, 8, 13, 20];
/// The fitted law is uncertain: the one of these around it counts that explains them best, this
/// many standard deviations away (95 %, one-sided).
const RADIUS: f64 = 1.645;

/// Smaller probabilities mean nothing.
const LEAST: f64 = 1e-15;

/// Values that are too far from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outliers {
    pub count: usize,
    /// The probability of values as far away by chance.
    pub p: f64,
}

/// The fewest that are less likely than `limit` to be as far away by chance. None where all belong
/// to the others, or where there are too few others.
pub fn found(all: &Largest, limit: f64) -> Option<Outliers> {
    let values = &all.ascending;
    let mut tried = COUNTS.iter().filter(|count| **count * 4 < values.len());
    tried.find_map(|&count| {
        let rest = values.len() - count;
        let law = Fit::new(all.threshold, values, count)?.law;
        let beyond = |law: Gpd| {
            let next = law.depth(values[rest - 1]);
            let sum: f64 = values[rest..].iter().map(|it| law.depth(*it) - next).sum();
            sum
        };
        let least = law
            .around(rest, RADIUS)
            .map(beyond)
            .fold(f64::INFINITY, f64::min);
        // Beyond the end of a bounded law, no value is possible.
        let p = match least.is_finite() {
            true => gamma_above(count, least.max(1e-9)).max(LEAST),
            false => LEAST,
        };
        (p < limit).then_some(Outliers { count, p })
    })
}
