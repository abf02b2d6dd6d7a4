// SPDX-License-Identifier: GPL-2.0-only
//! The ways to notice that a task enters the kernel, and what each cannot see.

use super::watch::breakpoint;
use artis_machine::Root;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait for breakpoints that somebody else holds.
const PATIENCE: Duration = Duration::from_secs(1);

/// How system calls on an RT CPU are noticed. Page faults and signals are noticed the same
/// way with all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detector {
    /// Breakpoint registers of the RT CPUs: cost the other CPUs nothing, need a kernel and a
    /// machine that let them be set.
    Breakpoint,
    /// The system call tracepoint, by perf events on the RT CPUs: works everywhere, costs the
    /// other CPUs some 100 instructions a system call.
    Syscall,
    /// Context tracking: costs the NRT CPUs nothing, needs `nohz_full` on every RT CPU.
    Entry,
}

impl Detector {
    /// The one that suits this machine; where breakpoints cannot be used, why not. Context
    /// tracking costs RT0 more at each wakeup than the tracepoint costs the others, so only who
    /// asks for it gets it.
    pub fn best(root: &Root) -> (Self, Option<breakpoint::Error>) {
        let began = Instant::now();
        loop {
            match breakpoint::functions(root) {
                Ok(_) => return (Self::Breakpoint, None),
                // The kernel gives those of a process back a moment after its end.
                Err(reason) if reason.is_passing() && began.elapsed() < PATIENCE => {
                    thread::sleep(PATIENCE / 10);
                }
                Err(reason) => return (Self::Syscall, Some(reason)),
            }
        }
    }

    /// Can the best of all be used?
    pub fn can_be_best(root: &Root) -> bool {
        breakpoint::functions(root).is_ok()
    }

    /// What this detector cannot see: kernel work that may still run on an RT CPU.
    pub fn blind_spots(self) -> &'static [&'static str] {
        match self {
            Self::Breakpoint => &[
                "seccomp filters and system call user dispatch: they come before the breakpoint",
                "exceptions other than page faults (divide error, breakpoint), \
                 until they become a signal",
                "task work on the way back to user mode",
                "calls on NRT CPUs: the next-migration-attempt estimate learns from stays on RT CPUs",
            ],
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
            Self::Breakpoint => "breakpoint",
            Self::Syscall => "syscall",
            Self::Entry => "entry",
        })
    }
}
