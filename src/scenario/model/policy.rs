// SPDX-License-Identifier: GPL-2.0-only
//! How a task is scheduled, and the class of the paper that this makes.

use super::Machine;
use artis_machine::CpuList;
use serde::Serialize;
use std::fmt;

/// A scheduling policy of the kernel, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`, nice value -20 to 19.
    Other { nice: i8 },
    /// `SCHED_BATCH`.
    Batch { nice: i8 },
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO`, 1 to 99, 99 the highest.
    Fifo { priority: u8 },
    /// `SCHED_RR`.
    RoundRobin { priority: u8 },
    /// `SCHED_DEADLINE`.
    Deadline {
        runtime_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    },
    /// `SCHED_EXT`: levels of RT1+ are nice values, -20 the highest.
    Ext { nice: i8 },
}

impl Default for Policy {
    fn default() -> Self {
        Self::Other { nice: 0 }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other { nice: 0 } => out.write_str("OTHER"),
            Self::Other { nice } => write!(out, "OTHER, nice {nice}"),
            Self::Batch { nice } => write!(out, "BATCH, nice {nice}"),
            Self::Idle => out.write_str("IDLE"),
            Self::Fifo { priority } => write!(out, "FIFO {priority}"),
            Self::RoundRobin { priority } => write!(out, "RR {priority}"),
            Self::Deadline { .. } => out.write_str("DEADLINE"),
            Self::Ext { nice } => write!(out, "EXT, nice {nice}"),
        }
    }
}

/// The classes of piel-artis, section 2.1, and what is in none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Hard real time: FIFO or RR, bound to one RT CPU.
    Rt0,
    /// Soft real time: `SCHED_EXT`.
    Rt1,
    /// No real-time constraint.
    Linux,
    /// A real-time policy without one RT CPU of its own, or `SCHED_DEADLINE`: no BPF scheduler
    /// manages it, and it is in no class of the paper.
    Unbound,
}

impl Class {
    /// The class that policy and CPUs (none: all) make on this machine.
    pub fn of(policy: Policy, cpus: Option<&CpuList>, machine: &Machine) -> Self {
        let is_bound =
            || cpus.is_some_and(|cpus| cpus.len() == 1 && cpus.is_subset(&machine.rt_cpus));
        match policy {
            Policy::Fifo { .. } | Policy::RoundRobin { .. } if is_bound() => Self::Rt0,
            Policy::Fifo { .. } | Policy::RoundRobin { .. } | Policy::Deadline { .. } => {
                Self::Unbound
            }
            Policy::Ext { .. } => Self::Rt1,
            Policy::Other { .. } | Policy::Batch { .. } | Policy::Idle => Self::Linux,
        }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rt0 => "RT0",
            Self::Rt1 => "RT1+",
            Self::Linux => "Linux",
            Self::Unbound => "unbound",
        }
    }
}
