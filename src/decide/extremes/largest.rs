// SPDX-License-Identifier: GPL-2.0-only
//! The largest values of a distribution. A clock has steps and a histogram has buckets, so values
//! that differed are equal there: they are spread over the step again, evenly, so that laws of
//! continuous values can be held against them.

use artis_result::{Blocks, Distribution};

/// Values above a threshold.
#[derive(Clone, Debug)]
pub struct Largest {
    /// The largest value that does not belong to them.
    pub threshold: f64,
    pub ascending: Vec<f64>,
    /// How far apart different values are at least, at the threshold.
    pub step: f64,
}

impl Largest {
    /// At least `count` values: all those of the last step belong to them. None where there are
    /// fewer, or no histogram. `clock_step` as [`clock_step`] finds it.
    pub fn of(all: &Distribution, count: usize, clock_step: u64) -> Option<Self> {
        if all.is_summary() || all.count() <= count as u64 {
            return None;
        }
        let clock_step = clock_step.max(1) as f64;
        let buckets: Vec<(i64, u64)> = all.buckets().collect();
        let mut found = Self {
            threshold: 0.0,
            ascending: Vec::new(),
            step: clock_step,
        };
        for (highest, of_it) in buckets.into_iter().rev() {
            let width = u64::try_from(highest).map_or(1, |it| all.histogram().equivalent_range(it));
            // A value stands for half a step of the clock around it.
            let to = highest as f64 + clock_step / 2.0;
            found.threshold = to;
            if found.ascending.len() >= count {
                break;
            }
            let from = highest as f64 - (width - 1) as f64 - clock_step / 2.0;
            let part = (to - from) / of_it as f64;
            let spread = (0..of_it).map(|at| to - (at as f64 + 0.5) * part);
            found.ascending.extend(spread);
            found.step = to - from;
        }
        found.ascending.reverse();
        Some(found)
    }
}

/// The step of the clock that measured: what all differences of block maxima are multiples of.
/// Blocks keep them exactly, buckets do not.
pub fn clock_step(runs: &[&Blocks]) -> u64 {
    let all: Vec<i64> = runs
        .iter()
        .flat_map(|run| run.all.iter().map(|block| block.max))
        .collect();
    let first = all.first().copied().unwrap_or(0);
    all.iter()
        .fold(0, |step, max| divisor(step, max.abs_diff(first)))
}

/// The greatest common one.
fn divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        other => divisor(other, one % other),
    }
}
