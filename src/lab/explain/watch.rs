// SPDX-License-Identifier: GPL-2.0-only
//! Finds RT0's wakeups while the emulator reports what its CPU does, and keeps the worst ones'
//! steps.
//!
//! A wakeup begins with the timer's handler that wakes a sleeping thread, and ends with the first
//! call that RT0 makes in user mode. RT0 comes once a period, so how late it was follows from where
//! in the period that call came; the period's begin is known only at the end ([`Watched::fit`]).
//! The guest's clock counts the emulator's ticks, so the one does not run away from the other.

use super::activations::{Activation, Activations};
use crate::engine::observed::{Kind, Observer, Step};
use artis_explain::functions::Functions;
use std::collections::BTreeMap;

/// Wakeups after which it is certain whose they are.
const LEARN: usize = 20;
/// Steps kept of one wakeup; no wakeup needs more, and memory stays bounded.
const STEPS_MAX: usize = 1_000_000;
/// The timer handler that wakes a thread which sleeps in `clock_nanosleep`.
pub(super) const WAKER: &str = "hrtimer_wakeup";

/// One wakeup, and all steps since the one before.
#[derive(Clone, Debug)]
pub struct Wakeup {
    /// Its place among all.
    pub number: usize,
    /// Of the first call in user mode.
    pub end: u64,
    /// Behind the period's begin of the first wakeup, in ticks; late ones have more.
    place: i64,
    /// Steps before these were dropped.
    pub cut_short: bool,
    pub steps: Vec<Step>,
}

#[cfg(test)]
impl Wakeup {
    /// A wakeup that ends with the last of these steps.
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self {
            number: 0,
            end: steps[steps.len() - 1].tick,
            place: 0,
            cut_short: false,
            steps,
        }
    }
}

/// What was watched.
#[derive(Debug)]
pub struct Watched {
    waker: Option<u64>,
    period: i64,
    keep: usize,
    space: u64,
    learned: BTreeMap<u64, usize>,
    /// The page table of RT0's process.
    rt0: Option<u64>,
    /// When handlers woke threads since RT0's last wakeup: one of them woke RT0.
    wakers: Vec<u64>,
    /// When RT0's own handler ran for its first wakeup, and that wakeup's end.
    first: Option<(u64, u64)>,
    cut_short: bool,
    steps: Vec<Step>,
    /// The end and the place of each wakeup.
    places: Vec<(u64, i64)>,
    worst: Vec<Wakeup>,
    activations: Activations,
}

/// What was watched, when all is over.
#[derive(Debug)]
pub struct Fitted {
    /// The worst wakeups and how late they were, in ticks; the worst first.
    pub worst: Vec<(u64, Wakeup)>,
    /// How late the earliest was, which whoever knows it can compare.
    pub soonest: i64,
    /// The longest activations, the longest first.
    pub longest: Vec<Activation>,
    /// How long each activation took, in ticks.
    pub lengths: Vec<u64>,
}

/// A page table's address without the bits that say how it is used.
pub(super) fn table(space: u64) -> u64 {
    space & 0x000f_ffff_ffff_f000
}

/// Adds one to the `keep` that have most of something; the one with the least goes.
pub(super) fn keep_most<T, K: Ord>(all: &mut Vec<T>, keep: usize, one: T, most: impl Fn(&T) -> K) {
    all.push(one);
    if all.len() <= keep {
        return;
    }
    if let Some(least) = (0..all.len()).min_by_key(|at| most(&all[*at])) {
        all.swap_remove(least);
    }
}

impl Watched {
    /// Keeps the `keep` worst wakeups and activations of a thread with this period, in ticks.
    pub fn new(functions: &Functions, period: u64, keep: usize) -> Self {
        Self {
            waker: functions.address(WAKER),
            period: i64::try_from(period).unwrap_or(i64::MAX).max(1),
            // Some more, because what comes after the last sample is reported, too.
            keep: keep * 4,
            space: 0,
            learned: BTreeMap::new(),
            rt0: None,
            wakers: Vec::new(),
            first: None,
            cut_short: false,
            steps: Vec::new(),
            places: Vec::new(),
            worst: Vec::new(),
            activations: Activations::new(functions, keep * 4),
        }
    }

    /// The page table of RT0's process, when it was found.
    pub fn rt0(&self) -> Option<u64> {
        self.rt0
    }

    /// Wakeups that were seen.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// RT0's process, or another one, calls something in user mode after a handler woke a thread.
    fn arrive(&mut self, end: u64) {
        if self.rt0.is_none() {
            let seen = self.learned.entry(self.space).or_default();
            *seen += 1;
            self.rt0 = (*seen >= LEARN).then_some(self.space);
            self.wakers.clear();
            return;
        }
        if self.rt0 != Some(self.space) {
            return;
        }
        let wakers = std::mem::take(&mut self.wakers);
        let (first_waker, first_end) = match (self.first, wakers.last()) {
            (Some(first), _) => first,
            (None, Some(waker)) => *self.first.insert((*waker, end)),
            (None, None) => return,
        };
        // RT0 may be periods late; its handler is not, so the handler shows which period it was.
        let since = |tick: u64| i64::try_from(tick - first_waker).unwrap_or(i64::MAX);
        let periods = |waker: u64| (since(waker) + self.period / 2).div_euclid(self.period);
        let off = |waker: u64| (since(waker) - periods(waker) * self.period).abs();
        let Some(waker) = wakers.into_iter().min_by_key(|waker| off(*waker)) else {
            return;
        };
        let place = i64::try_from(end - first_end).unwrap_or(i64::MAX);
        let place = place - periods(waker) * self.period;
        let steps = std::mem::take(&mut self.steps);
        let cut_short = std::mem::take(&mut self.cut_short);
        if let Some((begin, _)) = self.places.last()
            && !cut_short
        {
            self.activations.hear(self.places.len() - 1, *begin, &steps);
        }
        let wakeup = Wakeup {
            number: self.places.len(),
            end,
            place,
            cut_short,
            steps,
        };
        self.places.push((end, place));
        keep_most(&mut self.worst, self.keep, wakeup, |one| one.place);
    }

    /// Says how late each wakeup was, when the latest was `max` ticks late. RT0 still comes some
    /// times after the last of the `samples`; those are none.
    pub fn fit(mut self, max: u64, keep: usize, samples: usize) -> Fitted {
        let samples = samples.saturating_sub(LEARN);
        self.places.truncate(samples);
        self.worst.retain(|one| one.number < samples);
        let all = self.places.iter().map(|(_, place)| *place);
        let latest = all.clone().max().unwrap_or(0);
        let earliest = all.min().unwrap_or(0);
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let late = |place: i64| place - latest + max;
        let mut worst: Vec<(u64, Wakeup)> = self
            .worst
            .drain(..)
            .map(|one| (late(one.place).max(0).unsigned_abs(), one))
            .collect();
        worst.sort_by_key(|(late, one)| (std::cmp::Reverse(*late), one.number));
        worst.truncate(keep);
        let (longest, lengths) = self.activations.fit(keep, samples);
        Fitted {
            worst,
            soonest: late(earliest),
            longest,
            lengths,
        }
    }
}

impl Observer for Watched {
    fn hear(&mut self, step: Step) {
        if step.kind == Kind::Space {
            self.space = table(step.address);
        }
        if self.steps.len() == STEPS_MAX {
            self.steps.drain(..STEPS_MAX / 2);
            self.cut_short = true;
        }
        // Calls within a process are reported, too: only that it was in user mode matters.
        let user_call = step.kind == Kind::Call && step.user;
        let again = self.steps.last().is_some_and(|last| last.user);
        if !(user_call && again) {
            self.steps.push(step);
        }
        if step.kind == Kind::Call && !step.user && Some(step.address) == self.waker {
            self.wakers.push(step.tick);
        } else if user_call && !self.wakers.is_empty() {
            self.arrive(step.tick);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const PERIOD: u64 = 100_000;

    /// RT0 comes so many ticks after each of its times.
    pub fn watched(lateness: &[u64]) -> Watched {
        let functions = Functions::parse("ffffffff81000000 t hrtimer_wakeup\n");
        let mut watched = Watched::new(&functions, PERIOD, 2);
        for (at, late) in lateness.iter().enumerate() {
            let due = 7_000_000 + at as u64 * PERIOD;
            let steps = [
                (due + 10, Kind::Call, 0xffff_ffff_8100_0000, false),
                (due + 20, Kind::Space, 0x9001, false),
                (due + late, Kind::Call, 0x50_0000, true),
                (due + late + 10, Kind::Call, 0x50_0000, true),
                // Another process until the next time.
                (due + late + 20, Kind::Space, 0x5002, false),
                (due + late + 30, Kind::Call, 0x40_0000, true),
            ];
            for (tick, kind, address, user) in steps {
                watched.hear(Step {
                    tick,
                    kind,
                    address,
                    user,
                });
            }
        }
        watched
    }

    #[test]
    fn the_worst_come_first_and_are_as_late_as_the_measured_maximum_says() {
        let mut lateness = vec![4000; LEARN];
        lateness.extend([4000, 4100, 90_000, 4000, 7000, 4005, 4000, 4000, 4000]);
        let watched = watched(&lateness);
        assert_eq!((watched.rt0(), watched.count()), (Some(0x9000), 9));
        let Fitted { worst, soonest, .. } = watched.fit(90_000, 2, 100);
        let late: Vec<_> = worst
            .iter()
            .map(|(late, one)| (*late, one.number))
            .collect();
        assert_eq!((late, soonest), (vec![(90_000, 2), (7000, 4)], 4000));
        let steps = &worst[0].1.steps;
        assert_eq!(steps.last().unwrap().tick, worst[0].1.end);
    }
}
