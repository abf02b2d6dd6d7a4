// SPDX-License-Identifier: GPL-2.0-only
//! The generalised Pareto law, to which the values above a high threshold tend, whatever the law
//! of all values is.
//!
//! The shape's sign is that of Coles: positive is a heavy tail, negative a bounded one. Fits are
//! by likelihood, intervals by its profile (Coles, sections 4.3.2 and 4.3.3): the laws that are
//! about as likely as the best one are a region around it, and what they say at its edge is what
//! an interval ends at.

use super::minimum;
use serde::Serialize;
use std::f64::consts::TAU;

/// A shape nearer to 0 counts as 0: the exponential law.
const EXPONENTIAL: f64 = 1e-7;
/// Beyond these shapes the likelihood has no regular maximum, or the law no variance to speak of.
const SHAPES: std::ops::RangeInclusive<f64> = -0.99..=1.5;
/// Likelihoods that differ by less are equal.
const CLOSE: f64 = 1e-8;
/// Directions in which the edge of a region is sought.
const DIRECTIONS: u32 = 32;

/// The law of what exceeds the threshold by how much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gpd {
    pub threshold: f64,
    pub scale: f64,
    pub shape: f64,
}

impl Gpd {
    /// The probability that a value above the threshold is above `value`.
    pub fn exceedance(&self, value: f64) -> f64 {
        (-self.depth(value)).exp()
    }

    /// -ln of [`exceedance`](Self::exceedance): an exponential value, if the law is right.
    /// Infinite beyond the end of a bounded law.
    pub fn depth(&self, value: f64) -> f64 {
        let z = ((value - self.threshold) / self.scale).max(0.0);
        match self.shape.abs() < EXPONENTIAL {
            true => z,
            false => (self.shape * z).max(-1.0).ln_1p() / self.shape,
        }
    }

    /// The value that this part of the values above the threshold exceeds.
    pub fn quantile(&self, part: f64) -> f64 {
        let depth = -part.min(1.0).ln();
        let above = match self.shape.abs() < EXPONENTIAL {
            true => depth,
            false => (self.shape * depth).exp_m1() / self.shape,
        };
        self.threshold + self.scale * above
    }

    /// Laws around this one, as likely as the best one of `count` values is uncertain: `radius`
    /// standard deviations away (R. L. Smith, 1985, gives the covariance of ln scale and shape).
    pub fn around(&self, count: usize, radius: f64) -> impl Iterator<Item = Self> {
        let law = *self;
        let one = 1.0 + law.shape.max(-0.4);
        let unit = radius / (count as f64).sqrt();
        (0..DIRECTIONS).map(move |at| {
            let (sin, cos) = (TAU * f64::from(at) / f64::from(DIRECTIONS)).sin_cos();
            // Cholesky's factor of one * [[2, -1], [-1, one]].
            let corner = (one / 2.0).sqrt();
            let rest = (one * one - one / 2.0).sqrt();
            Self {
                scale: law.scale * (unit * (2.0 * one).sqrt() * cos).exp(),
                shape: law.shape + unit * (rest * sin - corner * cos),
                ..law
            }
        })
    }
}

/// A law fitted by likelihood, and what it was fitted to.
#[derive(Clone, Debug)]
pub struct Fit {
    pub law: Gpd,
    /// How far each value is above the threshold, ascending, in units of `unit`; without the
    /// largest ones that were left out.
    excesses: Vec<f64>,
    left_out: usize,
    unit: f64,
    misfit: f64,
}

/// The negative log-likelihood. Of the largest `left_out` values it counts only that they are
/// above the others.
fn misfit(scale: f64, shape: f64, excesses: &[f64], left_out: usize) -> f64 {
    if scale <= 0.0 || !SHAPES.contains(&shape) {
        return f64::INFINITY;
    }
    let of_scale = excesses.len() as f64 * scale.ln();
    let last = excesses.last().copied().unwrap_or(0.0) / scale;
    let left_out = left_out as f64;
    if shape.abs() < EXPONENTIAL {
        let sum: f64 = excesses.iter().sum();
        return of_scale + sum / scale + left_out * last;
    }
    if 1.0 + shape * last <= 0.0 {
        return f64::INFINITY;
    }
    let by = shape / scale;
    // The logarithm of a product takes less time than the sum of logarithms.
    let product = |few: &[f64]| few.iter().fold(1.0, |all, it| all * (1.0 + by * it));
    let sum: f64 = excesses.chunks(8).map(|few| product(few).ln()).sum();
    of_scale + (1.0 + 1.0 / shape) * sum + left_out * (shape * last).ln_1p() / shape
}

impl Fit {
    /// Of ascending values above `threshold`. Of the largest `left_out` it counts only that they
    /// are above the others. None when there are too few or they are all equal.
    pub fn new(threshold: f64, ascending: &[f64], left_out: usize) -> Option<Self> {
        let kept = ascending.len().checked_sub(left_out)?;
        let excesses = ascending[..kept].iter().map(|it| it - threshold);
        let mut excesses: Vec<f64> = excesses.filter(|it| *it > 0.0).collect();
        let unit = excesses.iter().sum::<f64>() / excesses.len() as f64;
        if excesses.len() < 3 || excesses.first() == excesses.last() {
            return None;
        }
        excesses.iter_mut().for_each(|it| *it /= unit);
        let function = |p: &[f64; 2]| misfit(p[0].exp(), p[1], &excesses, left_out);
        // Every value can be of a law without an end.
        let (place, _) = minimum::of([0.0, 0.02], [0.2, 0.1], CLOSE, function);
        // Twice: a simplex may collapse on its way.
        let (place, least) = minimum::of(place, [0.05, 0.03], CLOSE, function);
        Some(Self {
            law: Gpd {
                threshold,
                scale: place[0].exp() * unit,
                shape: place[1],
            },
            excesses,
            left_out,
            unit,
            misfit: least,
        })
    }

    /// Laws at the edge of the region around the best one in which twice the difference of
    /// log-likelihoods is at most `deviance`.
    pub fn edge(&self, deviance: f64) -> Vec<Gpd> {
        let fits = |law: &Gpd| {
            let scale = law.scale / self.unit;
            let misfit = misfit(scale, law.shape, &self.excesses, self.left_out);
            2.0 * (misfit - self.misfit) <= deviance
        };
        let from = self.law.around(self.excesses.len(), deviance.sqrt());
        let best = self.law;
        from.map(|towards| {
            let at = |part: f64| Gpd {
                scale: best.scale * (towards.scale / best.scale).powf(part),
                shape: best.shape + part * (towards.shape - best.shape),
                ..best
            };
            let (mut inside, mut outside) = (0.0, 1.0);
            while fits(&at(outside)) && outside < 50.0 {
                inside = outside;
                outside *= 1.3;
            }
            at(super::root::last(inside, outside, 1e-3, |part| {
                fits(&at(part))
            }))
        })
        .collect()
    }

    /// Anderson's and Darling's distance between the values and the law.
    pub fn distance(&self) -> f64 {
        let values = self.excesses.iter();
        let parts = values.map(|it| 1.0 - self.law.exceedance(self.law.threshold + it * self.unit));
        anderson_darling(&parts.collect::<Vec<_>>())
    }
}

/// A^2 of ascending probabilities that should be uniform.
fn anderson_darling(parts: &[f64]) -> f64 {
    let count = parts.len();
    // Neither 0 nor 1: one value there would be infinitely far.
    let ln = |part: f64| part.max(1e-15).ln();
    let sum: f64 = (0..count)
        .map(|at| {
            let both = ln(parts[at]) + ln(1.0 - parts[count - 1 - at]);
            (2 * at + 1) as f64 * both
        })
        .sum();
    -(count as f64) - sum / count as f64
}
