// SPDX-License-Identifier: GPL-2.0-only
//! What tasks share: locks, conditions, channels, timers and control groups.

use artis_machine::CpuList;
use serde::Serialize;

/// A mutex.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mutex {
    pub name: String,
    pub protocol: Protocol,
}

/// What keeps the holder of a mutex from being held up by tasks of middle priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Nothing.
    #[default]
    None,
    /// The holder has the priority of the highest that waits (`PTHREAD_PRIO_INHERIT`).
    Inheritance,
    /// The holder runs as FIFO of this priority (`PTHREAD_PRIO_PROTECT`), 1 to 99.
    Ceiling(u8),
}

/// A counting semaphore.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Semaphore {
    pub name: String,
    /// Its value at the start.
    pub value: u32,
}

/// A point where tasks wait for one another, again and again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Barrier {
    pub name: String,
    /// When so many wait, all go on.
    pub parties: u32,
}

/// A way for messages. Each has one queue, whoever reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Channel {
    pub name: String,
    pub medium: Medium,
    /// How many bytes it holds before a sender waits.
    pub capacity_bytes: u32,
}

/// What a channel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    Pipe,
    /// A pair of Unix stream sockets.
    Socket,
}

/// A timer, for steps that repeat by absolute time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timer {
    pub name: String,
    /// All its users share one time; else each instance of a task has its own.
    pub is_shared: bool,
    /// A time that was missed moves all later ones; else they stay where they were.
    pub is_relative: bool,
    pub via: Via,
}

/// How a task waits for a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// `clock_nanosleep` with an absolute time.
    #[default]
    Nanosleep,
    /// A read of a timerfd.
    Timerfd,
}

/// A control group, below the one that the run makes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Its path, `a/b`.
    pub name: String,
    /// `cpu.weight`, 1 to 10000; none: 100.
    pub weight: Option<u32>,
    pub quota: Option<Quota>,
    /// `cpuset.cpus`.
    pub cpus: Option<CpuList>,
}

/// `cpu.max`: so much CPU time in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Quota {
    pub quota_ns: u64,
    pub period_ns: u64,
}
