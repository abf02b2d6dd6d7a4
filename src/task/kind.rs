// SPDX-License-Identifier: GPL-2.0-only
//! Which class of the paper a task is in, seen from outside.
//!
//! Source: piel-artis, section 2.1: RT0 tasks have a real-time policy and one CPU.

use artis_machine::CpuList;
use artis_machine::tasks::{Policy, Task};
use serde::Serialize;
use std::fmt;

/// The classes, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `SCHED_FIFO` or `SCHED_RR`, and bound to one CPU.
    Rt0,
    /// `SCHED_DEADLINE`.
    Deadline,
    /// `SCHED_FIFO` or `SCHED_RR` on several CPUs: in no class of the paper, and no BPF scheduler
    /// manages it.
    Unbound,
    /// `SCHED_EXT`.
    Rt1,
    /// All other tasks.
    Linux,
    /// Threads of the kernel.
    Kernel,
}

impl Kind {
    /// The class of a task that may use these CPUs.
    pub fn of(task: &Task, allowed: &CpuList) -> Self {
        match task.policy {
            _ if task.is_kernel => Self::Kernel,
            Policy::Deadline => Self::Deadline,
            Policy::Fifo | Policy::RoundRobin if allowed.len() == 1 => Self::Rt0,
            Policy::Fifo | Policy::RoundRobin => Self::Unbound,
            Policy::Ext => Self::Rt1,
            _ => Self::Linux,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Rt0 => "RT0",
            Self::Deadline => "deadline",
            Self::Unbound => "unbound",
            Self::Rt1 => "RT1+",
            Self::Linux => "Linux",
            Self::Kernel => "kernel",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_and_affinity_make_the_class() {
        let of = |policy, allowed: &str, is_kernel| {
            let task = Task {
                pid: 1,
                tid: 1,
                name: String::new(),
                is_kernel,
                is_bound: false,
                policy,
                priority: 0,
                nice: 0,
                cpu: 0,
            };
            Kind::of(&task, &allowed.parse().unwrap())
        };
        assert_eq!(of(Policy::Fifo, "1", false), Kind::Rt0);
        assert_eq!(of(Policy::RoundRobin, "0-1", false), Kind::Unbound);
        assert_eq!(of(Policy::Deadline, "1", false), Kind::Deadline);
        assert_eq!(of(Policy::Ext, "1", false), Kind::Rt1);
        assert_eq!(of(Policy::Batch, "1", false), Kind::Linux);
        assert_eq!(of(Policy::Fifo, "1", true), Kind::Kernel);
    }
}
