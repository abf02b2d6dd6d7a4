// SPDX-License-Identifier: GPL-2.0-only
//! The answer for a set: whether it may run, what each task can count on, and what was chosen.

mod because;
mod commands;
mod document;

use crate::analysis::cpu::{Cpu, Order};
use crate::analysis::stream::Meter;
use crate::analysis::{Fits, Judged, fits, judge};
use crate::change::Changed;
use crate::choose::offsets::{self, Offsets};
use crate::choose::place::{How, Placement, place};
use crate::choose::priorities::{self, Found};
use crate::model::{Execution, Policy, Protocol, Set, TASKS_MAX};
pub use because::time;
pub use document::{Admission, OfChange, OfCpu, OfMeeting, OfTask, Verdict};

/// Steps of placing, of judging, and of finding what would have to change. Each ends in seconds.
const PLACE_STEPS: u64 = 150_000_000;
const JUDGE_STEPS: u64 = 150_000_000;
const CHANGE_STEPS: u64 = 100_000_000;
/// Of so many tasks of a CPU it is said how their numbers would have to change.
const CHANGED_MAX: usize = 24;
/// Of larger sets no other policy is tried.
const TRIED_TASKS_MAX: usize = 1000;

/// What was found for one CPU.
struct OnCpu {
    number: u32,
    tasks: Vec<usize>,
    cpu: Cpu,
    judged: Judged,
    found: Found,
    offsets: Offsets,
}

/// Judges a set whose execution times are known.
pub fn admit(set: &Set) -> Admission {
    if let Some((because, settle)) = beyond(set) {
        return document::unknown(set, because, settle);
    }
    let placement = place(set, &Meter::new(PLACE_STEPS));
    if let Some((one, other)) = placement.apart {
        let (one, other) = (&set.tasks[one].name, &set.tasks[other].name);
        return document::unknown(
            set,
            format!("{one} and {other} share a lock, directly or by others, on different CPUs"),
            "put them on one CPU: waiting for a lock of another CPU is not analysed".to_owned(),
        );
    }
    let mut numbers = vec![0; set.tasks.len()];
    let meter = Meter::new(JUDGE_STEPS);
    let cpus: Vec<OnCpu> = set
        .cpus
        .iter()
        .filter_map(|number| on_cpu(set, *number, &placement, &mut numbers, &meter))
        .collect();
    let verdict = verdict(&cpus, &placement);
    let meter = Meter::new(CHANGE_STEPS);
    let mut answer = Admission {
        name: set.name.clone(),
        policy: set.policy,
        verdict,
        because: because::because(set, &cpus, verdict),
        settle: because::settle(set, &cpus, &placement, verdict),
        cpus: cpus
            .iter()
            .map(|one| document::of_cpu(set, one, &numbers, &meter))
            .collect(),
        alternatives: match verdict {
            Verdict::Schedulable => vec![],
            _ => alternatives(set),
        },
        assumptions: because::assumptions(set),
        notes: because::notes(set, &cpus, &placement),
        commands: vec![],
    };
    if verdict == Verdict::Schedulable {
        answer.commands = commands::commands(set, &placement.cpus, &numbers);
    }
    answer
}

/// What no analysis here knows: why, and what would settle it.
fn beyond(set: &Set) -> Option<(String, String)> {
    if let Some(task) = set.tasks.iter().find(|task| task.has_server) {
        return Some((
            format!(
                "{} runs in a constant-bandwidth server, and no analysis here knows servers",
                task.name
            ),
            "leave out the key server, and give the server as a task: its budget as execution, \
             its period as period"
                .to_owned(),
        ));
    }
    let unread = |task: &&crate::model::Task| match &task.execution {
        Execution::Measured(it) => it.ns.is_none(),
        _ => false,
    };
    if let Some(task) = set.tasks.iter().find(unread) {
        return Some((
            format!("the measured execution time of {} was not read", task.name),
            "give the result file".to_owned(),
        ));
    }
    if set.tasks.len() > TASKS_MAX {
        return Some((
            format!("{} tasks are too many", set.tasks.len()),
            format!("give at most {TASKS_MAX}"),
        ));
    }
    None
}

fn on_cpu(
    set: &Set,
    number: u32,
    placement: &Placement,
    priorities: &mut [u8],
    meter: &Meter,
) -> Option<OnCpu> {
    let here = placement.cpus.iter().enumerate();
    let here = here.filter(|(_, cpu)| **cpu == number);
    let tasks: Vec<usize> = here.map(|(at, _)| at).collect();
    if tasks.is_empty() {
        return None;
    }
    let found = match Order::of(set.policy) {
        Order::Fixed => meter.share(meter.left() / 2, |part| {
            priorities::assign(set, number, &tasks, priorities, part)
        }),
        Order::Edf | Order::Fifo => Found::Said,
    };
    let cpu = Cpu::new(set, number, &tasks, priorities);
    let mut judged = judge(&cpu, meter);
    // Without a protocol a task of middle priority holds the lock's owner up without end.
    let has_no_bound = cpu.blocking.unbounded().is_some();
    if has_no_bound && judged.fits == Fits::Yes {
        judged.fits = Fits::Unknown;
    }
    Some(OnCpu {
        number,
        offsets: offsets::choose(set, &tasks),
        tasks,
        cpu,
        judged,
        found,
    })
}

fn verdict(cpus: &[OnCpu], placement: &Placement) -> Verdict {
    let any = |fits: Fits| cpus.iter().any(|one| one.judged.fits == fits);
    match placement.how {
        _ if !any(Fits::No) && !any(Fits::Unknown) => Verdict::Schedulable,
        // Other places might do.
        How::NotFound if !is_overloaded(cpus) => Verdict::Unknown,
        _ if any(Fits::No) => Verdict::Refused,
        _ => Verdict::Unknown,
    }
}

/// All CPUs together have not enough time.
fn is_overloaded(cpus: &[OnCpu]) -> bool {
    let asked: f64 = cpus
        .iter()
        .map(|one| one.cpu.utilisation() + one.cpu.taken())
        .sum();
    asked > cpus.len() as f64 + 1e-6
}

/// Whether the set fits with this policy; not where it is not known.
fn fits_with(set: &Set, meter: &Meter) -> bool {
    let placement = place(set, meter);
    let mut priorities = vec![0; set.tasks.len()];
    placement.homeless.is_empty()
        && set.cpus.iter().all(|number| {
            let here = placement.cpus.iter().enumerate();
            let here = here.filter(|(_, cpu)| *cpu == number);
            let tasks: Vec<usize> = here.map(|(at, _)| at).collect();
            if Order::of(set.policy) == Order::Fixed {
                priorities::assign(set, *number, &tasks, &mut priorities, meter);
            }
            let cpu = Cpu::new(set, *number, &tasks, &priorities);
            cpu.blocking.unbounded().is_none() && fits(&cpu, meter) == Fits::Yes
        })
}

/// Policies with which the set would fit.
fn alternatives(set: &Set) -> Vec<String> {
    if set.tasks.len() > TRIED_TASKS_MAX {
        return vec![];
    }
    let meter = Meter::new(CHANGE_STEPS);
    let mut tried = set.clone();
    for task in &mut tried.tasks {
        task.priority = None;
    }
    let others = [
        (Policy::Given, "policy = \"given\" without priorities"),
        (Policy::Edf, "policy = \"edf\""),
    ];
    let others = others.into_iter().filter(|(policy, _)| {
        let is_same = *policy == set.policy && set.tasks.iter().all(|it| it.priority.is_none());
        tried.policy = *policy;
        !is_same && fits_with(&tried, &meter)
    });
    others
        .map(|(_, words)| format!("it fits with {words}"))
        .collect()
}

/// The first lock without a protocol that tasks of one CPU share, by its name.
fn unprotected<'a>(set: &'a Set, cpus: &[OnCpu]) -> Option<&'a str> {
    let found = cpus.iter().find_map(|one| one.cpu.blocking.unbounded())?;
    debug_assert_eq!(set.locks[found].protocol, Protocol::None);
    Some(&set.locks[found].name)
}

/// What would have to change on a CPU, and how far all execution times may grow.
fn changes(set: &Set, on: &OnCpu, numbers: &[u8], meter: &Meter) -> (Option<f64>, Vec<OfChange>) {
    let changed = Changed {
        set,
        number: on.number,
        tasks: &on.tasks,
        priorities: numbers,
        meter,
    };
    if on.cpu.blocking.unbounded().is_some() {
        return (None, vec![]);
    }
    let growth = meter.share(meter.left() / 4, |part| {
        Changed {
            meter: part,
            ..changed
        }
        .growth()
    });
    if on.judged.fits == Fits::Yes || on.tasks.len() > CHANGED_MAX {
        return (growth, vec![]);
    }
    let members = on.cpu.members.iter();
    let each = members.flat_map(|member| {
        let part = meter.left() / 8;
        meter.share(part, |part| {
            Changed {
                meter: part,
                ..changed
            }
            .of_task(member.task)
        })
    });
    let each = each.map(|change| document::of_change(set, &change));
    (growth, each.collect())
}
