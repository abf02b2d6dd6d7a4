// SPDX-License-Identifier: GPL-2.0-only
//! By how much numbers would have to change: one number of one task at a time, and all execution
//! times together.
//!
//! Each is found by trying: the analysis of the changed set says yes to what is given, and no to
//! what is one step less. Steps have three digits. For scaling all execution times see J. Lehoczky,
//! L. Sha, Y. Ding, "The rate monotonic scheduling algorithm: exact characterization", 1989.

use crate::analysis::cpu::{Cpu, Order};
use crate::analysis::stream::Meter;
use crate::analysis::{Fits, fits};
use crate::choose::priorities;
use crate::model::{Execution, Set, TIME_NS_MAX};
use serde::Serialize;

/// Which number of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Number {
    Execution,
    Period,
    Deadline,
}

impl Number {
    /// Its key in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Execution => "execution",
            Self::Period => "period",
            Self::Deadline => "deadline",
        }
    }
}

/// A number with which the CPU's tasks fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which of the set's tasks.
    pub task: usize,
    pub number: Number,
    pub now_ns: u64,
    /// What would do: not above it for an execution time, not below it for the others.
    pub needed_ns: u64,
}

/// All execution times together grow at most so many times.
const GROWTH_MAX: f64 = 1000.0;
/// Parts of the whole that growth is given in.
const GROWTH_STEPS: f64 = 1000.0;

/// A CPU of a set whose numbers are changed.
pub struct Changed<'a> {
    pub set: &'a Set,
    pub number: u32,
    pub tasks: &'a [usize],
    /// Those of the answer; kept where the policy does not say them.
    pub priorities: &'a [u8],
    pub meter: &'a Meter,
}

impl Changed<'_> {
    /// Whether the tasks fit with these numbers; none where it is not known.
    fn fits(&self, set: &Set) -> Option<bool> {
        let mut priorities = self.priorities.to_vec();
        let follows = !matches!(set.policy, crate::model::Policy::Given);
        if follows && Order::of(set.policy) == Order::Fixed {
            priorities::assign(set, self.number, self.tasks, &mut priorities, self.meter);
        }
        let cpu = Cpu::new(set, self.number, self.tasks, &priorities);
        match fits(&cpu, self.meter) {
            Fits::Yes => Some(true),
            Fits::No => Some(false),
            Fits::Unknown => None,
        }
    }

    fn only_these(&self) -> (Set, Vec<usize>, Vec<u8>) {
        let mut set = self.set.clone();
        set.tasks = self
            .tasks
            .iter()
            .map(|at| self.set.tasks[*at].clone())
            .collect();
        let priorities = self
            .tasks
            .iter()
            .map(|at| self.priorities.get(*at).copied());
        let priorities = priorities.map(|it| it.unwrap_or(1)).collect();
        let all = (0..set.tasks.len()).collect();
        (set, all, priorities)
    }

    /// How many times as long all execution times may be, in steps of a thousandth; below 1 they
    /// have to be shorter. None: it was not found out.
    pub fn growth(&self) -> Option<f64> {
        let (set, all, priorities) = self.only_these();
        let part = Changed {
            set: &set,
            tasks: &all,
            priorities: &priorities,
            ..*self
        };
        let fits = |steps: u64| part.fits(&scaled(&set, steps as f64 / GROWTH_STEPS));
        let most = (GROWTH_MAX * GROWTH_STEPS) as u64;
        let mut low = 0;
        let mut high = GROWTH_STEPS as u64;
        while high < most && fits(high)? {
            (low, high) = (high, (high * 2).min(most));
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match fits(middle)? {
                true => low = middle,
                false => high = middle,
            }
        }
        Some(low as f64 / GROWTH_STEPS)
    }

    /// The numbers of one task that would do, each alone.
    pub fn of_task(&self, task: usize) -> Vec<Change> {
        let (set, all, priorities) = self.only_these();
        let Some(at) = self.tasks.iter().position(|one| *one == task) else {
            return vec![];
        };
        let part = Changed {
            set: &set,
            tasks: &all,
            priorities: &priorities,
            ..*self
        };
        let numbers = [Number::Execution, Number::Period, Number::Deadline];
        let found = numbers
            .into_iter()
            .filter_map(|number| part.needed(at, number));
        found.map(|change| Change { task, ..change }).collect()
    }

    fn needed(&self, task: usize, number: Number) -> Option<Change> {
        let one = &self.set.tasks[task];
        let now_ns = match number {
            Number::Execution => one.execution_ns(),
            Number::Period => one.period_ns,
            Number::Deadline => one.deadline_ns,
        };
        let mut changed = self.set.clone();
        let mut fits = |ns: u64| {
            set_number(&mut changed, task, number, ns);
            let fits = self.fits(&changed);
            changed.tasks[task].clone_from(&self.set.tasks[task]);
            fits
        };
        let needed_ns = match number {
            Number::Execution => largest(now_ns, &mut fits)?,
            _ => smallest(now_ns, &mut fits)?,
        };
        Some(Change {
            task,
            number,
            now_ns,
            needed_ns,
        })
    }
}

fn scaled(set: &Set, factor: f64) -> Set {
    let mut scaled = set.clone();
    let times = |ns: u64| (ns as f64 * factor).ceil() as u64;
    for task in &mut scaled.tasks {
        task.execution = Execution::Ns(times(task.execution_ns()).clamp(1, TIME_NS_MAX));
        task.section_ns = times(task.section_ns);
        for held in &mut task.locks {
            held.time_ns = times(held.time_ns);
        }
    }
    scaled
}

fn set_number(set: &mut Set, task: usize, number: Number, ns: u64) {
    let one = &mut set.tasks[task];
    match number {
        Number::Execution => {
            one.execution = Execution::Ns(ns);
            one.section_ns = one.section_ns.min(ns);
            for held in &mut one.locks {
                held.time_ns = held.time_ns.min(ns);
            }
        }
        // A deadline at the end of the period is said by the period.
        Number::Period if one.deadline_ns == one.period_ns => {
            (one.period_ns, one.deadline_ns) = (ns, ns);
        }
        Number::Period => one.period_ns = ns,
        Number::Deadline => one.deadline_ns = ns,
    }
}

/// One step of a number with three digits.
fn step(ns: u64) -> u64 {
    let digits = ns.max(1).ilog10();
    10_u64.pow(digits.saturating_sub(2))
}

/// The largest number below `now` that fits.
fn largest(now: u64, fits: &mut impl FnMut(u64) -> Option<bool>) -> Option<u64> {
    let step = step(now);
    let mut low = 0;
    let mut high = now.div_ceil(step);
    // At least a little has to be left, or the task might as well be removed.
    if !fits(step.min(now))? {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match fits(middle * step)? {
            true => low = middle,
            false => high = middle,
        }
    }
    (low > 0).then_some(low * step)
}

/// The smallest number above `now` that fits.
fn smallest(now: u64, fits: &mut impl FnMut(u64) -> Option<bool>) -> Option<u64> {
    let mut low = now;
    let mut high = now;
    loop {
        if high >= TIME_NS_MAX {
            return None;
        }
        high = high.saturating_mul(2).min(TIME_NS_MAX);
        if fits(high)? {
            break;
        }
        low = high;
    }
    let step = step(high);
    let (mut low, mut high) = (low / step, high.div_ceil(step));
    if !fits(high * step)? {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match fits(middle * step)? {
            true => high = middle,
            false => low = middle,
        }
    }
    Some(high * step)
}
