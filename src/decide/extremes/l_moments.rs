// SPDX-License-Identifier: GPL-2.0-only
//! L-moments of a sample: its location, spread and skewness from sums of ordered values. They are
//! less shaken by single values than ordinary moments.
//!
//! J. R. M. Hosking, "L-moments: analysis and estimation of distributions using linear
//! combinations of order statistics", 1990.

/// The first two L-moments, and the third relative to the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LMoments {
    pub mean: f64,
    pub scale: f64,
    pub skewness: f64,
}

/// Of ascending values; none with fewer than three, or when all are equal.
pub fn of(ascending: &[f64]) -> Option<LMoments> {
    let count = ascending.len() as f64;
    if ascending.len() < 3 {
        return None;
    }
    let (mut b0, mut b1, mut b2) = (0.0, 0.0, 0.0);
    for (rank, value) in ascending.iter().enumerate() {
        let rank = rank as f64;
        b0 += value;
        b1 += value * rank / (count - 1.0);
        b2 += value * rank * (rank - 1.0) / ((count - 1.0) * (count - 2.0));
    }
    let (b0, b1, b2) = (b0 / count, b1 / count, b2 / count);
    let scale = 2.0 * b1 - b0;
    (scale > 0.0).then(|| LMoments {
        mean: b0,
        scale,
        skewness: (6.0 * b2 - 6.0 * b1 + b0) / scale,
    })
}
