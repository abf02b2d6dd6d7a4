// SPDX-License-Identifier: GPL-2.0-only
//! The ways to notice that a task enters the kernel, and what each cannot see.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How system calls on an RT CPU are noticed. Page faults and signals are noticed the same
/// way with both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detector {
    /// The system call tracepoints, by perf events on the RT CPUs: works everywhere, costs the
    /// other CPUs next to nothing.
    Syscall,
    /// Context tracking: costs the NRT CPUs nothing, needs `nohz_full` on every RT CPU.
    Entry,
}

impl Detector {
    /// What this detector cannot see: kernel work that may still run on an RT CPU.
    pub fn blind_spots(self) -> &'static [&'static str] {
        match self {
            Self::Syscall => &[
                "seccomp filters and system call user dispatch: they come before the tracepoint",
                "system calls, while a BPF program of somebody else on raw_syscalls:sys_enter \
                 returns 0, which ends the event before perf",
                "exceptions other than page faults (divide error, breakpoint), \
                 until they become a signal",
                "task work on the way back to user mode",
                "calls on NRT CPUs: the next-migration-attempt estimate learns from stays on RT CPUs",
            ],
            Self::Entry => &[
                "exceptions other than page faults (divide error, breakpoint), \
                 until they become a signal",
                "task work on the way back to user mode",
                "calls that were moved only half-way through: the leak counter shows whole ones",
                "calls on NRT CPUs: the next-migration-attempt estimate learns from stays on RT CPUs",
            ],
        }
    }
}

impl fmt::Display for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syscall => "syscall",
            Self::Entry => "entry",
        })
    }
}
