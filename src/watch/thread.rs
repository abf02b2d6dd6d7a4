// SPDX-License-Identifier: GPL-2.0-only
//! What the light watch knows of a thread, and of a wakeup above the bound.

use crate::histogram::{Histogram, begin_ns, end_ns};
use crate::skeleton::types::{watch_alert, watch_thread};
use artis_machine::tasks::Policy;

/// USER_HZ is 100 on every architecture artis runs on.
const TICK_NS: u64 = 10_000_000;

/// A thread and how its wakeups were, since it is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub tid: u32,
    pub pid: u32,
    /// When it began, since boot, by the clock that counts a suspended machine's time, too.
    pub started_ns: u64,
    pub name: String,
    pub policy: Policy,
    /// 1 to 99; 0 of a deadline task.
    pub priority: u32,
    /// That it left last.
    pub cpu: u32,
    /// Wakeups by a timer: from when it was due to the arrival on a CPU.
    pub late: Histogram,
    /// Other wakeups: from runnable to the arrival.
    pub queued: Histogram,
    /// Wakeups above the bound.
    pub above: u64,
    /// Wakeups whose arrival was not seen.
    pub unseen: u64,
    /// When it left its CPU last, by the monotonic clock.
    pub left_ns: u64,
}

/// A wakeup above the bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    pub tid: u32,
    pub pid: u32,
    pub name: String,
    pub cpu: u32,
    /// By the monotonic clock.
    pub arrived_ns: u64,
    pub value_ns: u64,
    /// How late it was; otherwise only how long it was queued.
    pub by_timer: bool,
}

impl Thread {
    /// All of its wakeups.
    pub fn wakeups(&self) -> u64 {
        self.late.count() + self.queued.count() + self.unseen
    }

    /// When it began, as `/proc` says it: with the number it tells threads apart.
    pub fn start_ticks(&self) -> u64 {
        self.started_ns / TICK_NS
    }

    /// The worst, whether late or queued.
    pub fn worst_ns(&self) -> u64 {
        self.late.max_ns.max(self.queued.max_ns)
    }

    pub(crate) fn of(raw: &watch_thread) -> Self {
        Self {
            tid: raw.tid,
            pid: raw.tgid,
            started_ns: raw.started_ns,
            name: text(&raw.name),
            policy: Policy::from_number(raw.policy),
            priority: u32::try_from(99 - raw.prio)
                .ok()
                .filter(|it| *it < 100)
                .unwrap_or(0),
            cpu: raw.cpu,
            late: Histogram::new(&raw.late, raw.late_ns_max),
            queued: Histogram::new(&raw.queued, raw.queued_ns_max),
            above: raw.above,
            unseen: raw.unseen,
            left_ns: raw.left_ns,
        }
    }
}

impl Alert {
    /// None for one that is being written.
    pub(crate) fn of(raw: &watch_alert, number: u64) -> Option<Self> {
        let fits = (begin_ns(raw.bucket)..end_ns(raw.bucket)).contains(&raw.value_ns)
            || raw.value_ns >= crate::MOST_NS;
        (raw.number == number && fits).then(|| Self {
            tid: raw.tid,
            pid: raw.tgid,
            name: text(&raw.name),
            cpu: raw.cpu,
            arrived_ns: raw.arrived_ns,
            value_ns: raw.value_ns,
            by_timer: raw.by_timer != 0,
        })
    }
}

/// The text up to its first zero.
fn text(name: &[i8]) -> String {
    let bytes = name.iter().map(|one| one.cast_unsigned());
    let bytes: Vec<u8> = bytes.take_while(|one| *one != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
