// SPDX-License-Identifier: GPL-2.0-only
//! A stall of the whole machine: the worst latencies of the threads of all CPUs at one moment.
//!
//! A firmware, a hypervisor or a suspended host stops all CPUs; no counter of the kernel shows it.
//! What delays one CPU alone leaves the threads of the others in time.

use super::Cause;
use artis_result::{Blocks, Warning};

/// Worsts are at one moment when they are no further apart: some periods of the threads, because
/// CPUs do not all go on at once.
pub const TOGETHER_S: f64 = 0.01;
/// A stall stands out from the run's other worsts by this factor.
const OUT: i64 = 2;
/// What chance alone may do: worsts of independent threads meet in one of so many runs.
const CHANCE_MAX: f64 = 0.01;

/// The block maxima of one thread, with its beginning on a clock that all share.
pub struct Watched<'a> {
    pub began_s: f64,
    pub blocks: &'a Blocks,
}

impl Watched<'_> {
    /// Its worst near this moment, and its worst elsewhere between these; none where it saw
    /// nothing there.
    fn near(&self, moment_s: f64, window_s: (f64, f64)) -> Option<(i64, i64)> {
        let (mut near, mut elsewhere) = (None, None);
        for block in &self.blocks.all {
            let at_s = self.began_s + block.max_at_s;
            if at_s < window_s.0 - TOGETHER_S || at_s > window_s.1 + TOGETHER_S {
                continue;
            }
            let worst = match (at_s - moment_s).abs() <= TOGETHER_S {
                true => &mut near,
                false => &mut elsewhere,
            };
            *worst = (*worst).max(Some(block.max));
        }
        near.zip(elsewhere)
    }
}

/// What the threads of a run say: `measured` is of the RT CPU and lasted `seconds`, the others are
/// of the other CPUs.
pub fn find(measured: &Watched, seconds: f64, others: &[Watched]) -> Option<Warning> {
    let worst = measured.blocks.all.iter().max_by_key(|block| block.max)?;
    let moment_s = measured.began_s + worst.max_at_s;
    let window_s = (measured.began_s, measured.began_s + seconds);
    let chance = (2.0 * TOGETHER_S / seconds).powi(i32::try_from(others.len()).ok()?);
    if others.is_empty() || chance > CHANCE_MAX {
        return None;
    }
    let (here, elsewhere) = measured.near(moment_s, window_s)?;
    let all_stood = others.iter().all(|other| {
        let near = other.near(moment_s, window_s);
        near.is_some_and(|(near, elsewhere)| near > elsewhere)
    });
    if here < elsewhere.saturating_mul(OUT) || !all_stood {
        return None;
    }
    Some(Cause::Stall.warning(
        format!(
            "the threads of all CPUs had their worst at one moment, {:.1} s after the start: {:.1} \
             us on the RT CPU, whose next worst is {:.1} us",
            worst.max_at_s,
            here as f64 / 1000.0,
            elsewhere as f64 / 1000.0
        ),
        "something below the kernel stopped the whole machine; no setting of this system reaches it",
        "look for what stops it: suspend, the firmware, a hypervisor's other guests",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_result::Block;

    /// A block of 100 ms each, with its worst in the middle.
    fn blocks(worsts: &[i64]) -> Blocks {
        Blocks {
            seconds: 0.1,
            all: (0..)
                .zip(worsts)
                .map(|(at, max)| Block {
                    count: 100,
                    max: *max,
                    max_at_s: f64::from(at) * 0.1 + 0.05,
                })
                .collect(),
        }
    }

    /// A minute of a quiet thread that had these worsts at these blocks.
    fn minute(worsts: &[(usize, i64)]) -> Blocks {
        let mut all = vec![20_000; 600];
        for (at, worst) in worsts {
            all[*at] = *worst;
        }
        blocks(&all)
    }

    fn is_stall(measured: &Blocks, others: &[&Blocks], seconds: f64) -> bool {
        let watched = |blocks, began_s| Watched { began_s, blocks };
        let others: Vec<Watched> = others.iter().map(|blocks| watched(blocks, 7.0)).collect();
        find(&watched(measured, 7.0), seconds, &others).is_some()
    }

    #[test]
    fn only_what_stops_all_cpus_at_one_moment_is_a_stall() {
        let (late, other) = (minute(&[(300, 900_000)]), minute(&[(300, 500_000)]));
        assert!(is_stall(&late, &[&other], 60.0));
        assert!(is_stall(&late, &[&other, &other], 60.0));
        // Elsewhere in time, one CPU alone, or one of several that was in time.
        let elsewhere = minute(&[(100, 500_000)]);
        let quiet = minute(&[]);
        assert!(!is_stall(&late, &[&elsewhere], 60.0));
        assert!(!is_stall(&late, &[&quiet], 60.0));
        assert!(!is_stall(&late, &[&other, &quiet], 60.0));
        // It had worse ones, or does not stand out from its own others.
        let worse = minute(&[(300, 500_000), (100, 600_000)]);
        assert!(!is_stall(&late, &[&worse], 60.0));
        let usual = minute(&[(300, 900_000), (500, 800_000)]);
        assert!(!is_stall(&usual, &[&other], 60.0));
        // One CPU; and so short a run that worsts meet by chance.
        assert!(!is_stall(&late, &[], 60.0));
        assert!(!is_stall(
            &blocks(&[1, 90, 1]),
            &[&blocks(&[1, 80, 1])],
            0.3
        ));
    }

    #[test]
    fn clocks_that_began_at_different_times_are_brought_together() {
        let (measured, other) = (minute(&[(300, 900_000)]), minute(&[(280, 900_000)]));
        let of = |began_s| Watched {
            began_s,
            blocks: &other,
        };
        let measured = Watched {
            began_s: 100.0,
            blocks: &measured,
        };
        assert!(find(&measured, 60.0, &[of(102.0)]).is_some());
        assert!(find(&measured, 60.0, &[of(100.0)]).is_none());
    }
}
