// SPDX-License-Identifier: GPL-2.0-only
//! From block maxima and a distribution to the probability of what was never seen, or the reason
//! why that cannot be said.

mod refusal;

use super::clusters;
use super::gpd::{Fit, Gpd};
use super::largest::{Largest, clock_step};
use super::{Estimate, assumptions, binomial, outliers};
use crate::special::normal_above;
use artis_result::{Blocks, Distribution};
pub use refusal::Refusal;
use serde::Serialize;

const NS_PER_US: f64 = 1000.0;
/// With fewer blocks, the tests of how values follow each other find nothing.
pub const BLOCKS_MIN: usize = 50;
/// Each test of the blocks refuses so many sets of good values.
const LEVEL: f64 = 0.01;

/// The law is that of so many largest values. More would make its interval narrower than the
/// truth is near for laws that tend to it slowly, as the normal and the log-normal one do.
const FEW: usize = 100;
/// The largest are held against so many.
const MANY: usize = 2000;
/// Of all values at most one in so many belongs to the tail.
const TAIL_PART: u64 = 100;
/// With fewer values there is no law to speak of.
const FEW_MIN: usize = 50;
/// The influence of so many of the largest is shown.
const LEFT_OUT: [usize; 3] = [1, 5, 20];

/// Coarser steps, relative to the law's scale, are of discrete values.
const STEP_MAX: f64 = 0.5;
/// Below it the likelihood has no interval of the usual kind (R. L. Smith, "Maximum likelihood
/// estimation in a class of nonregular cases", 1985, gives -0.5), and the end was about reached.
const SHAPE_MIN: f64 = -0.45;
/// Above it there is not even a variance.
const SHAPE_MAX: f64 = 0.5;
/// How sure it must be that a shape is above that: standard deviations.
const SHAPE_SURE: f64 = 2.33;

/// What is less likely by chance is refused. Found by simulation: each refuses at most 3 of 100
/// good sets, of laws that tend slowly to that of extremes, too.
const OUTLIERS: f64 = 1e-3;
const HEAVIER: f64 = 0.012;
const LIGHTER: f64 = 0.002;
const CLUSTERS: f64 = 0.005;

/// Twice the differences of log-likelihoods up to which a law belongs to the interval. The truth
/// may be below it more often than above: a probability that is too low costs more. Of very many
/// values of such a law it would be in 9 and 1 of 100; of the sets here it is in 3 to 7 and 1.
const DEVIANCE_LOW: f64 = 1.797_624;
const DEVIANCE_HIGH: f64 = 5.411_894;
/// With some hundred values the truth is left out more often than with very many (M. S. Bartlett,
/// "Properties of sufficiency and statistical tests", 1937, corrects by such a factor).
const CORRECTION: f64 = 16.0;

/// Fits that passed all tests. Values are nanoseconds.
#[derive(Clone, Debug)]
pub struct Tail {
    few: Law,
    /// Laws at the edges of the interval.
    low: Vec<Gpd>,
    high: Vec<Gpd>,
    /// Of the same values without the largest ones, and of more values.
    others: Vec<Law>,
    max: f64,
    /// With 95 % confidence a value above the largest one has at most this probability.
    unseen: f64,
}

/// A law of the largest values.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Law {
    values: usize,
    left_out: usize,
    law: Gpd,
    /// Of all values, the part that is above the threshold.
    part: f64,
}

impl Law {
    fn of(largest: &Largest, left_out: usize, all: u64) -> Option<(Fit, Self)> {
        let fit = Fit::new(largest.threshold, &largest.ascending, left_out)?;
        let values = largest.ascending.len();
        let law = Self {
            values,
            left_out,
            law: fit.law,
            part: values as f64 / all as f64,
        };
        Some((fit, law))
    }

    /// The probability that one activation is above `value`.
    fn exceedance(&self, value: f64) -> f64 {
        self.part * self.law.exceedance(value)
    }

    fn at(&self, value: f64) -> Found {
        Found {
            values: self.values,
            left_out: self.left_out,
            threshold_us: self.law.threshold / NS_PER_US,
            scale_us: self.law.scale / NS_PER_US,
            shape: self.law.shape,
            probability: self.exceedance(value),
        }
    }
}

/// A generalised Pareto law, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Found {
    /// Of so many of the largest values.
    pub values: usize,
    /// Of so many of those it counts only that they are above the others.
    pub left_out: usize,
    pub threshold_us: f64,
    pub scale_us: f64,
    pub shape: f64,
    /// That one activation is above the value that was asked for.
    pub probability: f64,
}

/// The probability that one activation is above a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extrapolation {
    /// The upper edge is the larger one of the law's and of `unseen`.
    pub probability: Estimate,
    /// By the law alone: if every cause was seen.
    pub by_peaks: Estimate,
    /// What a cause may add that was not seen.
    pub unseen: f64,
    /// The law, then that of the same values without the largest ones, then that of more values.
    pub laws: Vec<Found>,
}

impl Tail {
    /// # Errors
    /// [`Refusal`], the reason that is easiest to remove first.
    pub fn new(runs: &[&Blocks], all: Option<&Distribution>) -> Result<Self, Refusal> {
        let all = all.filter(|all| !all.is_summary());
        let (false, Some(all)) = (runs.is_empty(), all) else {
            return Err(Refusal::NoBlocks);
        };
        let maxima: Vec<f64> = whole_blocks(runs).collect();
        steady(&maxima)?;
        let step = clock_step(runs);
        let largest = |count: usize| {
            let count = (count as u64).min(all.count() / TAIL_PART) as usize;
            Largest::of(all, count, step).filter(|it| it.ascending.len() >= FEW_MIN)
        };
        let (Some(few), Some(many)) = (largest(FEW), largest(MANY)) else {
            return Err(Refusal::TooFewValues {
                values: all.count(),
                needed: FEW_MIN as u64 * TAIL_PART,
            });
        };
        if let Some(as_many) = largest(maxima.len()) {
            let found = clusters::of(&maxima, &as_many);
            if found.p < CLUSTERS {
                let (size, p) = (found.size, found.p);
                return Err(Refusal::Clusters { size, p });
            }
        }
        let (fit, law, of_many) = one_cause(&few, &many, all.count())?;
        let more = 1.0 + CORRECTION / few.ascending.len() as f64;
        let without = LEFT_OUT
            .into_iter()
            .filter_map(|left_out| Law::of(&few, left_out, all.count()));
        let without = without.map(|it| it.1);
        Ok(Self {
            few: law,
            low: fit.edge(DEVIANCE_LOW * more),
            high: fit.edge(DEVIANCE_HIGH * more),
            others: without.chain([of_many]).collect(),
            max: all.moments().map_or(0.0, |it| it.max as f64),
            unseen: binomial::upper(0, all.count(), super::CONFIDENCE),
        })
    }

    /// The probability that one activation is above `value`.
    pub fn exceedance(&self, value: f64) -> Extrapolation {
        let best = self.few.exceedance(value);
        let of = |law: &Gpd| self.few.part * law.exceedance(value);
        let by_peaks = Estimate {
            value: best,
            low: self.low.iter().map(of).fold(best, f64::min),
            high: self.high.iter().map(of).fold(best, f64::max),
        };
        let unseen = self.unseen(value);
        let laws = std::iter::once(&self.few).chain(&self.others);
        Extrapolation {
            probability: Estimate {
                high: by_peaks.high.max(unseen),
                ..by_peaks
            },
            by_peaks,
            unseen,
            laws: laws.map(|law| law.at(value)).collect(),
        }
    }

    /// What a cause may add beyond `value` that was not seen: nothing above the largest value was,
    /// so that has at most the probability that the exact bound says. From there on it may fall as
    /// slowly as the heaviest law that has a variance.
    fn unseen(&self, value: f64) -> f64 {
        let times = value / self.max;
        match self.max > 0.0 && times > 1.0 {
            true => self.unseen * times.powf(-1.0 / SHAPE_MAX),
            false => self.unseen,
        }
    }

    /// The value from which on one activation is above it with at most this probability, on the
    /// safe side: where the upper edge of [`exceedance`](Self::exceedance) is the probability.
    pub fn reach(&self, probability: f64) -> f64 {
        let by_law = self
            .high
            .iter()
            .map(|law| law.quantile(probability / self.few.part));
        let by_law = by_law.fold(f64::NEG_INFINITY, f64::max);
        if probability >= self.unseen {
            return by_law;
        }
        match self.max > 0.0 {
            true => by_law.max(self.max * (self.unseen / probability).powf(SHAPE_MAX)),
            false => f64::INFINITY,
        }
    }
}

/// Maxima of all runs, without blocks that are much shorter than the others: the last one of a run
/// mostly is.
fn whole_blocks<'a>(runs: &'a [&'a Blocks]) -> impl Iterator<Item = f64> + 'a {
    runs.iter().flat_map(|run| {
        let largest = run.all.iter().map(|block| block.count).max().unwrap_or(0);
        let whole = run
            .all
            .iter()
            .filter(move |block| block.count * 2 > largest);
        whole.map(|block| block.max as f64)
    })
}

/// Whether the maxima stay as they are in the course of time, and do not depend on each other.
fn steady(maxima: &[f64]) -> Result<(), Refusal> {
    let blocks = maxima.len();
    if blocks < BLOCKS_MIN {
        let needed = BLOCKS_MIN;
        return Err(Refusal::TooFew { blocks, needed });
    }
    let trends = [
        ("grow or shrink", assumptions::no_trend(maxima)),
        (
            "spread more or less",
            assumptions::no_trend_of_spread(maxima),
        ),
    ];
    for (what, p) in trends {
        if p < LEVEL {
            return Err(Refusal::Trend { what, p });
        }
    }
    let p = assumptions::independent(maxima);
    if p < LEVEL {
        return Err(Refusal::Dependent { p });
    }
    Ok(())
}

/// The law of few of the largest values, and that of many, where both are of one cause.
fn one_cause(few: &Largest, many: &Largest, all: u64) -> Result<(Fit, Law, Law), Refusal> {
    let equal = Refusal::Discrete { percent: 100.0 };
    let (fit, law) = Law::of(few, 0, all).ok_or(equal.clone())?;
    let (_, of_many) = Law::of(many, 0, all).ok_or(equal)?;
    let step = few.step / law.law.scale;
    if step > STEP_MAX {
        let percent = step * 100.0;
        return Err(Refusal::Discrete { percent });
    }
    if let Some(found) = outliers::found(many, OUTLIERS) {
        let (count, p) = (found.count, found.p);
        return Err(Refusal::Outliers { count, p });
    }
    let (shape, shape_of_many) = (law.law.shape, of_many.law.shape);
    if shape < SHAPE_MIN {
        return Err(Refusal::Bounded { shape });
    }
    let deviation = |values: f64| (1.0 + shape_of_many) / values.sqrt();
    if shape_of_many - SHAPE_SURE * deviation(of_many.values as f64) > SHAPE_MAX {
        return Err(Refusal::Heavy { shape });
    }
    let (distance, bound) = (fit.distance(), bound(shape));
    if distance > bound {
        return Err(Refusal::Mixture { distance, bound });
    }
    // Of those that both have, nothing tells them apart.
    let apart = 1.0 / law.values as f64 - 1.0 / of_many.values as f64;
    if apart > 0.0 {
        let z = (shape - shape_of_many) / deviation(1.0 / apart);
        let p = normal_above(z.abs());
        if p < if z > 0.0 { HEAVIER } else { LIGHTER } {
            return Err(Refusal::Disagree {
                few: law.values,
                many: of_many.values,
                shape,
                shape_of_many,
                p,
            });
        }
    }
    Ok((fit, law, of_many))
}

/// Shapes, and the distance that 1 % of samples of such a law exceed whose law was fitted by
/// likelihood: of 200 values, 10,000 samples each, seed 1. `cargo test -p artis-decide -- --ignored
/// distances` computes them again.
const DISTANCES: [(f64, f64); 7] = [
    (-0.4, 1.611),
    (-0.2, 1.462),
    (-0.1, 1.400),
    (0.0, 1.347),
    (0.1, 1.303),
    (0.2, 1.274),
    (0.4, 1.200),
];

/// Between the table's shapes a line, beyond them the last.
fn bound(shape: f64) -> f64 {
    let first = DISTANCES.first().map_or(0.0, |it| it.1);
    let last = DISTANCES.last().map_or(0.0, |it| it.1);
    let between = DISTANCES.windows(2).find(|pair| shape <= pair[1].0);
    match between {
        None => last,
        Some(_) if shape <= DISTANCES[0].0 => first,
        Some(pair) => {
            let part = (shape - pair[0].0) / (pair[1].0 - pair[0].0);
            pair[0].1 + part * (pair[1].1 - pair[0].1)
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trials;
