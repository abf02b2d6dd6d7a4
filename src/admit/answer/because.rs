// SPDX-License-Identifier: GPL-2.0-only
//! The answer's sentences.

use super::{OnCpu, Verdict, unprotected};
use crate::analysis::quick::Says;
use crate::analysis::stream::Why;
use crate::analysis::{Bound, Fits};
use crate::choose::place::{ALL_WAYS_MAX, How, Placement};
use crate::choose::priorities::Found;
use crate::model::{Execution, Policy, Protocol, Set};

/// A time for people, rounded up to three decimals of its unit.
pub fn time(ns: u64) -> String {
    let units = [(1_000_000_000_u128, "s"), (1_000_000, "ms"), (1000, "us")];
    let ns = u128::from(ns);
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| ns >= *unit) else {
        return format!("{ns} ns");
    };
    let thousandths = (ns * 1000).div_ceil(unit);
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    format!(
        "{} {name}",
        text.trim_end_matches('0').trim_end_matches('.')
    )
}

/// Why the verdict is as it is.
pub fn because(set: &Set, cpus: &[OnCpu], verdict: Verdict) -> String {
    let bounds = || cpus.iter().flat_map(|one| &one.judged.bounds);
    let name = |bound: &Bound| &set.tasks[bound.task].name;
    let deadline = |bound: &Bound| set.tasks[bound.task].deadline_ns;
    match verdict {
        Verdict::Schedulable => {
            let part = |bound: &Bound| bound.bound_ns.unwrap_or(0) as f64 / deadline(bound) as f64;
            let tightest = bounds().max_by(|one, other| part(one).total_cmp(&part(other)));
            tightest.map_or_else(String::new, |bound| {
                format!(
                    "every deadline is met; the nearest to its own is {}, done {} after its event \
                     at the latest, of {}",
                    name(bound),
                    time(bound.bound_ns.unwrap_or(0)),
                    time(deadline(bound))
                )
            })
        }
        Verdict::Refused => {
            let full = cpus
                .iter()
                .find(|one| one.judged.quick.says == Says::Misses);
            if let Some(one) = full {
                let times = match one.judged.quick.value {
                    value if value < 1.0001 => "a hair more than all of".to_owned(),
                    value => format!("{value:.4} times"),
                };
                return format!(
                    "CPU {} would need {times} its time: {:.4} for tasks, {:.4} for interrupts",
                    one.number,
                    one.cpu.utilisation(),
                    one.cpu.taken()
                );
            }
            let late = bounds().find(|bound| bound.meets == Fits::No);
            let is_exact = cpus
                .iter()
                .all(|one| one.judged.fits != Fits::No || one.cpu.is_exact);
            let claim = match is_exact {
                true => "; it can miss",
                false => "; no analysis here shows that it cannot miss",
            };
            match late {
                Some(bound) => match bound.bound_ns {
                    Some(ns) => format!(
                        "{} is done {} after its event at the latest, and its deadline is {}{claim}",
                        name(bound),
                        time(ns),
                        time(deadline(bound))
                    ),
                    None => format!("the response of {} grows without end", name(bound)),
                },
                None => format!("the demand of some stretch of time is not met{claim}"),
            }
        }
        Verdict::Unknown => match unprotected(set, cpus) {
            Some(lock) => format!(
                "the lock {lock} has no protocol: a task of middle priority can hold up its owner \
                 without bound"
            ),
            None => {
                let spent = bounds().find(|bound| bound.why == Some(Why::Spent));
                spent.map_or_else(
                    || "no CPU was found for every task".to_owned(),
                    |bound| {
                        format!(
                            "the worst response of {} takes too long to find out",
                            name(bound)
                        )
                    },
                )
            }
        },
    }
}

/// What would settle an unknown.
pub fn settle(set: &Set, cpus: &[OnCpu], placement: &Placement, verdict: Verdict) -> Vec<String> {
    let mut settle = Vec::new();
    if verdict != Verdict::Unknown {
        return settle;
    }
    if let Some(lock) = unprotected(set, cpus) {
        settle.push(format!(
            "give the lock {lock} the protocol \"inheritance\" or \"ceiling\", in the program \
             (pthread_mutexattr_setprotocol) and in the file"
        ));
    }
    let any = |why: Why| {
        let mut all = cpus.iter().flat_map(|one| &one.judged.bounds);
        all.any(|bound| bound.why == Some(why))
    };
    if any(Why::Spent) {
        settle.push(
            "make periods multiples of each other, which shortens busy windows, or leave some of \
             the CPU's time unused"
                .to_owned(),
        );
    }
    if placement.how == How::NotFound {
        let names: Vec<&str> = placement
            .homeless
            .iter()
            .take(5)
            .map(|at| set.tasks[*at].name.as_str())
            .collect();
        settle.push(format!(
            "first fit has no CPU for {}; place some tasks with the key cpu, so that at most \
             {ALL_WAYS_MAX} are left to place and all ways are tried",
            names.join(", ")
        ));
    }
    settle
}

/// What the analyses take for granted.
pub fn assumptions(set: &Set) -> Vec<String> {
    let mut all = vec![
        "tasks wait only for their next event, and for locks of this file".to_owned(),
        "no job executes longer, and no event comes earlier, than the file says".to_owned(),
    ];
    if set.tasks.iter().any(|task| !task.locks.is_empty()) {
        all.push("locks are not taken inside each other, and nobody sleeps with one".to_owned());
    }
    for task in &set.tasks {
        if let Execution::Measured(measured) = &task.execution {
            all.push(format!(
                "execution of {}, from {}: {}",
                task.name, measured.file, measured.doubt
            ));
        }
    }
    all
}

/// What else is to be known.
pub fn notes(set: &Set, cpus: &[OnCpu], placement: &Placement) -> Vec<String> {
    let mut notes = Vec::new();
    match placement.how {
        How::AllWays => notes.push("CPUs: first fit found none, all ways did".to_owned()),
        How::NoWay => notes.push("CPUs: all ways to place the tasks were tried".to_owned()),
        How::Said | How::FirstFit | How::NotFound => {}
    }
    for one in cpus {
        match one.found {
            Found::Searched => notes.push(format!("CPU {}: artis chose priorities", one.number)),
            Found::None => notes.push(format!(
                "CPU {}: no order of priorities was found that fits; they are by deadlines",
                one.number
            )),
            Found::Said => {}
        }
    }
    if set.platform == crate::model::Platform::default() {
        notes.push(
            "without [platform] the machine takes nothing: real ones do, see artis admit --example"
                .to_owned(),
        );
    }
    let has_ceiling = set
        .locks
        .iter()
        .any(|lock| lock.protocol == Protocol::Ceiling);
    if set.policy == Policy::Edf {
        notes.push(
            "under EDF the deadline to set for a task is its own less jitter and wakeup, counted \
             from its release, and artis run sets that"
                .to_owned(),
        );
        if has_ceiling {
            notes.push(
                "Linux has no ceilings for SCHED_DEADLINE; the program has to keep them".to_owned(),
            );
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_rounded_up() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1500, "1.5 us"),
            (1_000_001, "1.001 ms"),
            (250_000, "250 us"),
            (86_400_000_000_000, "86400 s"),
        ] {
            assert_eq!(time(ns), text);
        }
    }
}
