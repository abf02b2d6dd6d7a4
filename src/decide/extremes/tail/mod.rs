// SPDX-License-Identifier: GPL-2.0-only
//! From block maxima and a distribution to the probability of what was never seen, or the reason
//! why that cannot be said.

use super::{Estimate, assumptions, gev, gpd};
use artis_result::{Blocks, Distribution};
use serde::Serialize;

/// With fewer blocks, neither the law nor its tests mean much.
pub const BLOCKS_MIN: usize = 50;
/// Each test refuses so many sets of good values.
const LEVEL: f64 = 0.01;
/// With fewer different values among the blocks, the clock or the cause has steps.
const DISTINCT_MIN: f64 = 0.8;
/// Below it the likelihood has no interval of the usual kind (R. L. Smith, "Maximum likelihood
/// estimation in a class of nonregular cases", 1985, gives -0.5), and the end was about reached.
const SHAPE_MIN: f64 = -0.45;
/// Above it not even the variance exists: several causes of different sizes look like that.
const SHAPE_MAX: f64 = 0.45;
/// A threshold must leave so many values.
const EXCESSES_MIN: u64 = 100;
const EXCESSES_MAX: u64 = 2000;

/// Why nothing is claimed beyond what was seen.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Refusal {
    #[error("there are no block maxima; measure with artis measure, which keeps them")]
    NoBlocks,
    #[error("there are {blocks} blocks and {needed} are needed; measure longer")]
    TooFew { blocks: usize, needed: usize },
    #[error(
        "only {percent:.0} % of the block maxima differ: the values are discrete, and these laws \
         are for continuous ones"
    )]
    Discrete { percent: f64 },
    #[error(
        "the maxima {what} in the course of the run (probability of that by chance {p:.1e}); \
         find the cause, or leave out the beginning"
    )]
    Trend { what: &'static str, p: f64 },
    #[error(
        "maxima that follow each other resemble each other (probability of that by chance \
         {p:.1e}); find what comes periodically or in clusters, or take longer blocks"
    )]
    Dependent { p: f64 },
    #[error(
        "the maxima end at a bound that was about reached (shape {shape:.2}): what is beyond it \
         has another cause, of which the run says nothing"
    )]
    Bounded { shape: f64 },
    #[error(
        "the tail is so heavy (shape {shape:.2}) that several causes of different size are more \
         likely than one; find the cause of the largest with artis explain"
    )]
    Heavy { shape: f64 },
    #[error(
        "no law of extremes fits the maxima (distance {distance:.2}, at most {bound:.2} for one \
         cause): they are a mixture of causes; find them one by one"
    )]
    Mixture { distance: f64, bound: f64 },
}

/// Fits that passed all tests.
#[derive(Clone, Debug)]
pub struct Tail {
    maxima: gev::Fit,
    blocks: usize,
    /// Activations in a block, on average.
    per_block: f64,
    /// Of the values above a threshold, and the part of all values that is. None when the
    /// histogram has too few or their law does not fit.
    peaks: Option<(gpd::Fit, f64)>,
}

/// The probability that one activation is above a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Extrapolation {
    /// The worse of both: each edge is the larger one's.
    pub probability: Estimate,
    pub by_blocks: Estimate,
    pub by_peaks: Option<Estimate>,
}

impl Tail {
    /// # Errors
    /// [`Refusal`], the reason that is easiest to remove first.
    pub fn new(runs: &[&Blocks], all: Option<&Distribution>) -> Result<Self, Refusal> {
        let maxima: Vec<f64> = whole_blocks(runs).map(|(_, max)| max).collect();
        let counts: f64 = whole_blocks(runs).map(|(count, _)| count).sum();
        if runs.is_empty() {
            return Err(Refusal::NoBlocks);
        }
        let fit = fitted(&maxima)?;
        Ok(Self {
            blocks: maxima.len(),
            per_block: counts / maxima.len() as f64,
            maxima: fit,
            peaks: all.and_then(peaks),
        })
    }

    pub fn law(&self) -> gev::Gev {
        self.maxima.law
    }

    pub fn blocks(&self) -> usize {
        self.blocks
    }

    pub fn peaks_law(&self) -> Option<gpd::Gpd> {
        self.peaks.as_ref().map(|(fit, _)| fit.law)
    }

    /// The probability that one activation is above `value`.
    pub fn exceedance(&self, value: f64) -> Extrapolation {
        let single = |of_block: f64| {
            // A block misses when one of its activations does.
            -((-of_block).ln_1p() / self.per_block).exp_m1()
        };
        let blocks = self.maxima.exceedance(value);
        let by_blocks = Estimate {
            value: single(blocks.value),
            low: single(blocks.low),
            high: single(blocks.high),
        };
        let by_peaks = self.peaks.as_ref().and_then(|(fit, part)| {
            // Below the threshold the histogram itself is the better answer.
            (value > fit.law.threshold).then(|| {
                let above = fit.exceedance(value);
                Estimate {
                    value: above.value * part,
                    low: above.low * part,
                    high: above.high * part,
                }
            })
        });
        let worse = by_peaks.filter(|peaks| peaks.high > by_blocks.high);
        Extrapolation {
            probability: worse.unwrap_or(by_blocks),
            by_blocks,
            by_peaks,
        }
    }
}

impl Tail {
    /// The value from which on one activation is above it with at most this probability, on the
    /// safe side: where the upper edge of [`exceedance`](Self::exceedance) is the probability.
    pub fn reach(&self, probability: f64) -> f64 {
        let of_block = -((-probability).ln_1p() * self.per_block).exp_m1();
        let by_blocks = self.maxima.reach(of_block);
        let by_peaks = self.peaks.as_ref();
        let by_peaks = by_peaks.map(|(fit, part)| fit.reach(probability / part));
        by_peaks.map_or(by_blocks, |peaks| by_blocks.max(peaks))
    }
}

/// Counts and maxima of all runs, without blocks that are much shorter than the others: the last
/// one of a run mostly is.
fn whole_blocks<'a>(runs: &'a [&'a Blocks]) -> impl Iterator<Item = (f64, f64)> + 'a {
    runs.iter().flat_map(|run| {
        let largest = run.all.iter().map(|block| block.count).max().unwrap_or(0);
        let whole = run
            .all
            .iter()
            .filter(move |block| block.count * 2 > largest);
        whole.map(|block| (block.count as f64, block.max as f64))
    })
}

/// The law of these maxima, when they have one.
pub fn fitted(maxima: &[f64]) -> Result<gev::Fit, Refusal> {
    let blocks = maxima.len();
    if blocks < BLOCKS_MIN {
        return Err(Refusal::TooFew {
            blocks,
            needed: BLOCKS_MIN,
        });
    }
    let distinct = assumptions::distinct(maxima);
    if distinct < DISTINCT_MIN {
        let percent = distinct * 100.0;
        return Err(Refusal::Discrete { percent });
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
    let percent = distinct * 100.0;
    let fit = gev::Fit::new(maxima).ok_or(Refusal::Discrete { percent })?;
    let shape = fit.law.shape;
    if shape < SHAPE_MIN {
        return Err(Refusal::Bounded { shape });
    }
    if shape > SHAPE_MAX {
        return Err(Refusal::Heavy { shape });
    }
    let (distance, bound) = (fit.distance(), bound(&GEV_DISTANCES, shape));
    if distance > bound {
        return Err(Refusal::Mixture { distance, bound });
    }
    Ok(fit)
}

/// The law of the values above the lowest threshold above which one fits.
fn peaks(all: &Distribution) -> Option<(gpd::Fit, f64)> {
    if all.is_summary() {
        return None;
    }
    let buckets: Vec<(i64, u64)> = all.buckets().collect();
    // From the top down, until there are enough values for the next threshold.
    let mut excesses = EXCESSES_MAX.min(all.count() / 10);
    while excesses >= EXCESSES_MIN {
        let mut above = Vec::new();
        for (value, count) in buckets.iter().rev() {
            if above.len() as u64 >= excesses {
                break;
            }
            above.extend(std::iter::repeat_n(*value as f64, *count as usize));
        }
        let threshold = above.last().copied()? - 0.5;
        let count = above.len() as f64;
        if let Some(fit) = gpd::Fit::new(threshold, &above) {
            let shape = fit.law.shape;
            let fits = fit.distance() <= bound(&GPD_DISTANCES, shape);
            if fits && (SHAPE_MIN..=SHAPE_MAX).contains(&shape) {
                return Some((fit, count / all.count() as f64));
            }
        }
        excesses /= 2;
    }
    None
}

/// Shapes, and the distance that 1 % of samples of such a law exceed whose law was fitted by
/// likelihood: of 200 values, 10,000 samples each, seed 1. `cargo test -p artis-decide -- --ignored
/// distances` computes them again.
const GEV_DISTANCES: [(f64, f64); 7] = [
    (-0.4, 0.927),
    (-0.2, 0.880),
    (-0.1, 0.856),
    (0.0, 0.836),
    (0.1, 0.813),
    (0.2, 0.804),
    (0.4, 0.794),
];
const GPD_DISTANCES: [(f64, f64); 7] = [
    (-0.4, 1.611),
    (-0.2, 1.462),
    (-0.1, 1.400),
    (0.0, 1.347),
    (0.1, 1.303),
    (0.2, 1.274),
    (0.4, 1.200),
];

/// Between the table's shapes a line, beyond them the last.
fn bound(table: &[(f64, f64)], shape: f64) -> f64 {
    let first = table.first().map_or(0.0, |it| it.1);
    let last = table.last().map_or(0.0, |it| it.1);
    let between = table.windows(2).find(|pair| shape <= pair[1].0);
    match between {
        None => last,
        Some(_) if shape <= table[0].0 => first,
        Some(pair) => {
            let part = (shape - pair[0].0) / (pair[1].0 - pair[0].0);
            pair[0].1 + part * (pair[1].1 - pair[0].1)
        }
    }
}

#[cfg(test)]
mod tests;
