// SPDX-License-Identifier: GPL-2.0-only
//! Priorities of the tasks of one CPU.
//!
//! Source of the search: N. Audsley, "Optimal priority assignment and feasibility of static
//! priority tasks with arbitrary start times", 1991: a task that is fine below all others may be
//! the lowest, whatever the order of those, and so on upwards. When nobody is, no order exists
//! that the analysis accepts.

use crate::analysis::cpu::Cpu;
use crate::analysis::fixed;
use crate::analysis::stream::{Load, Meter};
use crate::model::{Policy, Set};

/// The highest that is given: 99 stays for what must come before every task.
pub const HIGHEST: u8 = 98;
/// With more tasks no order is searched.
const SEARCHED_MAX: usize = 200;

/// How an order was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// As the policy or the file says.
    Said,
    /// Searched for.
    Searched,
    /// Searched for, and no order fits; it is by deadlines.
    None,
}

/// Priorities for the tasks at these places of the set, in `priorities`, by the policy.
pub fn assign(
    set: &Set,
    number: u32,
    tasks: &[usize],
    priorities: &mut [u8],
    meter: &Meter,
) -> Found {
    let mut order = tasks.to_vec();
    let task = |at: &usize| &set.tasks[*at];
    match set.policy {
        Policy::Given if set.tasks.iter().all(|task| task.priority.is_some()) => {
            for at in tasks {
                priorities[*at] = task(at).priority.unwrap_or(1);
            }
            return Found::Said;
        }
        Policy::Given => return search(set, number, tasks, priorities, meter),
        Policy::Rm => order.sort_by_key(|at| (task(at).period_ns, task(at).deadline_ns, *at)),
        Policy::Dm | Policy::Edf | Policy::Fifo => order.sort_by_key(|at| by_deadline(set, *at)),
    }
    rank(&order, priorities);
    Found::Said
}

/// The order by deadlines.
fn by_deadline(set: &Set, at: usize) -> (u64, u64, usize) {
    let task = &set.tasks[at];
    (task.deadline_ns, task.period_ns, at)
}

/// From the highest down; where there are more tasks than priorities, neighbours share one.
fn rank(order: &[usize], priorities: &mut [u8]) {
    let levels = order.len().min(usize::from(HIGHEST));
    for (place, at) in order.iter().enumerate() {
        let level = place * levels / order.len();
        priorities[*at] = HIGHEST - level as u8;
    }
}

/// Audsley's search; the tasks' priorities are set in any case.
pub fn search(
    set: &Set,
    number: u32,
    tasks: &[usize],
    priorities: &mut [u8],
    meter: &Meter,
) -> Found {
    // The latest deadline is tried first, so that what fits by deadlines stays in their order.
    let mut left = tasks.to_vec();
    left.sort_by_key(|at| by_deadline(set, *at));
    let all = left.clone();
    if left.len() <= SEARCHED_MAX.min(usize::from(HIGHEST)) {
        let mut from_low = Vec::new();
        while let Some(place) = lowest(set, number, &left, &from_low, meter) {
            from_low.push(left.remove(place));
        }
        if left.is_empty() {
            from_low.reverse();
            rank(&from_low, priorities);
            return Found::Searched;
        }
    }
    rank(&all, priorities);
    Found::None
}

/// Which of `left` may be the lowest of them, above those that are below already.
fn lowest(set: &Set, number: u32, left: &[usize], below: &[usize], meter: &Meter) -> Option<usize> {
    let mut priorities = vec![0; set.tasks.len()];
    for (level, at) in below.iter().enumerate() {
        priorities[*at] = level as u8 + 1;
    }
    let level = below.len() as u8 + 1;
    let all: Vec<usize> = left.iter().chain(below).copied().collect();
    (0..left.len()).rev().find(|&place| {
        for at in left {
            priorities[*at] = level + 1;
        }
        priorities[left[place]] = level;
        let cpu = Cpu::new(set, number, &all, &priorities);
        let own = cpu.members.iter().find(|one| one.task == left[place]);
        let load = Load::new(
            cpu.members
                .iter()
                .filter(|one| own.is_some_and(|own| one.urgency <= own.urgency))
                .map(|one| one.stream),
        );
        meter.take(all.len() as u64);
        own.is_some_and(|own| {
            let worst = fixed::worst(&cpu, own, &load, meter, Some(own.room_ns()));
            worst.is_ok_and(|job| job.response_ns() <= own.room_ns())
        })
    })
}
