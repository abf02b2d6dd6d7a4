// SPDX-License-Identifier: GPL-2.0-only
//! The three classes of tasks, as policy, priority and affinity of a thread.
//!
//! Source: piel-artis, section 2.1. RT1 to RT99 of the paper are the 40 levels that the nice
//! value offers to a BPF scheduler.

use super::diagnose::{self, Refusal, Step};
use super::shield;
use super::syscall::{self, SCHED_DEADLINE, SCHED_EXT, Scheduling};
use artis_machine::{CpuList, Root, cpus};
use nix::errno::Errno;
use std::fmt;

/// What a task can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Hard real time: `SCHED_FIFO` at `priority` (1 to 99, 99 highest), bound to one CPU.
    Rt0 { cpu: u32, priority: u8 },
    /// Soft real time: `SCHED_EXT`, `level` 1 (highest) to 40 as nice value -20 to 19.
    Rt1 { level: u8 },
    /// No real-time constraint: `SCHED_NORMAL` at nice value 0.
    Linux,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rt0 { cpu, priority } => {
                write!(f, "RT0 on CPU {cpu} (SCHED_FIFO {priority})")
            }
            Self::Rt1 { level } => write!(f, "RT1+ of level {level}"),
            Self::Linux => f.write_str("a Linux task"),
        }
    }
}

/// Why a thread could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no task {tid}; `ps -eLo pid,lwp,comm` lists the ones there are")]
    NoSuchTask { tid: i32 },
    #[error("could not make task {tid} {class}: {}: {refusal}", errno.desc())]
    Refused {
        tid: i32,
        class: Class,
        errno: Errno,
        refusal: Refusal,
    },
    #[error(transparent)]
    Cpus(#[from] cpus::Error),
}

impl Class {
    fn scheduling(self, reset_on_fork: bool) -> Scheduling {
        let (policy, nice, priority) = match self {
            Self::Rt0 { priority, .. } => (libc::SCHED_FIFO, 0, u32::from(priority)),
            Self::Rt1 { level } => (SCHED_EXT, i32::from(level) - 21, 0),
            Self::Linux => (libc::SCHED_OTHER, 0, 0),
        };
        Scheduling {
            policy,
            nice,
            priority,
            // The flag stays: to clear it needs CAP_SYS_NICE, and nobody asked for that.
            reset_on_fork,
        }
    }

    /// Makes one thread a task of this class.
    ///
    /// An RT0 task is bound first and made real-time then, so that it never runs as
    /// `SCHED_FIFO` on another CPU; on the way back, the policy is changed first. The binding
    /// belongs to RT0: a task that stops being RT0 may use every CPU of its cpuset again. Any other
    /// affinity is the user's choice and stays. When the kernel refuses, the thread is unchanged.
    ///
    /// # Errors
    /// [`Error::NoSuchTask`] when the thread has ended, [`Error::Refused`] with what the
    /// kernel's refusal means on this machine.
    pub fn apply(self, root: &Root, tid: i32) -> Result<(), Error> {
        let gone = |_| Error::NoSuchTask { tid };
        let before = syscall::scheduling(tid).map_err(gone)?;
        let allowed = syscall::affinity(tid).map_err(gone)?;
        let refused = |step: Step, errno: Errno| match errno {
            Errno::ESRCH => Error::NoSuchTask { tid },
            errno => Error::Refused {
                tid,
                class: self,
                errno,
                refusal: diagnose::explain(root, tid, before, step, errno),
            },
        };
        let set_policy = || {
            let to = self.scheduling(before.reset_on_fork);
            syscall::set_scheduling(tid, to).map_err(|errno| refused(Step::Policy(to), errno))
        };
        match self {
            Self::Rt0 { cpu, .. } => {
                shield::bind(root, tid, &CpuList::from_iter([cpu]))
                    .map_err(|errno| refused(Step::Bind(cpu), errno))?;
                set_policy().inspect_err(|_| {
                    // The first refusal is the error to report; a thread that has ended meanwhile
                    // needs no affinity.
                    let _ = syscall::set_affinity(tid, &allowed);
                })
            }
            Self::Rt1 { .. } | Self::Linux => {
                set_policy()?;
                if was_rt0(before, &allowed) {
                    // Without the right to leave it stays where it is, and may not run elsewhere.
                    let _ = shield::leave(root, tid);
                    let possible = cpus::Cpus::read(root)?.possible;
                    syscall::set_affinity(tid, &possible)
                        .map_err(|errno| refused(Step::Release, errno))?;
                }
                Ok(())
            }
        }
    }
}

/// Makes the calling thread a Linux task when its policy is a real-time one; otherwise leaves its
/// nice value and affinity alone.
///
/// # Errors
/// As [`Class::apply`].
pub fn leave_realtime(root: &Root) -> Result<(), Error> {
    let tid = nix::unistd::gettid().as_raw();
    let policy = syscall::scheduling(tid)
        .map_err(|_| Error::NoSuchTask { tid })?
        .policy;
    if REALTIME.contains(&policy) {
        Class::Linux.apply(root, tid)?;
    }
    Ok(())
}

/// The policies above the fair ones.
const REALTIME: [i32; 3] = [libc::SCHED_FIFO, libc::SCHED_RR, SCHED_DEADLINE];

/// The paper's definition: a real-time policy, and bound to one and only one CPU.
fn was_rt0(scheduling: Scheduling, allowed: &CpuList) -> bool {
    REALTIME.contains(&scheduling.policy) && allowed.len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_nice_values() {
        let nice = |level| Class::Rt1 { level }.scheduling(false).nice;
        assert_eq!((nice(1), nice(21), nice(40)), (-20, 0, 19));
        assert_eq!(Class::Rt1 { level: 1 }.scheduling(false).policy, 7);
    }

    #[test]
    fn reset_on_fork_is_kept() {
        assert!(Class::Linux.scheduling(true).reset_on_fork);
        assert!(!Class::Linux.scheduling(false).reset_on_fork);
    }

    #[test]
    fn rt0_is_a_realtime_policy_and_one_cpu() {
        let fifo = Class::Rt0 {
            cpu: 1,
            priority: 99,
        }
        .scheduling(false);
        let one: CpuList = "1".parse().unwrap();
        let two: CpuList = "0-1".parse().unwrap();
        assert!(was_rt0(fifo, &one));
        assert!(!was_rt0(fifo, &two));
        assert!(!was_rt0(Class::Linux.scheduling(false), &one));
    }

    #[test]
    fn an_absent_task_is_named() {
        // Process numbers end at 2^22 (PID_MAX_LIMIT).
        let error = Class::Linux.apply(&Root::default(), 1 << 30).unwrap_err();
        assert!(error.to_string().contains("no task 1073741824"), "{error}");
    }
}
