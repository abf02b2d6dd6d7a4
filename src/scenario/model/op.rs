// SPDX-License-Identifier: GPL-2.0-only
//! What a task can do in one step, and what each step means.

use super::Policy;
use artis_machine::CpuList;
use serde::Serialize;

/// One step of a program.
///
/// Numbers name objects of the scenario ([`super::Objects`]), or its tasks, by their place.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Computes in user mode, without a system call: so much work, however long that takes.
    Compute(Work),
    /// Computes in user mode until the clock has gone on by so much, also while others ran.
    Busy { ns: u64 },
    /// Reads or writes memory in user mode.
    Memory(Memory),
    /// Enters the kernel once and works there for so long; 0: the shortest system call there is.
    Kernel { ns: u64 },
    /// Maps so many new pages, writes to each, which faults, and unmaps them.
    Faults { pages: u32 },
    /// Reads or writes the task's own file through the page cache, in calls of 64 KiB at most.
    File { direction: Direction, bytes: u64 },
    /// Sleeps for so long from now.
    Sleep { ns: u64 },
    /// Waits until the timer's next time. That time begins as the task's own start (of a shared
    /// timer: the first user's start), and each use adds `period_ns` to it. Where it has passed
    /// already, the task does not wait, a deadline is missed, and the time of a relative timer
    /// becomes now.
    Timer { timer: usize, period_ns: u64 },
    /// Waits for the next arrival of a stream. Arrivals wait for the task, none is lost; each task
    /// that uses a stream gets the stream's every arrival.
    Arrival { arrivals: usize },
    /// Takes a mutex.
    Lock(usize),
    /// Gives it back; by its holder only.
    Unlock(usize),
    /// Gives the mutex back, waits for a signal of the condition and takes the mutex again.
    /// A signal without a waiter is lost.
    Wait { condition: usize, mutex: usize },
    /// Wakes the first that waits for a condition.
    Signal(usize),
    /// Wakes all that wait for a condition.
    Broadcast(usize),
    /// Adds one to a semaphore.
    Post(usize),
    /// Waits until a semaphore is above 0 and takes one from it.
    Acquire(usize),
    /// Waits until all parties of a barrier are there.
    Barrier(usize),
    /// Writes a message into a channel; waits while the channel is full.
    Send { channel: usize, bytes: u32 },
    /// Waits until so many bytes are in a channel and takes them out.
    Receive { channel: usize, bytes: u32 },
    /// Sends a signal to every living instance of a task. As queued signals do, they wait for it.
    Raise { task: usize },
    /// Waits for a signal and takes it, through a signalfd or with sigwait.
    AwaitSignal { by_descriptor: bool },
    /// Waits with epoll until one of these is ready, and takes from each that is.
    Poll(Vec<Source>),
    /// Starts one more instance of a task, as a child of this one.
    Fork { task: usize },
    /// Waits until every instance of a task has ended, whoever started it.
    Join { task: usize },
    /// Changes how this task is scheduled from here on.
    Become(Box<Change>),
    /// Lets others of the same priority run.
    Yield,
}

/// Work in user mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// As much as an undisturbed CPU of the machine does in this time.
    Ns(u64),
    /// So many instructions.
    Instructions(u64),
}

/// Work on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    pub access: Access,
    /// How many bytes are read or written, or, of a chase, how many reads there are.
    pub amount: u64,
    /// The size of the buffer, which begins anew when it ends.
    pub buffer_bytes: u64,
    /// The buffer of this number is shared by all tasks that name it; none: each has its own.
    pub shared: Option<usize>,
}

/// How memory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
    /// Each read needs the result of the one before, `stride` bytes from it or anywhere.
    Chase {
        stride: u32,
        is_random: bool,
    },
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Read,
    Write,
}

/// What epoll waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A message of so many bytes.
    Channel { channel: usize, bytes: u32 },
    /// A timerfd, with the rule of [`Op::Timer`].
    Timer { timer: usize, period_ns: u64 },
    /// A signal, through a signalfd.
    Signal,
}

/// What [`Op::Become`] changes; what is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Change {
    pub policy: Option<Policy>,
    pub cpus: Option<CpuList>,
    /// Which of the groups.
    pub group: Option<usize>,
}

impl Op {
    /// Whether it takes time or can wait: a loop without end needs one that does.
    pub fn takes_time(&self) -> bool {
        match self {
            Self::Compute(Work::Ns(amount) | Work::Instructions(amount))
            | Self::Busy { ns: amount }
            | Self::Sleep { ns: amount }
            | Self::File { bytes: amount, .. } => *amount > 0,
            Self::Memory(memory) => memory.amount > 0,
            Self::Faults { pages } => *pages > 0,
            Self::Timer { period_ns, .. } => *period_ns > 0,
            // The shortest call takes some time, too.
            Self::Kernel { .. }
            | Self::Arrival { .. }
            | Self::Wait { .. }
            | Self::Acquire(_)
            | Self::Barrier(_)
            | Self::Send { .. }
            | Self::Receive { .. }
            | Self::AwaitSignal { .. }
            | Self::Poll(_) => true,
            Self::Fork { .. }
            | Self::Join { .. }
            | Self::Lock(_)
            | Self::Unlock(_)
            | Self::Signal(_)
            | Self::Broadcast(_)
            | Self::Post(_)
            | Self::Raise { .. }
            | Self::Become(_)
            | Self::Yield => false,
        }
    }
}
