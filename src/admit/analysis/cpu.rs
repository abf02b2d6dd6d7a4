// SPDX-License-Identifier: GPL-2.0-only
//! One CPU in numbers: its tasks with what the platform adds to each, and what interrupts take.
//!
//! A job costs two switches more than it executes. A wakeup comes late by what varies of it, which
//! is release jitter, and lasts: both lie between an event and the end of its job, so the rest of
//! the deadline is what the scheduler has. Interrupts that release jobs, all others and the tick
//! are requests above every task.

use super::blocking::{Blocking, User};
use super::stream::{Load, Meter, Stream, Whole, whole};
use crate::model::{Policy, Set};

/// How jobs are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By fixed priorities.
    Fixed,
    Edf,
    Fifo,
}

impl Order {
    /// That of a policy.
    pub fn of(policy: Policy) -> Self {
        match policy {
            Policy::Rm | Policy::Dm | Policy::Given => Self::Fixed,
            Policy::Edf => Self::Edf,
            Policy::Fifo => Self::Fifo,
        }
    }
}

/// A task of this CPU.
#[derive(Clone, Debug)]
pub struct Member {
    /// Which of the set's tasks.
    pub task: usize,
    /// Its jobs, with their switches.
    pub stream: Stream,
    pub execution_ns: u64,
    pub deadline_ns: u64,
    /// From the event until the scheduler knows of the job, at most.
    pub delay_ns: u64,
    /// The smaller, the more urgent: of fixed priorities 255 less the priority, of EDF the
    /// deadline that the scheduler has.
    pub urgency: u64,
}

impl Member {
    /// What is left of the deadline when the scheduler knows of the job.
    pub fn room_ns(&self) -> u64 {
        self.deadline_ns.saturating_sub(self.delay_ns)
    }
}

/// A supply with a rate and a delay (I. Shin, I. Lee, 2003, and the model of pyRTA): after the
/// delay, `budget_ns` of each `period_ns`, evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub period_ns: u64,
    pub budget_ns: u64,
    pub delay_ns: u64,
}

impl Share {
    /// What it does not give of so long.
    fn taken(&self, length_ns: u64) -> u64 {
        let after = u128::from(length_ns.saturating_sub(self.delay_ns));
        let given = after * u128::from(self.budget_ns) / u128::from(self.period_ns);
        length_ns.saturating_sub(given as u64)
    }
}

/// A CPU and its tasks, most urgent first.
#[derive(Clone, Debug)]
pub struct Cpu {
    pub order: Order,
    pub is_preemptive: bool,
    pub members: Vec<Member>,
    /// Interrupts but for the tick.
    pub interrupts: Load,
    /// At most one stream.
    pub tick: Load,
    /// Where others have the CPU for a part of the time, what is left; none in files.
    pub share: Option<Share>,
    pub blocking: Blocking,
    /// Two switches.
    pub switches_ns: u64,
    /// No analysis of it is tighter: a set that fails can miss.
    pub is_exact: bool,
}

/// The highest `SCHED_FIFO` priority; urgencies count down from above it.
const URGENCY_OF_0: u64 = 255;

impl Cpu {
    /// The tasks of `set` at these places on CPU `number`; `priorities` are of all tasks.
    pub fn new(set: &Set, number: u32, tasks: &[usize], priorities: &[u8]) -> Self {
        let order = Order::of(set.policy);
        let platform = &set.platform;
        let switches_ns = 2 * platform.switch_ns;
        let mut members: Vec<Member> = tasks
            .iter()
            .map(|&at| {
                let task = &set.tasks[at];
                let delay_ns = task.jitter_ns + platform.wakeup_ns;
                let room_ns = task.deadline_ns.saturating_sub(delay_ns);
                Member {
                    task: at,
                    stream: Stream {
                        period_ns: task.period_ns,
                        jitter_ns: task.jitter_ns + platform.jitter_ns,
                        cost_ns: task.execution_ns() + switches_ns,
                        tasks: 1,
                    },
                    execution_ns: task.execution_ns(),
                    deadline_ns: task.deadline_ns,
                    delay_ns,
                    urgency: match order {
                        Order::Fixed => {
                            URGENCY_OF_0 - u64::from(priorities.get(at).copied().unwrap_or(1))
                        }
                        Order::Edf => room_ns,
                        Order::Fifo => 0,
                    },
                }
            })
            .collect();
        members.sort_by_key(|one| (one.urgency, one.task));
        let blocking = blocking(set, &members, switches_ns);
        let mut cpu = Self {
            order,
            is_preemptive: set.is_preemptive,
            interrupts: interrupts(set, number, &members),
            tick: Load::new(platform.tick.map(|tick| Stream {
                period_ns: tick.period_ns,
                jitter_ns: 0,
                cost_ns: tick.length_ns,
                tasks: 1,
            })),
            is_exact: false,
            share: None,
            blocking,
            switches_ns,
            members,
        };
        let has_offset = |one: &Member| set.tasks[one.task].offset_ns.is_some();
        // Equal priorities count against each other both ways.
        let are_distinct = cpu
            .members
            .windows(2)
            .all(|two| two[0].urgency < two[1].urgency);
        cpu.is_exact = cpu.blocking.is_none()
            && set.is_preemptive
            && switches_ns == 0
            && platform.wakeup_ns == 0
            && cpu.is_dedicated()
            && (order != Order::Fixed || are_distinct)
            && !cpu
                .members
                .iter()
                .any(|one| has_offset(one) || one.stream.jitter_ns > 0);
        cpu
    }

    /// Nothing interrupts the tasks.
    pub fn is_dedicated(&self) -> bool {
        let are_none = self.interrupts.streams().is_empty() && self.tick.streams().is_empty();
        are_none && self.share.is_none()
    }

    /// What no task gets of so long, from the beginning of a busy window on, at most.
    pub fn taken_of(&self, length_ns: u64, meter: &Meter) -> u64 {
        let interrupts = self.interrupts.work(length_ns, meter);
        let tick = self.tick.work(length_ns, meter);
        let share = self.share.map_or(0, |share| share.taken(length_ns));
        interrupts.saturating_add(tick).saturating_add(share)
    }

    /// The part of the CPU's time that tasks take, with their switches.
    pub fn utilisation(&self) -> f64 {
        let parts = self.members.iter();
        parts
            .map(|one| one.stream.cost_ns as f64 / one.stream.period_ns as f64)
            .sum()
    }

    /// The part that interrupts and the tick take.
    pub fn taken(&self) -> f64 {
        self.interrupts.utilisation() + self.tick.utilisation()
    }

    /// All requests of the first members, and interrupts, compared with the whole CPU.
    pub fn whole(&self, members: usize) -> Whole {
        let tasks = self.members[..members].iter().map(|one| one.stream);
        self.whole_of(&Load::new(tasks))
    }

    /// The requests of a load, and interrupts, compared with the whole CPU.
    pub fn whole_of(&self, load: &Load) -> Whole {
        let others = self.interrupts.streams().iter().chain(self.tick.streams());
        whole(load.streams().iter().chain(others))
    }
}

fn interrupts(set: &Set, number: u32, members: &[Member]) -> Load {
    let platform = &set.platform;
    let here = platform
        .interrupts
        .iter()
        .filter(|one| one.cpu.is_none_or(|cpu| cpu == number));
    let others = here.map(|one| Stream {
        period_ns: one.period_ns,
        jitter_ns: one.jitter_ns,
        cost_ns: one.length_ns,
        tasks: 1,
    });
    let releases = members.iter().filter(|_| platform.release_ns > 0);
    let releases = releases.map(|one| Stream {
        cost_ns: platform.release_ns,
        ..one.stream
    });
    Load::new(others.chain(releases))
}

fn blocking(set: &Set, members: &[Member], switches_ns: u64) -> Blocking {
    let section_ns = set.platform.section_ns;
    if Order::of(set.policy) == Order::Fifo {
        // A job that runs is not preempted by a task, so it waits for none.
        return Blocking::new(section_ns, vec![], vec![], &[], 0);
    }
    let sections = members.iter().map(|one| match set.is_preemptive {
        true => (one.urgency, set.tasks[one.task].section_ns),
        false => (one.urgency, one.stream.cost_ns),
    });
    let users = members.iter().filter(|_| set.is_preemptive);
    let users = users.flat_map(|one| {
        let locks = set.tasks[one.task].locks.iter();
        locks.map(|held| User {
            task: one.task,
            urgency: one.urgency,
            lock: held.lock,
            held_ns: held.time_ns,
        })
    });
    let protocols: Vec<_> = set.locks.iter().map(|lock| lock.protocol).collect();
    Blocking::new(
        section_ns,
        sections.collect(),
        users.collect(),
        &protocols,
        switches_ns,
    )
}
