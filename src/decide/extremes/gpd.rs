// SPDX-License-Identifier: GPL-2.0-only
//! The generalised Pareto law, to which the values above a high threshold tend.
//!
//! The values come from a histogram: each with how often it was seen. Fits: L-moments (J. R. M.
//! Hosking and J. R. Wallis, "Parameter and quantile estimation for the generalized Pareto
//! distribution", 1987), then likelihood. The shape's sign is that of [`super::gev`].

use super::gev::anderson_darling;
use super::{Estimate, deviance_of, l_moments, minimum, root};
use serde::Serialize;

/// A shape nearer to 0 counts as 0: the exponential law.
const EXPONENTIAL: f64 = 1e-7;
const SHAPES: std::ops::RangeInclusive<f64> = -0.99..=1.5;

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
        let z = ((value - self.threshold) / self.scale).max(0.0);
        match self.shape.abs() < EXPONENTIAL {
            true => (-z).exp(),
            false => (1.0 + self.shape * z).max(0.0).powf(-1.0 / self.shape),
        }
    }

    /// By L-moments; none when there are too few values or they are all equal.
    pub fn by_l_moments(threshold: f64, ascending: &[f64]) -> Option<Self> {
        let moments = l_moments::of(ascending)?;
        let mean = moments.mean - threshold;
        let k = mean / moments.scale - 2.0;
        let scale = (1.0 + k) * mean;
        (scale > 0.0).then_some(Self {
            threshold,
            scale,
            shape: -k,
        })
    }
}

/// A law fitted by likelihood, and what it was fitted to.
#[derive(Clone, Debug)]
pub struct Fit {
    pub law: Gpd,
    /// How far each value is above the threshold, ascending, in units of `unit`.
    excesses: Vec<f64>,
    unit: f64,
    misfit: f64,
}

fn misfit(scale: f64, shape: f64, excesses: &[f64]) -> f64 {
    if scale <= 0.0 || !SHAPES.contains(&shape) {
        return f64::INFINITY;
    }
    let mut sum = excesses.len() as f64 * scale.ln();
    for excess in excesses {
        let z = excess / scale;
        if shape.abs() < EXPONENTIAL {
            sum += z;
        } else {
            let base = 1.0 + shape * z;
            if base <= 0.0 {
                return f64::INFINITY;
            }
            sum += (1.0 + 1.0 / shape) * base.ln();
        }
    }
    sum
}

impl Fit {
    /// Of the values above `threshold`. None when there are too few or they are all equal.
    pub fn new(threshold: f64, values: &[f64]) -> Option<Self> {
        let mut ascending: Vec<f64> = values
            .iter()
            .copied()
            .filter(|it| *it > threshold)
            .collect();
        ascending.sort_by(f64::total_cmp);
        let start = Gpd::by_l_moments(threshold, &ascending)?;
        let unit = ascending.iter().map(|it| it - threshold).sum::<f64>() / ascending.len() as f64;
        let excesses: Vec<f64> = ascending.iter().map(|it| (it - threshold) / unit).collect();
        let function = |p: &[f64; 2]| misfit(p[0].exp(), p[1], &excesses);
        let scale = (start.scale / unit).max(1e-3);
        let starts = [[scale.ln(), start.shape.clamp(-0.4, 0.8)], [0.0, 0.05]];
        let from = starts.into_iter().find(|it| function(it).is_finite())?;
        let (place, _) = minimum::of(from, [0.2, 0.1], 1e-9, function);
        let (place, least) = minimum::of(place, [0.05, 0.03], 1e-9, function);
        Some(Self {
            law: Gpd {
                threshold,
                scale: place[0].exp() * unit,
                shape: place[1],
            },
            excesses,
            unit,
            misfit: least,
        })
    }

    /// How many values are above the threshold.
    pub fn count(&self) -> usize {
        self.excesses.len()
    }

    /// How much worse the best law is that has the probability `part` beyond `value`.
    fn deviance(&self, value: f64, part: f64) -> f64 {
        let excess = (value - self.law.threshold) / self.unit;
        let scale = |shape: f64| match shape.abs() < EXPONENTIAL {
            true => excess / -part.ln(),
            false => shape * excess / (-shape * part.ln()).exp_m1(),
        };
        let function = |p: &[f64; 1]| misfit(scale(p[0]), p[0], &self.excesses);
        // A bounded law must end beyond all values; a heavy one always does.
        let starts = [self.law.shape, 0.0, 0.1, 0.3, 0.6, 1.0].map(|shape| [shape]);
        let least = starts
            .into_iter()
            .filter(|start| function(start).is_finite())
            .map(|start| minimum::of(start, [0.05], 1e-6, function).1)
            .fold(f64::INFINITY, f64::min);
        2.0 * (least - self.misfit)
    }

    /// The probability that a value above the threshold is above `value`.
    pub fn exceedance(&self, value: f64) -> Estimate {
        let best = self.law.exceedance(value);
        let best_ln = best.max(1e-300).ln().min(-1e-9);
        let bound = deviance_of(self.excesses.len());
        let fits = |ln_part: f64| self.deviance(value, ln_part.exp()) <= bound;
        let edge = |step: f64, limit: f64| {
            let (mut inside, mut step) = (best_ln, step);
            loop {
                let next = inside + step;
                let next = if step > 0.0 { next.min(limit) } else { next };
                if !fits(next) {
                    let close = step.abs() * 1e-4;
                    return Some(root::last(inside, next, close, fits).exp());
                }
                if next >= limit && step > 0.0 || next < -700.0 {
                    return None;
                }
                inside = next;
                step *= 1.5;
            }
        };
        Estimate {
            value: best,
            low: edge(-0.5, 0.0).unwrap_or(0.0),
            high: edge(0.5, -1e-9).unwrap_or(1.0),
        }
    }

    /// The value that this part of the values above the threshold exceeds at most, on the safe
    /// side: the upper edge of its interval. It is infinite where no value is large enough.
    pub fn reach(&self, part: f64) -> f64 {
        let Gpd {
            threshold,
            scale,
            shape,
        } = self.law;
        if part >= 1.0 {
            return threshold;
        }
        let above = match shape.abs() < EXPONENTIAL {
            true => -part.ln(),
            false => (-shape * part.ln()).exp_m1() / shape,
        };
        let bound = deviance_of(self.excesses.len());
        let fits = |value: f64, (): &mut ()| self.deviance(value, part) <= bound;
        let (best, step, far) = (threshold + scale * above, scale / 2.0, scale * 1e6);
        root::edge(best, step, best + far, (), fits).unwrap_or(f64::INFINITY)
    }

    /// Anderson's and Darling's distance between the values and the law.
    pub fn distance(&self) -> f64 {
        let excesses = self.excesses.iter();
        let mut parts: Vec<f64> = excesses
            .map(|it| 1.0 - self.law.exceedance(self.law.threshold + it * self.unit))
            .collect();
        anderson_darling(&mut parts)
    }
}
