// SPDX-License-Identifier: GPL-2.0-only
//! The generalised extreme-value law, to which the maxima of long blocks tend whatever the law
//! of the single values is, as long as it is one.
//!
//! The shape's sign is that of Coles: positive is a heavy tail, negative a bounded one. Fits:
//! L-moments (J. R. M. Hosking, J. R. Wallis and E. F. Wood, "Estimation of the generalized
//! extreme-value distribution by the method of probability-weighted moments", 1985), then
//! likelihood from there. Intervals are those of the likelihood's profile (Coles, section 3.3.4).

use super::{Estimate, deviance_of, l_moments, minimum, root};
use serde::Serialize;
use statrs::function::gamma::gamma;
use std::f64::consts::LN_2;

/// A shape nearer to 0 counts as 0: Gumbel's law.
const GUMBEL: f64 = 1e-7;
/// Beyond these shapes the likelihood has no regular maximum, or the law no variance to speak of.
const SHAPES: std::ops::RangeInclusive<f64> = -0.99..=1.5;
/// Likelihoods that differ by less are equal.
const CLOSE: f64 = 1e-9;

/// The law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gev {
    pub location: f64,
    pub scale: f64,
    pub shape: f64,
}

impl Gev {
    /// The probability that a block's maximum is at most `value`.
    pub fn cdf(&self, value: f64) -> f64 {
        (-self.rate_above(value)).exp()
    }

    /// The probability that a block's maximum is above `value`, exact also where it is tiny.
    pub fn exceedance(&self, value: f64) -> f64 {
        -(-self.rate_above(value)).exp_m1()
    }

    /// How many values above `value` a block has on average: -ln of [`cdf`](Self::cdf).
    fn rate_above(&self, value: f64) -> f64 {
        let z = (value - self.location) / self.scale;
        if self.shape.abs() < GUMBEL {
            return (-z).exp();
        }
        // Below or above the end of a bounded law the base is negative.
        let base = (1.0 + self.shape * z).max(0.0);
        base.powf(-1.0 / self.shape)
    }

    /// The value that a block's maximum does not exceed with this probability.
    pub fn quantile(&self, probability: f64) -> f64 {
        self.location + self.scale * above(-probability.ln(), self.shape)
    }

    /// By L-moments; none when there are too few values or they are all equal.
    pub fn by_l_moments(ascending: &[f64]) -> Option<Self> {
        let moments = l_moments::of(ascending)?;
        let c = 2.0 / (3.0 + moments.skewness) - LN_2 / 3.0_f64.ln();
        // Hosking's approximation of the shape, with his sign.
        let k = 7.8590 * c + 2.9554 * c * c;
        let k = if k.abs() < GUMBEL { GUMBEL } else { k };
        let g = gamma(1.0 + k);
        let scale = moments.scale * k / ((1.0 - 2.0_f64.powf(-k)) * g);
        let location = moments.mean - scale * (1.0 - g) / k;
        let all_finite = scale.is_finite() && location.is_finite() && scale > 0.0;
        all_finite.then_some(Self {
            location,
            scale,
            shape: -k,
        })
    }

    /// The negative log-likelihood of the values; infinite where one of them cannot be.
    fn misfit(&self, values: &[f64]) -> f64 {
        if self.scale <= 0.0 || !SHAPES.contains(&self.shape) {
            return f64::INFINITY;
        }
        let mut sum = values.len() as f64 * self.scale.ln();
        for value in values {
            let z = (value - self.location) / self.scale;
            // ln of the base over the shape: z itself for Gumbel's law.
            let ln_base = if self.shape.abs() < GUMBEL {
                z
            } else {
                let base = 1.0 + self.shape * z;
                if base <= 0.0 {
                    return f64::INFINITY;
                }
                base.ln() / self.shape
            };
            sum += (1.0 + self.shape) * ln_base + (-ln_base).exp();
        }
        sum
    }
}

/// (rate^-shape - 1) / shape.
fn above(rate: f64, shape: f64) -> f64 {
    match shape.abs() < GUMBEL {
        true => -rate.ln(),
        false => (-shape * rate.ln()).exp_m1() / shape,
    }
}

/// A law fitted to block maxima by likelihood, and the maxima.
#[derive(Clone, Debug)]
pub struct Fit {
    pub law: Gev,
    /// Divided by `unit` and less `zero`, so that the search has numbers about 1.
    scaled: Vec<f64>,
    zero: f64,
    unit: f64,
    misfit: f64,
}

impl Fit {
    /// None when there are too few values or they are all equal.
    pub fn new(values: &[f64]) -> Option<Self> {
        let mut ascending = values.to_vec();
        ascending.sort_by(f64::total_cmp);
        let start = Gev::by_l_moments(&ascending)?;
        let (zero, unit) = (start.location, start.scale);
        let scaled: Vec<f64> = values.iter().map(|value| (value - zero) / unit).collect();
        // A shape that some value contradicts is no start.
        let starts = [start.shape.clamp(-0.4, 0.8), 0.05, 0.4];
        let shape = starts.into_iter().find(|shape| {
            let law = Gev {
                location: 0.0,
                scale: 1.0,
                shape: *shape,
            };
            law.misfit(&scaled).is_finite()
        })?;
        let law = |p: &[f64; 3]| Gev {
            location: p[0],
            scale: p[1].exp(),
            shape: p[2],
        };
        let search = |from: [f64; 3], step: f64| {
            let steps = [step, step, step / 2.0];
            minimum::of(from, steps, CLOSE, |p| law(p).misfit(&scaled))
        };
        // Twice: a simplex may collapse on its way.
        let (place, _) = search([0.0, 0.0, shape], 0.2);
        let (place, misfit) = search(place, 0.05);
        let found = law(&place);
        Some(Self {
            law: Gev {
                location: zero + unit * found.location,
                scale: unit * found.scale,
                shape: found.shape,
            },
            scaled,
            zero,
            unit,
            misfit,
        })
    }

    /// How much worse the best law is that a block's maximum exceeds at `value` with the rate
    /// `rate`: twice the difference of log-likelihoods. The search starts at `from` (ln scale,
    /// shape) and leaves there where it ended.
    fn deviance(&self, value: f64, rate: f64, from: &mut [f64; 2]) -> f64 {
        let value = (value - self.zero) / self.unit;
        let law = |p: &[f64; 2]| Gev {
            location: value - p[0].exp() * above(rate, p[1]),
            scale: p[0].exp(),
            shape: p[1],
        };
        let misfit = |p: &[f64; 2]| law(p).misfit(&self.scaled);
        let mut start = *from;
        // A law with a bound below some value is no start; one without a bound is.
        for shape in [0.02, 0.2, 0.5] {
            if misfit(&start).is_finite() {
                break;
            }
            start = [self.best()[0], shape];
        }
        let (place, least) = minimum::of(start, [0.1, 0.05], 1e-6, misfit);
        if least.is_finite() {
            *from = place;
        }
        2.0 * (least - self.misfit)
    }

    fn best(&self) -> [f64; 2] {
        [(self.law.scale / self.unit).ln(), self.law.shape]
    }

    /// The probability that a block's maximum is above `value`.
    pub fn exceedance(&self, value: f64) -> Estimate {
        let estimate = self.law.exceedance(value);
        let best_ln = self.law.rate_above(value).max(1e-300).ln();
        let bound = deviance_of(self.scaled.len());
        // Rates on a logarithmic scale.
        let fits =
            |ln_rate: f64, from: &mut [f64; 2]| self.deviance(value, ln_rate.exp(), from) <= bound;
        let probability = |ln_rate: f64| -(-ln_rate.exp()).exp_m1();
        let high = root::edge(best_ln, 1.0, 700.0, self.best(), fits);
        let low = root::edge(best_ln, -1.0, -700.0, self.best(), fits);
        Estimate {
            value: estimate,
            low: low.map_or(0.0, probability),
            high: high.map_or(1.0, probability),
        }
    }

    /// The value that a block's maximum exceeds with this probability.
    pub fn return_level(&self, probability: f64) -> Estimate {
        self.level(probability, deviance_of(self.scaled.len()))
    }

    /// With an interval of the values whose deviance is at most `bound`.
    pub(super) fn level(&self, probability: f64, bound: f64) -> Estimate {
        let rate = -(-probability).ln_1p();
        let best = self.law.quantile(1.0 - probability);
        let fits = |value: f64, from: &mut [f64; 2]| self.deviance(value, rate, from) <= bound;
        let step = self.law.scale / 2.0;
        let far = self.law.scale * 1e6;
        Estimate {
            value: best,
            low: root::edge(best, -step, best - far, self.best(), fits)
                .unwrap_or(f64::NEG_INFINITY),
            high: root::edge(best, step, best + far, self.best(), fits).unwrap_or(f64::INFINITY),
        }
    }

    /// The value that a block's maximum exceeds with at most this probability, on the safe side:
    /// the upper edge of its interval. It is infinite where no value is large enough.
    pub fn reach(&self, probability: f64) -> f64 {
        let rate = -(-probability).ln_1p();
        let bound = deviance_of(self.scaled.len());
        let best = self.law.location + self.law.scale * above(rate, self.law.shape);
        let fits = |value: f64, from: &mut [f64; 2]| self.deviance(value, rate, from) <= bound;
        let (step, far) = (self.law.scale / 2.0, self.law.scale * 1e6);
        root::edge(best, step, best + far, self.best(), fits).unwrap_or(f64::INFINITY)
    }

    /// Anderson's and Darling's distance between the maxima and the law.
    pub fn distance(&self) -> f64 {
        let mut parts: Vec<f64> = self
            .scaled
            .iter()
            .map(|value| self.law.cdf(value * self.unit + self.zero))
            .collect();
        anderson_darling(&mut parts)
    }
}

/// A^2 of probabilities that should be uniform.
pub fn anderson_darling(parts: &mut [f64]) -> f64 {
    parts.sort_by(f64::total_cmp);
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
