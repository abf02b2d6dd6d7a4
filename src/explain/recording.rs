// SPDX-License-Identifier: GPL-2.0-only
//! What the flight recorder kept of one loss: the thread, the interval, and the events of all CPUs.
//!
//! Times are nanoseconds of `CLOCK_MONOTONIC`. A priority is the kernel's own: smaller is more
//! urgent, -1 deadline, 0 to 98 real time (99 to 1 in user space), 100 to 139 normal.

use serde::{Deserialize, Serialize};

/// How a thread lost its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// From when it should run to when it was in user mode again.
    Late,
    /// From asking for a lock to having it.
    LockedOut,
    /// An activation, from its wakeup to its next sleep, in which it was preempted, interrupted, or
    /// had page faults.
    Stretched,
}

/// A task that has a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub tid: u32,
    pub name: String,
    /// The kernel's number of its policy (`include/uapi/linux/sched.h`).
    pub policy: u32,
    pub priority: i32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kernel_thread: bool,
    /// It runs because a deadline server gives its time to normal tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub served: bool,
}

/// The thread that lost time, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub task: Task,
    pub process: u32,
    pub loss: Loss,
    /// Where the interval begins.
    pub due_ns: u64,
    /// When it was woken; 0 where nobody had to.
    pub waking_ns: u64,
    pub end_ns: u64,
    /// What it lost of the interval.
    pub lost_ns: u64,
}

/// An interrupt that the processor itself or another CPU makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vector {
    LocalTimer,
    Reschedule,
    CallFunction,
    IrqWork,
    Platform,
    Thermal,
    ApicError,
}

/// What happened. Functions are names where the kernel shows them, else addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// Another task gets the CPU.
    Switch {
        next: Task,
        previous: u32,
        /// The one that goes waits for something.
        blocked: bool,
        /// The number of the system call that it is in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<u32>,
        /// The CPU's real-time tasks have used up their budget.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        throttled: bool,
        /// Where it was in the kernel, the innermost function first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stack: Vec<String>,
    },
    Waking {
        tid: u32,
        by: u32,
        by_name: String,
        /// The expiry of the timer in whose handler it happens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timer_due_ns: Option<u64>,
    },
    /// It is in the run queue of `on`.
    Woken {
        tid: u32,
        on: u32,
    },
    Migrate {
        tid: u32,
        to: u32,
    },
    TimerBegins {
        function: String,
        due_ns: u64,
        slack_ns: u64,
        /// Its interrupt came late, and in user mode. A stack may show the same.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_user_mode: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stack: Vec<String>,
    },
    TimerEnds,
    IrqBegins {
        irq: u32,
        name: String,
    },
    IrqEnds,
    VectorBegins {
        vector: Vector,
    },
    VectorEnds,
    SoftirqBegins {
        which: u32,
    },
    SoftirqEnds,
    /// A timer of the timer wheel.
    WheelTimerBegins {
        function: String,
    },
    WheelTimerEnds,
    /// A function that another CPU asked for.
    CallBegins {
        function: String,
    },
    CallEnds,
    CallSent {
        to: u32,
        function: String,
        by: u32,
        by_name: String,
    },
    SyscallBegins {
        tid: u32,
        number: u32,
        lock: bool,
    },
    SyscallEnds {
        tid: u32,
    },
    Fault {
        tid: u32,
    },
    FaultDone {
        tid: u32,
    },
    ContentionBegins,
    ContentionEnds,
    WorkBegins {
        function: String,
    },
    WorkEnds,
    /// The CPU idles in this state; none: it stops to.
    Idle {
        state: Option<u32>,
    },
    SchedulerBegins,
    SchedulerEnds,
    /// `waiter` waits for a lock that `owner` has.
    Owner {
        waiter: u32,
        owner: Task,
    },
    Packets {
        device: String,
        packets: u32,
    },
    /// A priority is inherited, or given back.
    Priority {
        tid: u32,
        priority: i32,
    },
}

/// One event of one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub ns: u64,
    pub cpu: u32,
    /// What the hypervisor had taken from the CPU until then; 0 where nobody looked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steal_ns: u64,
    #[serde(flatten)]
    pub what: What,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// A part of a CPU's history that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    pub cpu: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from_ns: u64,
    pub until_ns: u64,
}

/// What was kept of one loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    pub subject: Subject,
    /// Of all CPUs, from a little before the interval to its end, in the order of time.
    pub events: Vec<Event>,
    /// Where events are missing: overwritten before they were copied, or not written to their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holes: Vec<Hole>,
    /// System management interrupts about that time, where the processor counts them.
    #[serde(default)]
    pub smi: u64,
    /// The machine is a virtual one.
    #[serde(default)]
    pub virtual_machine: bool,
}

/// What is wrong with a recording.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the interval of {0} ends before it begins")]
    Backwards(String),
    #[error("what {0} lost is more than its interval")]
    MoreThanAll(String),
    #[error("the interval of {0} is longer than ten years")]
    TooLong(String),
}

/// Ten years.
const LONGEST_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;

impl Recording {
    /// Refuses what no recorder writes.
    ///
    /// # Errors
    /// When the interval makes no sense.
    pub fn check(&self) -> Result<(), Error> {
        let subject = &self.subject;
        let name = || subject.task.name.clone();
        let length_ns = subject.end_ns.checked_sub(subject.due_ns);
        let length_ns = length_ns.ok_or_else(|| Error::Backwards(name()))?;
        if length_ns > LONGEST_NS {
            return Err(Error::TooLong(name()));
        }
        if subject.lost_ns > length_ns {
            return Err(Error::MoreThanAll(name()));
        }
        Ok(())
    }

    /// Whether the recorder lost something of it.
    pub fn is_incomplete(&self) -> bool {
        !self.holes.is_empty()
    }
}
