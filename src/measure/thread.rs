// SPDX-License-Identifier: GPL-2.0-only
//! What a measuring thread does before it measures: it binds itself to its CPUs, takes its policy,
//! and blocks the signals that other threads handle.
//!
//! Owns the choice of the priority. [`artis_task::diagnose`] says what a refusal means.

use artis_machine::{CpuList, Root};
use artis_task::diagnose::{self, Refusal, Step};
use artis_task::shield;
use artis_task::syscall::{self, SCHED_DEADLINE, SCHED_EXT, Scheduling};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use std::fmt;

/// The highest safe priority, and the default. 99 is left to watchdogs and the like, which must run
/// even when a measuring thread never sleeps.
pub const PRIORITY: u8 = 98;

/// How a measuring thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Not real-time: the policy and the nice value that artis was started with, or `SCHED_OTHER`
    /// if that is a real-time policy.
    Normal,
    /// `SCHED_OTHER` with this nice value, -20 to 19.
    Other { nice: i8 },
    /// `SCHED_EXT` with this nice value: RT1+ where artis schedules. While no BPF scheduler is on,
    /// the kernel treats it as `SCHED_OTHER`.
    Ext { nice: i8 },
    /// `SCHED_FIFO` with this priority, 1 to 99.
    Fifo(u8),
    /// `SCHED_RR`, likewise.
    RoundRobin(u8),
}

impl Policy {
    /// What a command line's priority means: 0 is [`Policy::Normal`].
    pub fn from_priority(priority: u8) -> Self {
        match priority {
            0 => Self::Normal,
            priority => Self::Fifo(priority),
        }
    }

    /// Whether it comes before all normal tasks.
    pub fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo(_) | Self::RoundRobin(_))
    }

    /// What works where it is refused.
    fn instead(self) -> &'static str {
        match self {
            Self::Normal | Self::Fifo(_) | Self::RoundRobin(_) => {
                "measure at the normal policy: -p 0"
            }
            Self::Other { .. } => "measure without --nice",
            Self::Ext { .. } => "measure at the normal policy: --policy normal",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal => f.write_str("normal"),
            Self::Other { nice } => write!(f, "normal, nice {nice}"),
            Self::Ext { nice } => write!(f, "SCHED_EXT, nice {nice}"),
            Self::Fifo(priority) => write!(f, "SCHED_FIFO {priority}"),
            Self::RoundRobin(priority) => write!(f, "SCHED_RR {priority}"),
        }
    }
}

/// Why a thread cannot measure as it should.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not bind a measuring thread to {}: {}: {refusal}", cpus.in_words(), errno.desc())]
    Bind {
        cpus: CpuList,
        errno: Errno,
        refusal: Refusal,
    },
    #[error("could not make a measuring thread {policy}: {}: {refusal}; or {instead}", errno.desc())]
    Policy {
        policy: Policy,
        errno: Errno,
        refusal: Refusal,
        /// What works without the policy.
        instead: &'static str,
    },
    #[error("could not {what} of a measuring thread")]
    System { what: &'static str, source: Errno },
}

/// Prepares the calling thread: binds it to `cpu` if there is one, gives it this policy, and blocks
/// the signals that end a run, so that they interrupt another thread.
///
/// # Errors
/// What the kernel refused, and why.
pub fn prepare(cpu: Option<u32>, policy: Policy) -> Result<(), Error> {
    let one = cpu.map(|cpu| CpuList::from_iter([cpu]));
    prepare_on(one.as_ref(), policy)
}

/// As [`prepare`], for a thread that may use several CPUs; none: those it already may use.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_on(cpus: Option<&CpuList>, policy: Policy) -> Result<(), Error> {
    let mut signals = SigSet::empty();
    signals.extend([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    signals.thread_block().map_err(|source| Error::System {
        what: "block signals",
        source,
    })?;
    let tid = nix::unistd::gettid().as_raw();
    let before = syscall::scheduling(tid).map_err(|source| Error::System {
        what: "read the policy",
        source,
    })?;
    let explain = |step, errno| diagnose::explain(&Root::default(), tid, before, step, errno);
    // Bound first, so that it is never a real-time task on another CPU.
    if let Some(cpus) = cpus {
        shield::bind(&Root::default(), tid, cpus).map_err(|errno| Error::Bind {
            errno,
            // All of them are refused, or none.
            refusal: explain(Step::Bind(cpus.first().unwrap_or(0)), errno),
            cpus: cpus.clone(),
        })?;
    }
    let Some(to) = scheduling(before, policy) else {
        return Ok(());
    };
    syscall::set_scheduling(tid, to).map_err(|errno| Error::Policy {
        policy,
        errno,
        refusal: explain(Step::Policy(to), errno),
        instead: policy.instead(),
    })
}

/// Takes the timer slack from the calling thread and from what it starts. The kernel may end a
/// sleep of a normal task this much later than asked for, 50 us by default, to join interrupts.
/// That is the same under every scheduler, and hides what the schedulers differ in. Tasks with a
/// real-time policy have none.
///
/// # Errors
/// The kernel's refusal.
///
/// Source: `PR_SET_TIMERSLACK` of prctl(2).
pub fn leave_timer_slack(policy: Policy) -> Result<(), Error> {
    if policy.is_real_time() {
        return Ok(());
    }
    // 0 would be the default.
    prctl::set_timerslack(1).map_err(|source| Error::System {
        what: "set the timer slack",
        source,
    })
}

/// What to change; nothing when the thread is already scheduled that way.
fn scheduling(before: Scheduling, policy: Policy) -> Option<Scheduling> {
    let real_time = [libc::SCHED_FIFO, libc::SCHED_RR, SCHED_DEADLINE].contains(&before.policy);
    let to = match policy {
        Policy::Normal if real_time => Scheduling {
            policy: libc::SCHED_OTHER,
            priority: 0,
            ..before
        },
        Policy::Normal => before,
        Policy::Other { nice } => Scheduling {
            policy: libc::SCHED_OTHER,
            nice: nice.into(),
            priority: 0,
            ..before
        },
        Policy::Ext { nice } => Scheduling {
            policy: SCHED_EXT,
            nice: nice.into(),
            priority: 0,
            ..before
        },
        Policy::Fifo(priority) => Scheduling {
            policy: libc::SCHED_FIFO,
            priority: u32::from(priority),
            ..before
        },
        Policy::RoundRobin(priority) => Scheduling {
            policy: libc::SCHED_RR,
            priority: u32::from(priority),
            ..before
        },
    };
    (to != before).then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_machine::privilege::{Capability, Privilege};

    const OTHER: Scheduling = Scheduling {
        policy: libc::SCHED_OTHER,
        nice: 5,
        priority: 0,
        reset_on_fork: true,
    };

    #[test]
    fn normal_leaves_every_policy_but_real_time_ones() {
        assert_eq!(scheduling(OTHER, Policy::Normal), None);
        let fifo = scheduling(OTHER, Policy::Fifo(7)).unwrap();
        assert_eq!((fifo.policy, fifo.priority), (libc::SCHED_FIFO, 7));
        assert!(fifo.reset_on_fork, "taking it away needs a privilege");
        assert_eq!(scheduling(fifo, Policy::Fifo(7)), None);
        assert_eq!(scheduling(fifo, Policy::Normal), Some(OTHER));
    }

    #[test]
    fn a_nice_value_comes_with_its_policy() {
        let fifo = scheduling(OTHER, Policy::Fifo(7)).unwrap();
        let other = scheduling(fifo, Policy::Other { nice: 19 }).unwrap();
        let is = |one: Scheduling| (one.policy, one.nice, one.priority);
        assert_eq!(is(other), (libc::SCHED_OTHER, 19, 0));
        let ext = scheduling(fifo, Policy::Ext { nice: -20 }).unwrap();
        assert_eq!(is(ext), (SCHED_EXT, -20, 0));
        assert_eq!(scheduling(OTHER, Policy::Other { nice: 5 }), None);
    }

    #[test]
    fn a_normal_thread_has_no_timer_slack_left() {
        let slack = |policy| {
            let thread = std::thread::spawn(move || {
                leave_timer_slack(policy).unwrap();
                prctl::get_timerslack().unwrap()
            });
            thread.join().unwrap()
        };
        let before = prctl::get_timerslack().unwrap();
        assert_eq!(slack(Policy::Normal), 1);
        assert_eq!(slack(Policy::Ext { nice: 0 }), 1);
        assert_eq!(slack(Policy::Fifo(1)), before);
    }

    #[test]
    fn a_thread_is_bound_and_only_that_thread() {
        let last = syscall::affinity(0).unwrap().last().unwrap();
        let before = syscall::affinity(0).unwrap();
        let bound = std::thread::spawn(move || {
            prepare(Some(last), Policy::Normal).unwrap();
            let blocked = SigSet::thread_get_mask().unwrap();
            assert!(blocked.contains(Signal::SIGINT));
            syscall::affinity(0).unwrap()
        });
        assert_eq!(bound.join().unwrap(), CpuList::from_iter([last]));
        assert_eq!(syscall::affinity(0).unwrap(), before);
    }

    #[test]
    fn a_thread_becomes_real_time_or_says_why_not() {
        let privileged = Privilege::of_self(&Root::default()).unwrap();
        let outcome = std::thread::spawn(|| {
            prepare(None, Policy::Fifo(1)).map(|()| syscall::scheduling(0).unwrap())
        });
        match outcome.join().unwrap() {
            Ok(now) => assert_eq!((now.policy, now.priority), (libc::SCHED_FIFO, 1)),
            Err(error) if privileged.has(Capability::SysNice) => {
                println!("SKIPPED: a_thread_becomes_real_time: refused to root: {error}");
            }
            Err(error) => assert!(error.to_string().contains("SCHED_FIFO 1"), "{error}"),
        }
    }
}
