// SPDX-License-Identifier: GPL-2.0-only
//! Policy, priority and the numbers of SCHED_DEADLINE, of a task or a phase.

use super::super::place::Wrong;
use super::super::tree::{Member, Value, find};
use super::us;
use crate::model::Policy;

/// A policy without its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Other,
    Batch,
    Idle,
    RoundRobin,
    Fifo,
    Deadline,
    Ext,
}

/// With the one that rt-app has no name for.
const NAMES: [(&str, Kind); 7] = [
    ("SCHED_OTHER", Kind::Other),
    ("SCHED_BATCH", Kind::Batch),
    ("SCHED_IDLE", Kind::Idle),
    ("SCHED_RR", Kind::RoundRobin),
    ("SCHED_FIFO", Kind::Fifo),
    ("SCHED_DEADLINE", Kind::Deadline),
    ("SCHED_EXT", Kind::Ext),
];
/// rt-app's priority of FIFO and RR where nothing is said.
const PRIORITY: i64 = 10;

impl Kind {
    pub fn of(key: &str, value: &Value) -> Result<Self, Wrong> {
        value.one_of(key, &NAMES)
    }

    fn of_policy(policy: Policy) -> Self {
        match policy {
            Policy::Other { .. } => Self::Other,
            Policy::Batch { .. } => Self::Batch,
            Policy::Idle => Self::Idle,
            Policy::Fifo { .. } => Self::Fifo,
            Policy::RoundRobin { .. } => Self::RoundRobin,
            Policy::Deadline { .. } => Self::Deadline,
            Policy::Ext { .. } => Self::Ext,
        }
    }
}

/// What a task says; `kind` where it says none.
pub fn of_task(members: &[Member], kind: Kind, at: usize) -> Result<Policy, Wrong> {
    let kind = match find(members, "policy") {
        Some(value) => Kind::of("policy", value)?,
        None => kind,
    };
    policy(members, kind, at, true)
}

/// What a phase changes; none: nothing.
pub fn of_phase(members: &[Member], before: Policy, at: usize) -> Result<Option<Policy>, Wrong> {
    let says = [
        "policy",
        "priority",
        "dl-runtime",
        "dl-period",
        "dl-deadline",
    ]
    .into_iter()
    .any(|key| find(members, key).is_some());
    if !says {
        return Ok(None);
    }
    let kind = match find(members, "policy") {
        Some(value) => Kind::of("policy", value)?,
        None => Kind::of_policy(before),
    };
    policy(members, kind, at, false).map(Some)
}

fn policy(members: &[Member], kind: Kind, at: usize, is_task: bool) -> Result<Policy, Wrong> {
    let priority = |range, default| match find(members, "priority") {
        Some(value) => value.whole("priority", range),
        None => Ok(default),
    };
    let nice = || Ok::<i8, Wrong>(priority(-20..=19, 0)? as i8);
    let level = || Ok::<u8, Wrong>(priority(1..=99, PRIORITY)? as u8);
    Ok(match kind {
        Kind::Other => Policy::Other { nice: nice()? },
        Kind::Batch => Policy::Batch { nice: nice()? },
        Kind::Idle => Policy::Idle,
        Kind::Ext => Policy::Ext { nice: nice()? },
        Kind::Fifo => Policy::Fifo { priority: level()? },
        Kind::RoundRobin => Policy::RoundRobin { priority: level()? },
        Kind::Deadline => deadline(members, at, is_task)?,
    })
}

/// The older names are read in tasks only, where the newer ones are not given.
fn deadline(members: &[Member], at: usize, is_task: bool) -> Result<Policy, Wrong> {
    let number = |key: &str, older: &str| {
        let value = find(members, key).map(|value| (key, value));
        let value = value.or_else(|| Some((older, find(members, older)?)).filter(|_| is_task));
        value.map(|(key, value)| us(key, value)).transpose()
    };
    let runtime_ns = number("dl-runtime", "runtime")?;
    let Some(runtime_ns) = runtime_ns.filter(|it| *it > 0) else {
        let reason = "SCHED_DEADLINE needs \"dl-runtime\", in microseconds";
        return Err(Wrong::new(at, reason));
    };
    let period_ns = number("dl-period", "period")?.unwrap_or(runtime_ns);
    let deadline_ns = number("dl-deadline", "deadline")?.unwrap_or(period_ns);
    if runtime_ns > deadline_ns || deadline_ns > period_ns {
        let reason = "write dl-runtime up to dl-deadline, and that up to dl-period";
        return Err(Wrong::new(at, reason));
    }
    Ok(Policy::Deadline {
        runtime_ns,
        deadline_ns,
        period_ns,
    })
}
