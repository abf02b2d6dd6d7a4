// SPDX-License-Identifier: GPL-2.0-only
//! What can go wrong in the part of an experiment that runs in the guest.

use super::super::scheduler;
use super::{published, set};
use artis_machine::cpus;
use artis_machine::{CpuList, Unreadable};
use artis_measure::{exec, latency, leaks};
use std::io;

/// What can go wrong in the guest.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Load(#[from] artis_load::Error),
    #[error(transparent)]
    Scheduler(#[from] scheduler::Error),
    #[error(transparent)]
    Published(#[from] published::Error),
    #[error(transparent)]
    Latency(#[from] latency::Error),
    #[error(transparent)]
    Execution(#[from] exec::Error),
    /// It has said why.
    #[error("the process that measures how soon others answer ended with {0}")]
    Probes(std::process::ExitStatus),
    #[error(transparent)]
    Commands(#[from] artis_measure::commands::Error),
    #[error(transparent)]
    Messages(#[from] artis_measure::messages::Error),
    #[error(transparent)]
    Split(#[from] latency::split::Error),
    #[error(transparent)]
    Cpu(#[from] cpus::Error),
    #[error(transparent)]
    Machine(#[from] Unreadable),
    /// The task names no RT CPU, or leaves no other.
    #[error("the experiment needs an RT CPU and another one; RT CPUs {0}")]
    Cpus(CpuList),
    /// A control group or the process's own affinity.
    #[error("cannot {what}: {reason}")]
    System { what: String, reason: io::Error },
    #[error(transparent)]
    Watch(#[from] artis_watch::Error),
    /// The light watch proves nothing about its cost when it does nothing.
    #[error("the light watch saw {seen} of RT0's {all} wakeups")]
    Unwatched { seen: u64, all: u64 },
    #[error(transparent)]
    Leaks(#[from] leaks::Error),
    /// The observer saw no kernel work on any CPU.
    #[error("nobody entered the kernel while leaks were counted, so the count proves nothing")]
    NothingSeen,
    /// A timer failed in the middle.
    #[error("a timer of RT0 failed: {0}")]
    Timer(nix::errno::Errno),
    #[error("the kernel does not say how long its tick is")]
    Tick,
    #[error(transparent)]
    Set(Box<set::Error>),
}

impl From<set::Error> for Error {
    fn from(error: set::Error) -> Self {
        Self::Set(Box::new(error))
    }
}
