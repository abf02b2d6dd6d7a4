// SPDX-License-Identifier: GPL-2.0-only
//! Release offsets with which no timer of a CPU's tasks meets another's, or the tick.
//!
//! Two periodic timers come as near to each other as their offsets are modulo the greatest common
//! divisor of their periods, so that is all that counts (for offsets in schedules of one CPU see
//! J. Goossens, "Scheduling of offset free systems", 2003).

use crate::analysis::stream::greatest_divisor;
use crate::model::{Set, Tick};

/// Places that are tried for one task.
const TRIED_MAX: usize = 20_000;
/// Places between two arrivals.
const PLACES: u128 = 32;
/// With more timers on a CPU no offsets are chosen.
const TIMERS_MAX: usize = 500;

/// A periodic timer of the CPU, or the tick.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// None: the tick.
    task: Option<usize>,
    period_ns: u64,
    offset_ns: u64,
    /// How long its arrival keeps the CPU from handling another one.
    width_ns: u64,
}

/// Two timers that meet whatever their offsets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    pub task: usize,
    /// None: the tick.
    pub other: Option<usize>,
    /// The greatest common divisor of their periods.
    pub divisor_ns: u64,
}

/// What was chosen for a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    /// Of each task with a timer: its place in the set, and its offset.
    pub chosen: Vec<(usize, u64)>,
    pub meetings: Vec<Meeting>,
    /// The least distance of any two arrivals, nanoseconds; none where there are fewer than two.
    pub apart_ns: Option<u64>,
}

/// Offsets for these tasks, of one CPU.
pub fn choose(set: &Set, tasks: &[usize]) -> Offsets {
    let mut offsets = Offsets::default();
    let periodic = tasks.iter().filter(|at| set.tasks[**at].is_periodic);
    let mut free: Vec<usize> = periodic.copied().collect();
    if free.len() > TIMERS_MAX {
        return offsets;
    }
    let platform = &set.platform;
    let width_ns = (platform.wakeup_ns + platform.switch_ns + platform.release_ns).max(1);
    let mut placed: Vec<Timer> = Vec::new();
    if let Some(Tick {
        period_ns,
        length_ns,
        phase_ns,
    }) = platform.tick
    {
        placed.push(Timer {
            task: None,
            period_ns,
            offset_ns: phase_ns % period_ns,
            width_ns: length_ns.max(1),
        });
    }
    let timer = |at: usize, offset_ns: u64| Timer {
        task: Some(at),
        period_ns: set.tasks[at].period_ns,
        offset_ns,
        width_ns: width_ns + set.tasks[at].jitter_ns,
    };
    free.retain(|&at| match set.tasks[at].offset_ns {
        Some(offset_ns) => {
            placed.push(timer(at, offset_ns));
            offsets.chosen.push((at, offset_ns));
            false
        }
        None => true,
    });
    // Short periods have the fewest places.
    free.sort_by_key(|at| (set.tasks[*at].period_ns, *at));
    for at in free {
        let best = best(&timer(at, 0), &placed);
        placed.push(timer(at, best));
        offsets.chosen.push((at, best));
    }
    pairs(&placed, &mut offsets);
    offsets.chosen.sort_unstable();
    offsets
}

/// The divisor, and how far the second timer comes after the first one, of all their arrivals.
fn after(first: &Timer, second: &Timer) -> (u64, u64) {
    let divisor = greatest_divisor(first.period_ns.into(), second.period_ns.into()) as u64;
    let (one, other) = (first.offset_ns % divisor, second.offset_ns % divisor);
    (divisor, (other + divisor - one) % divisor)
}

/// How far the arrivals of two timers are from meeting: the gap that the earlier one leaves, and
/// negative when it leaves none.
fn gap(one: &Timer, other: &Timer) -> i64 {
    let (divisor, after) = after(one, other);
    let behind = after as i64 - one.width_ns as i64;
    let ahead = (divisor - after) as i64 - other.width_ns as i64;
    behind.min(ahead)
}

/// The offset whose worst gap is the widest; 0 where nothing is placed.
fn best(timer: &Timer, placed: &[Timer]) -> u64 {
    let worst = |offset_ns: u64| {
        let at = Timer {
            offset_ns,
            ..*timer
        };
        placed
            .iter()
            .map(|other| {
                // Those that meet in any case have no say.
                let (divisor, _) = after(other, &at);
                match divisor < other.width_ns + at.width_ns {
                    true => i64::MAX,
                    false => gap(other, &at),
                }
            })
            .min()
            .unwrap_or(i64::MAX)
    };
    let mut best = (worst(0), 0);
    let each = (TRIED_MAX / (placed.len().max(1) * placed.len().max(1))).max(4);
    for other in placed {
        let (divisor, _) = after(other, timer);
        let begin = other.offset_ns % divisor;
        // Right behind this one, right before it, and between.
        let ends = [other.width_ns, divisor.saturating_sub(timer.width_ns)];
        let between = (1..PLACES).map(|k| u128::from(divisor) * k / PLACES);
        for inner in ends.into_iter().chain(between.map(|it| it as u64)) {
            let first = (begin + inner) % divisor;
            let steps = (0..).map(|k| first + k * divisor).take(each);
            for offset in steps.take_while(|offset| *offset < timer.period_ns) {
                let found = worst(offset);
                if found > best.0 {
                    best = (found, offset);
                }
            }
        }
    }
    best.1
}

/// Which timers meet, and how far the others stay apart.
fn pairs(placed: &[Timer], offsets: &mut Offsets) {
    for (place, one) in placed.iter().enumerate() {
        for other in &placed[..place] {
            let (divisor, after) = after(other, one);
            let apart = after.min(divisor - after);
            let least = offsets.apart_ns.unwrap_or(u64::MAX);
            offsets.apart_ns = Some(least.min(apart));
            let (task, second) = match (one.task, other.task) {
                (Some(task), second) => (task, second),
                (None, Some(task)) => (task, None),
                (None, None) => continue,
            };
            if gap(other, one) < 0 {
                offsets.meetings.push(Meeting {
                    task,
                    other: second,
                    divisor_ns: divisor,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Policy, Task};

    const US: u64 = 1000;

    fn set(periods_us: &[u64]) -> Set {
        let tasks = periods_us.iter().enumerate();
        let tasks = tasks.map(|(at, us)| Task::new(&format!("t{at}"), US, us * US));
        let mut set = Set::new(Policy::Rm, tasks.collect());
        set.platform.wakeup_ns = 20 * US;
        set.platform.tick = Some(Tick {
            period_ns: 4000 * US,
            length_ns: 5 * US,
            phase_ns: 1000 * US,
        });
        set
    }

    /// Every arrival of one second, and the least distance of any two.
    fn nearest(set: &Set, offsets: &Offsets) -> u64 {
        let tick = set.platform.tick.unwrap();
        let mut all: Vec<u64> = (0..250)
            .map(|k| tick.phase_ns + k * tick.period_ns)
            .collect();
        for (at, offset) in &offsets.chosen {
            let period = set.tasks[*at].period_ns;
            let count = 1_000_000 * US / period;
            all.extend((0..count).map(|k| offset + k * period));
        }
        all.sort_unstable();
        all.windows(2).map(|two| two[1] - two[0]).min().unwrap()
    }

    #[test]
    fn timers_stay_apart_from_each_other_and_from_the_tick() {
        for periods in [&[1000, 2000, 5000][..], &[500, 1000, 3000, 10_000], &[250]] {
            let set = set(periods);
            let all: Vec<usize> = (0..periods.len()).collect();
            let offsets = choose(&set, &all);
            assert_eq!(offsets.meetings, [], "{periods:?}");
            let nearest = nearest(&set, &offsets);
            assert!(nearest >= 20 * US, "{periods:?}: {nearest}");
            assert_eq!(offsets.apart_ns, Some(nearest));
        }
    }

    #[test]
    fn timers_that_must_meet_are_named() {
        // 4 ms and 1.001 ms share only 1 us.
        let set = set(&[1001]);
        let offsets = choose(&set, &[0]);
        assert_eq!(offsets.meetings.len(), 1);
        assert_eq!(
            (offsets.meetings[0].other, offsets.meetings[0].divisor_ns),
            (None, US)
        );
    }

    #[test]
    fn a_given_offset_stays() {
        let mut set = set(&[1000, 2000]);
        set.tasks[0].offset_ns = Some(7 * US);
        let offsets = choose(&set, &[0, 1]);
        assert_eq!(offsets.chosen[0], (0, 7 * US));
    }
}
