// SPDX-License-Identifier: GPL-2.0-only
//! What two parts of a file must not say together.

use super::{Error, Execution, Policy, Set};
use std::collections::BTreeSet;

/// Refuses what contradicts itself.
///
/// # Errors
/// [`Error::Contradiction`].
pub fn check(set: &Set) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    for task in &set.tasks {
        let name = &task.name;
        if !names.insert(name) {
            return wrong(format!(
                "two tasks are named {name}; each needs a name of its own"
            ));
        }
        if let Some(cpu) = task.cpu.filter(|cpu| !set.cpus.contains(cpu)) {
            return wrong(format!(
                "task {name}: cpu = {cpu} is none of the set's RT CPUs; add it to cpus, or leave \
                 out cpu"
            ));
        }
        if task.priority.is_some() && set.policy != Policy::Given {
            return wrong(format!(
                "task {name}: a priority is of the policy \"given\", and the policy is {:?}; leave \
                 one of them out",
                set.policy.name()
            ));
        }
        let mut locks = BTreeSet::new();
        for held in &task.locks {
            locks.insert(held.lock);
            if let Execution::Ns(ns) = task.execution
                && held.time_ns > ns
            {
                return wrong(format!(
                    "task {name}: it holds the lock {} longer than it executes; make that time \
                     shorter, or execution longer",
                    set.locks[held.lock].name
                ));
            }
        }
        if let Execution::Ns(ns) = task.execution
            && task.section_ns > ns
        {
            return wrong(format!(
                "task {name}: its section is longer than it executes; make that shorter, or \
                 execution longer"
            ));
        }
    }
    let with_priority = set.tasks.iter().filter(|task| task.priority.is_some());
    let count = with_priority.count();
    if set.policy == Policy::Given && count > 0 && count < set.tasks.len() {
        return wrong(
            "some tasks have a priority and some have none; give all of them one, or none, and \
             artis chooses them"
                .to_owned(),
        );
    }
    platform(set)
}

fn platform(set: &Set) -> Result<(), Error> {
    let platform = &set.platform;
    if platform.jitter_ns > platform.wakeup_ns {
        return wrong(
            "[platform] jitter is the part of wakeup that varies, and it is longer than wakeup; \
             make wakeup longer"
                .to_owned(),
        );
    }
    if let Some(tick) = &platform.tick
        && tick.length_ns >= tick.period_ns
    {
        return wrong(
            "[platform.tick] length is not below its period, so nothing else would run; make it \
             shorter"
                .to_owned(),
        );
    }
    let interrupt = platform.interrupts.iter();
    let mut endless = interrupt.filter(|one| one.length_ns >= one.period_ns);
    if let Some(one) = endless.next() {
        return wrong(format!(
            "the interrupt {}: length is not below its period, so nothing else would run; make it \
             shorter",
            one.name
        ));
    }
    Ok(())
}

fn wrong<T>(sentence: String) -> Result<T, Error> {
    Err(Error::Contradiction(sentence))
}
