// SPDX-License-Identifier: GPL-2.0-only
//! The program of a task, one step a line.

use super::super::words::plain;
use super::ns;
use artis_scenario::model::{
    Access, Change, Code, Direction, Memory, Op, Scenario, Source, Task, Work,
};

/// Of longer programs, so many places are shown.
const PLACES_MAX: usize = 100;

/// The lines, indented.
pub fn text(task: &Task, scenario: &Scenario) -> String {
    let mut text = String::new();
    let mut depth = 1;
    let code = task.program.code();
    for place in code.iter().take(PLACES_MAX) {
        let words = match place {
            Code::Do(op) => words(op, scenario),
            Code::Begin { times: None } => "for ever".to_owned(),
            Code::Begin { times: Some(1) } => "once".to_owned(),
            Code::Begin { times: Some(times) } => format!("{times} times"),
            Code::End { .. } => {
                depth -= 1;
                continue;
            }
        };
        text += &format!("{}{}\n", "  ".repeat(depth), plain(&words));
        if matches!(place, Code::Begin { .. }) {
            depth += 1;
        }
    }
    if code.len() > PLACES_MAX {
        text += &format!("  … and {} more\n", code.len() - PLACES_MAX);
    }
    text
}

fn words(op: &Op, scenario: &Scenario) -> String {
    let objects = &scenario.objects;
    let mutex = |place: usize| &objects.mutexes[place].name;
    let condition = |place: usize| &objects.conditions[place];
    let channel = |place: usize| &objects.channels[place].name;
    let task = |place: usize| &scenario.tasks[place].name;
    match op {
        Op::Compute(Work::Ns(it)) => format!("compute {}", ns(*it)),
        Op::Compute(Work::Instructions(it)) => format!("compute {it} instructions"),
        Op::Busy { ns: it } => format!("compute until {} have passed", ns(*it)),
        Op::Memory(memory) => of_memory(memory),
        Op::Kernel { ns: 0 } => "the shortest system call".to_owned(),
        Op::Kernel { ns: it } => format!("work in the kernel for {}", ns(*it)),
        Op::Faults { pages } => format!("fault on {pages} new pages"),
        Op::File { direction, bytes } => match direction {
            Direction::Read => format!("read {bytes} bytes of its file"),
            Direction::Write => format!("write {bytes} bytes to its file"),
        },
        Op::Sleep { ns: it } => format!("sleep {}", ns(*it)),
        Op::Timer { timer, period_ns } => {
            let name = &objects.timers[*timer].name;
            format!("wait for the next {} of timer {name}", ns(*period_ns))
        }
        Op::Arrival { arrivals } => {
            format!(
                "wait for an arrival of {}",
                objects.arrivals[*arrivals].name
            )
        }
        Op::Lock(it) => format!("lock {}", mutex(*it)),
        Op::Unlock(it) => format!("unlock {}", mutex(*it)),
        Op::Wait {
            condition: it,
            mutex: held,
        } => format!("wait for {} without {}", condition(*it), mutex(*held)),
        Op::Signal(it) => format!("signal {}", condition(*it)),
        Op::Broadcast(it) => format!("broadcast {}", condition(*it)),
        Op::Post(it) => format!("post {}", objects.semaphores[*it].name),
        Op::Acquire(it) => format!("acquire {}", objects.semaphores[*it].name),
        Op::Barrier(it) => format!("wait at barrier {}", objects.barriers[*it].name),
        Op::Send { channel: it, bytes } => format!("send {bytes} bytes to {}", channel(*it)),
        Op::Receive { channel: it, bytes } => {
            format!("receive {bytes} bytes from {}", channel(*it))
        }
        Op::Raise { task: it } => format!("send a signal to {}", task(*it)),
        Op::AwaitSignal { by_descriptor } => match by_descriptor {
            true => "wait for a signal with a signalfd".to_owned(),
            false => "wait for a signal with sigwait".to_owned(),
        },
        Op::Poll(sources) => of_poll(sources, scenario),
        Op::Fork { task: it } => format!("fork {}", task(*it)),
        Op::Join { task: it } => format!("join {}", task(*it)),
        Op::Become(change) => of_change(change, scenario),
        Op::Yield => "yield".to_owned(),
    }
}

fn of_memory(memory: &Memory) -> String {
    let (amount, bytes) = (memory.amount, memory.buffer_bytes);
    let what = match memory.access {
        Access::Read => format!("read {amount} bytes"),
        Access::Write => format!("write {amount} bytes"),
        Access::Chase { stride, is_random } => {
            let order = if is_random { "at random" } else { "in order" };
            format!("follow {amount} pointers {order}, {stride} bytes apart,")
        }
    };
    match memory.shared {
        None => format!("{what} of a buffer of {bytes}"),
        Some(number) => format!("{what} of the shared buffer {number} of {bytes}"),
    }
}

fn of_poll(sources: &[Source], scenario: &Scenario) -> String {
    let sources = sources.iter().map(|source| match source {
        Source::Channel { channel, bytes } => {
            let name = &scenario.objects.channels[*channel].name;
            format!("{bytes} bytes from {name}")
        }
        Source::Timer { timer, period_ns } => {
            let name = &scenario.objects.timers[*timer].name;
            format!("the next {} of timer {name}", ns(*period_ns))
        }
        Source::Signal => "a signal".to_owned(),
    });
    let sources: Vec<String> = sources.collect();
    format!("wait with epoll for {}", sources.join(" or "))
}

fn of_change(change: &Change, scenario: &Scenario) -> String {
    let mut parts = Vec::new();
    parts.extend(change.policy.map(|policy| policy.to_string()));
    parts.extend(change.cpus.as_ref().map(|cpus| format!("CPUs {cpus}")));
    let group = change
        .group
        .map(|it| format!("group {}", scenario.objects.groups[it].name));
    parts.extend(group);
    format!("become {}", parts.join(", "))
}
