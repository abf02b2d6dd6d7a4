// SPDX-License-Identifier: GPL-2.0-only
//! What is known at one moment: the document of `artis top --once --json`, `artis.top/1`.

use artis_machine::tasks::Policy;
use artis_sched::status::Details;
use artis_task::kind::Kind;
use artis_watch::{Histogram, Thread};
use serde::Serialize;

/// The name of the format.
pub const SCHEMA: &str = "artis.top/1";

/// All of it. Times in nanoseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Now {
    pub schema: &'static str,
    /// The version of artis.
    pub tool: &'static str,
    pub kernel: String,
    /// How long is looked at wakeups.
    pub watched_s: f64,
    /// None: artis does not schedule, or cannot be asked.
    pub scheduler: Option<Details>,
    pub watch: Watch,
    pub cpus: Vec<Cpu>,
    /// Threads of a real-time policy.
    pub rt0: Vec<Rt0>,
    pub rt1: Vec<Rt1>,
    pub partition: Partition,
    /// The newest first.
    pub culprits: Vec<Culprit>,
    /// What cannot be seen here, a sentence each.
    pub unknown: Vec<String>,
}

/// The light watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Watch {
    pub is_on: bool,
    /// Wakeups above it are late.
    pub bound_ns: Option<u64>,
    /// Wakeups of threads for which there was no room.
    pub not_kept: u64,
    /// Late wakeups that came faster than they were looked at.
    pub missed: u64,
    /// How often the flight recorder was switched on.
    pub recordings: u64,
    /// It is on now.
    pub is_recording: bool,
}

/// What a CPU is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Of the scheduler's RT CPUs.
    Rt,
    /// Of its others.
    Nrt,
    /// Kept from ordinary tasks by the kernel (`isolcpus=`).
    Isolated,
    /// Nobody gave it a role.
    Any,
    Offline,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Self::Rt => "RT",
            Self::Nrt => "NRT",
            Self::Isolated => "isolated",
            Self::Any => "-",
            Self::Offline => "offline",
        }
    }
}

/// A CPU and who had it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cpu {
    pub cpu: u32,
    pub role: Role,
    /// Since the last look, 0 to 1; none at the first one.
    pub busy: Option<f64>,
    /// What the hypervisor took.
    pub stolen: Option<f64>,
    /// Who had most of its time, by steps of 10 ms.
    pub holder: Option<Holder>,
}

/// Who had most of a CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    pub tid: i32,
    pub name: String,
    pub class: Kind,
    /// Of the CPU's time, 0 to 1.
    pub share: f64,
}

/// Lengths of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lengths {
    pub count: u64,
    pub median_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p999_ns: Option<u64>,
    pub max_ns: Option<u64>,
    #[serde(skip)]
    pub histogram: Histogram,
}

impl Lengths {
    pub fn of(histogram: &Histogram) -> Self {
        let count = histogram.count();
        Self {
            count,
            median_ns: histogram.quantile_ns(0.5),
            p99_ns: histogram.quantile_ns(0.99),
            p999_ns: histogram.quantile_ns(0.999),
            max_ns: (count > 0).then_some(histogram.max_ns),
            histogram: histogram.clone(),
        }
    }
}

/// What was counted of a thread's wakeups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wakeups {
    /// A second, since the last look; none at the first one.
    pub rate: Option<f64>,
    pub count: u64,
    /// After the due time of a timer.
    pub late: Lengths,
    /// Of others, from runnable to running.
    pub queued: Lengths,
    /// Above the bound; none without a bound.
    pub above: Option<u64>,
    pub unseen: u64,
}

impl Wakeups {
    pub fn of(thread: &Thread, rate: Option<f64>, bound_ns: Option<u64>) -> Self {
        Self {
            rate,
            count: thread.wakeups(),
            late: Lengths::of(&thread.late),
            queued: Lengths::of(&thread.queued),
            above: bound_ns.map(|_| thread.above),
            unseen: thread.unseen,
        }
    }

    /// The kind that most of them are of: the late ones where there are any.
    pub fn chief(&self) -> (&Lengths, bool) {
        match self.late.count >= self.queued.count {
            true => (&self.late, true),
            false => (&self.queued, false),
        }
    }

    /// The longest of either kind.
    pub fn worst_ns(&self) -> Option<u64> {
        self.late.max_ns.max(self.queued.max_ns)
    }
}

/// A thread of a real-time policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rt0 {
    pub tid: i32,
    pub pid: i32,
    pub name: String,
    pub class: Kind,
    pub policy: Policy,
    pub priority: u32,
    /// On which it ran last.
    pub cpu: u32,
    /// None: not watched.
    pub wakeups: Option<Wakeups>,
    /// None: it was not admitted.
    pub admitted: Option<Admitted>,
}

/// What a task was admitted with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Admitted {
    /// The bound of its response time; none: the analysis has none.
    pub bound_ns: Option<u64>,
    pub deadline_ns: u64,
    pub period_ns: u64,
    pub is_forced: bool,
}

/// An RT1+ task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rt1 {
    pub tid: i32,
    pub pid: i32,
    pub name: String,
    /// 1, the highest, to 40.
    pub level: i32,
    pub cpu: u32,
    /// Of one CPU's time since the last look, by steps of 10 ms.
    pub share: Option<f64>,
}

/// The changes that partition the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Partition {
    /// In the journals; none: they cannot be read.
    pub changes: Option<u64>,
    /// Those that somebody else has changed since, by the places where they are.
    pub drifted: Vec<String>,
}

/// Who made a wakeup late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Culprit {
    /// RFC 3339, UTC.
    pub at: String,
    pub tid: u32,
    pub thread: String,
    pub late_ns: u64,
    /// What took most of it.
    pub lane: String,
    /// None: it is not known.
    pub who: Option<String>,
    pub ns: u64,
}

impl Now {
    /// Ways around the promise that the scheduler has counted; none while it is off.
    pub fn leaks(&self) -> Option<u64> {
        Some(self.scheduler.as_ref()?.sum("leaks_"))
    }
}
