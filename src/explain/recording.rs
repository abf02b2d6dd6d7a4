// SPDX-License-Identifier: GPL-2.0-only
//! What the flight recorder kept of one loss: the thread, the interval, and the events of all CPUs.
//!
//! Times are nanoseconds of `CLOCK_MONOTONIC`. A priority is the kernel's own: smaller is more
//! urgent, -1 deadline, 0 to 98 real time (99 to 1 in user space), 100 to 139 normal.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// How a thread lost its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// From when it should run to when it was in user mode again.
    #[default]
    Late,
    /// From asking for a lock to having it.
    LockedOut,
    /// An activation, from its wakeup to its next sleep, in which it was preempted, interrupted, or
    /// had page faults.
    Stretched,
}

/// A task that has a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// When a timer was due that it slept for in time: from then on its own events show what it
    /// did. 0: from `due_ns` on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from_ns: u64,
    /// The number of the system call that it slept in then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// It did something else then, and was late to ask for its timer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub busy: bool,
}

impl Subject {
    /// When its history begins.
    pub fn begin_ns(&self) -> u64 {
        match self.from_ns {
            0 => self.due_ns,
            from_ns => from_ns.min(self.due_ns),
        }
    }
}

/// Why a task that sleeps is not woken by what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sleep {
    /// Its wait cannot be interrupted: a lock of the kernel, memory.
    Uninterruptible,
    Disk,
    /// By a signal.
    Stopped,
    /// For its tracer.
    Traced,
    Frozen,
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

/// What is short of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reclaim {
    Machine,
    Cgroup,
    /// There is no large piece of it.
    Compaction,
}

/// Another task gets the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    pub next: Task,
    pub previous: u32,
    /// The one that goes waits for something.
    pub blocked: bool,
    /// The number of the system call that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// How it waits, where that is not the usual way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Sleep>,
    /// It has used up its budget as a deadline task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_budget: bool,
    /// The CPU's real-time tasks have used up their budget.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub throttled: bool,
    /// Where it was in the kernel, the innermost function first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

/// A task is woken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waking {
    pub tid: u32,
    pub by: u32,
    pub by_name: String,
    /// The expiry of the timer in whose handler it happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_due_ns: Option<u64>,
    /// The CPU that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// Where it waited for long, the innermost function first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

/// A timer's handler begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    pub function: String,
    pub due_ns: u64,
    pub slack_ns: u64,
    /// Its interrupt came in user mode. A stack may show the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_user_mode: bool,
    /// It came late. Did it come as soon as interrupts were on again?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts_were_off: Option<bool>,
    /// It came into no system call: into user mode, or a page fault.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside_calls: bool,
    /// The system call that it came into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// Its clock is one that can be set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settable: bool,
    /// The timer, where it ends a period of a cgroup's limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub limit: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

/// What happened. Functions are names where the kernel shows them, else addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    Switch(Switch),
    Waking(Waking),
    /// It is in the run queue of `on`.
    Woken {
        tid: u32,
        on: u32,
    },
    Migrate {
        tid: u32,
        to: u32,
    },
    TimerBegins(Timer),
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
    /// They were taken from a device, empty: of several, or not known which.
    Packets {
        device: String,
        packets: u32,
        /// They had waited where packets wait that are sent within the machine.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        backlog: bool,
    },
    /// A task that may not run before the period of its cgroup's limit is over.
    Limited {
        tid: u32,
        cgroup: String,
        /// The timer that ends the period.
        limit: u64,
    },
    /// A process, or a thread of it, is to stop or to go on.
    Signal {
        tid: u32,
        process: u32,
        number: u32,
        by: u32,
        by_name: String,
    },
    /// A clock says a later time than before, by so much, as its next timer shows.
    ClockSet {
        step_ns: i64,
    },
    /// A task takes memory back from others before it gets any.
    ReclaimBegins {
        tid: u32,
        reclaim: Reclaim,
    },
    ReclaimEnds {
        tid: u32,
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

/// Events that several recordings may share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events(Vec<Arc<Event>>);

impl Events {
    /// Puts them into the order of time.
    pub fn sort(&mut self) {
        self.0.sort_by_key(|event| event.ns);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Event>> {
        self.0.iter()
    }
}

impl From<Vec<Arc<Event>>> for Events {
    fn from(events: Vec<Arc<Event>>) -> Self {
        Self(events)
    }
}

impl FromIterator<Event> for Events {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        Self(events.into_iter().map(Arc::new).collect())
    }
}

impl From<Vec<Event>> for Events {
    fn from(events: Vec<Event>) -> Self {
        events.into_iter().collect()
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = &'a Arc<Event>;
    type IntoIter = std::slice::Iter<'a, Arc<Event>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for Events {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Arc::as_ref))
    }
}

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Event>::deserialize(deserializer).map(Self::from)
    }
}

/// A part of a CPU's history that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    pub cpu: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from_ns: u64,
    pub until_ns: u64,
    /// The same task had the CPU all the time: what interrupted it is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_task: bool,
    /// The kernel did not trace a switch: nothing is missing but who had the CPU.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untraced: bool,
}

impl Hole {
    /// Whether events of any task may be missing.
    pub fn hides_tasks(&self) -> bool {
        !self.keeps_task && !self.untraced
    }
}

/// What was kept of one loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    pub subject: Subject,
    /// Of all CPUs, from a little before the interval to its end, in the order of time.
    #[serde(default, skip_serializing_if = "Events::is_empty")]
    pub events: Events,
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
        self.holes.iter().any(Hole::hides_tasks)
    }
}
