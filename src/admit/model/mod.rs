// SPDX-License-Identifier: GPL-2.0-only
//! The task model: what a set of tasks asks for, and what the platform takes.
//!
//! Sporadic tasks with release jitter and arbitrary deadlines, as in K. Tindell, A. Burns,
//! A. Wellings, "An extendible approach for analysing fixed priority hard real-time tasks", 1994.
//! Tasks do not suspend themselves. All times are nanoseconds.

mod check;
mod read;
mod time;
mod written;

pub use check::check;
pub use time::{Measured, Part, measured};

use artis_result::damage::Fault;
use serde::{Deserialize, Serialize};

/// The longest time of a model, one day: what is longer is no real-time task, and sums of so many
/// nanoseconds stay far below what 64 bits hold.
pub const TIME_NS_MAX: u64 = 86_400_000_000_000;
/// The most CPUs that tasks are placed on.
pub const CPUS_MAX: usize = 1024;
/// The most tasks of a set.
pub const TASKS_MAX: usize = 1_000_000;

/// What is wrong with a file of tasks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The line, the key, its value and what is allowed.
    #[error(transparent)]
    Syntax(#[from] Fault),
    /// Two parts of the file that do not go together.
    #[error("{0}")]
    Contradiction(String),
}

/// How jobs of one CPU are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Rate monotonic: the shorter the period, the higher the priority.
    Rm,
    /// Deadline monotonic: the shorter the deadline, the higher the priority.
    Dm,
    /// As the file says; where no task has a priority, they are chosen (Audsley).
    Given,
    /// The earliest deadline first.
    Edf,
    /// In the order of their releases.
    Fifo,
}

impl Policy {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rm => "rm",
            Self::Dm => "dm",
            Self::Given => "given",
            Self::Edf => "edf",
            Self::Fifo => "fifo",
        }
    }
}

/// What keeps the holder of a lock from being held up by tasks of middle priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Nothing: no bound exists.
    None,
    /// The holder has the priority of the highest that waits (`PTHREAD_PRIO_INHERIT`).
    Inheritance,
    /// The holder has the priority of the highest that ever takes it (`PTHREAD_PRIO_PROTECT`).
    Ceiling,
}

/// A lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    pub name: String,
    pub protocol: Protocol,
}

/// A task takes a lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Which of [`Set::locks`].
    pub lock: usize,
    /// The longest time it is held at a stretch.
    pub time_ns: u64,
}

/// How long a job executes.
#[derive(Clone, Debug, PartialEq)]
pub enum Execution {
    /// At most so long.
    Ns(u64),
    /// As a result file of `artis measure exec` says, which the caller reads.
    Measured(Measured),
}

/// Whom the commands of the answer are for.
#[derive(Clone, Debug, PartialEq)]
pub enum Who {
    /// Not said.
    Nobody,
    /// A command and its words.
    Command(Vec<String>),
    /// Threads of a running program, by their name.
    Threads(String),
}

/// What happens when a job executes longer than the task's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnOverrun {
    /// It is counted, and said.
    Report,
    /// The thread becomes a normal task.
    Demote,
    /// Its process is ended.
    End,
}

impl OnOverrun {
    /// Its word in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Demote => "demote",
            Self::End => "end",
        }
    }
}

/// A task: one table of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub name: String,
    /// From one release to the next, or the least distance of two events.
    pub period_ns: u64,
    /// A timer releases it, so its offset can be chosen.
    pub is_periodic: bool,
    pub deadline_ns: u64,
    pub execution: Execution,
    /// How much later than its event a release may be.
    pub jitter_ns: u64,
    /// When the first release is, where that is not to be chosen.
    pub offset_ns: Option<u64>,
    /// `SCHED_FIFO` priority, of the policy `given`.
    pub priority: Option<u8>,
    /// The only CPU that it may run on.
    pub cpu: Option<u32>,
    /// The longest stretch during which it lets nobody else run.
    pub section_ns: u64,
    pub locks: Vec<Held>,
    pub who: Who,
    /// None: nobody watches its jobs.
    pub on_overrun: Option<OnOverrun>,
    /// It runs in a constant-bandwidth server, which no analysis here knows.
    pub has_server: bool,
}

impl Task {
    /// A periodic task with its deadline at the end of the period, and nothing else.
    pub fn new(name: &str, execution_ns: u64, period_ns: u64) -> Self {
        Self {
            name: name.to_owned(),
            period_ns,
            is_periodic: true,
            deadline_ns: period_ns,
            execution: Execution::Ns(execution_ns),
            jitter_ns: 0,
            offset_ns: None,
            priority: None,
            cpu: None,
            section_ns: 0,
            locks: Vec::new(),
            who: Who::Nobody,
            on_overrun: None,
            has_server: false,
        }
    }

    /// How long a job executes at most; 0 until a measured time was read.
    pub fn execution_ns(&self) -> u64 {
        match &self.execution {
            Execution::Ns(ns) => *ns,
            Execution::Measured(measured) => measured.ns.unwrap_or(0),
        }
    }
}

/// The periodic tick of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    pub period_ns: u64,
    pub length_ns: u64,
    /// When the first one is, on the clock of the offsets.
    pub phase_ns: u64,
}

/// Interrupts of one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interrupt {
    pub name: String,
    /// The least time between two.
    pub period_ns: u64,
    pub length_ns: u64,
    /// How much sooner than that two may follow each other.
    pub jitter_ns: u64,
    /// Where they arrive; none: on every CPU.
    pub cpu: Option<u32>,
}

/// What the machine takes from the tasks of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Platform {
    /// The longest time from an event until its task can run on an idle CPU.
    pub wakeup_ns: u64,
    /// The part of it that varies.
    pub jitter_ns: u64,
    /// One switch from a task to another; a job costs two.
    pub switch_ns: u64,
    /// The interrupt that releases a job, whoever runs then.
    pub release_ns: u64,
    /// The longest stretch with preemption off, in the kernel.
    pub section_ns: u64,
    pub tick: Option<Tick>,
    pub interrupts: Vec<Interrupt>,
}

/// A set of tasks, the CPUs they may have, and what those take.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    pub name: String,
    pub policy: Policy,
    /// RT CPUs, ascending; at least one.
    pub cpus: Vec<u32>,
    /// Jobs can be preempted; else each runs to its end.
    pub is_preemptive: bool,
    pub platform: Platform,
    pub locks: Vec<Lock>,
    pub tasks: Vec<Task>,
}

impl Platform {
    /// The table `[platform]` of a file, whatever else is in it.
    ///
    /// # Errors
    /// [`Error`], a sentence.
    pub fn parse(text: &str) -> Result<Self, Error> {
        read::read_platform(text)
    }

    /// The longest time that the kernel charges to a job of `execution_ns` on a CPU: its switches,
    /// and the interrupts and ticks that may come meanwhile, are charged to whom they interrupt.
    pub fn charged_ns(&self, execution_ns: u64, cpu: u32) -> u64 {
        let on_cpu = |one: &&Interrupt| one.cpu.is_none_or(|only| only == cpu);
        let interrupts = self.interrupts.iter().filter(on_cpu);
        let mut streams: Vec<(u64, u64, u64)> = interrupts
            .map(|one| (one.period_ns, one.jitter_ns, one.length_ns))
            .collect();
        streams.extend(self.tick.map(|tick| (tick.period_ns, 0, tick.length_ns)));
        let own_ns = execution_ns + 2 * self.switch_ns;
        let mut charged_ns = own_ns;
        // It grows from step to step; interrupts that take all of the CPU end it at the period.
        while charged_ns < TIME_NS_MAX {
            let of = |(period_ns, jitter_ns, length_ns): &(u64, u64, u64)| {
                (charged_ns + jitter_ns).div_ceil(*period_ns) * length_ns
            };
            let next_ns = own_ns + streams.iter().map(of).sum::<u64>();
            if next_ns == charged_ns {
                break;
            }
            charged_ns = next_ns;
        }
        charged_ns
    }
}

impl Set {
    /// Understands a file of tasks.
    ///
    /// # Errors
    /// [`Error`], a sentence.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let set = read::read(text)?;
        check(&set)?;
        Ok(set)
    }

    /// A set on CPU 1 of a machine that takes nothing.
    pub fn new(policy: Policy, tasks: Vec<Task>) -> Self {
        Self {
            name: "tasks".to_owned(),
            policy,
            cpus: vec![1],
            is_preemptive: true,
            platform: Platform::default(),
            locks: Vec::new(),
            tasks,
        }
    }
}
