// SPDX-License-Identifier: GPL-2.0-only
//! The loads that artis does itself: each kind counts what it did in units of its own, exactly
//! and at any moment, which the lab needs to compare windows of time. The presets of `--load` are
//! other programs, which report when they end.
//!
//! Owns one file for each kind, the process it runs in ([`process`]) and the shared
//! counters that its starter reads ([`counters`]). To add a kind: a file with a `run` function,
//! and a line in [`Load`]'s methods.

use super::Error;

mod cache;
pub mod compute;
pub mod counters;
mod faults;
mod forks;
mod hackbench;
mod io;
mod locks;
mod mixed;
mod network;
pub mod periodic;
pub mod process;
mod signals;

use counters::Counters;
use process::{Place, Process};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

/// The kinds of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// Integer work in user mode, no system call: batch computing.
    Compute,
    /// Integer work that enters the kernel now and then: most ordinary programs.
    Mixed,
    /// Maps, touches and unmaps memory: page faults.
    Faults,
    /// Forks a child that exits, and waits for it.
    Forks,
    /// Integer work interrupted by signals from another process.
    Signals,
    /// hackbench, round after round: system calls, wakeups, many tasks.
    Hackbench,
    /// A file written and read, block by block.
    Io,
    /// TCP over the loopback device.
    Network,
    /// Two processes that fight for a lock in the kernel.
    Locks,
    /// Reads in user mode that miss the cache.
    Cache,
}

impl Load {
    /// Its name, as people and `ps` see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Mixed => "mixed",
            Self::Faults => "faults",
            Self::Forks => "forks",
            Self::Signals => "signals",
            Self::Hackbench => "hackbench",
            Self::Io => "io",
            Self::Network => "network",
            Self::Locks => "locks",
            Self::Cache => "cache",
        }
    }

    /// What one count of [`Counters::done`] is.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Compute | Self::Mixed => "units of integer work",
            Self::Faults => "pages touched",
            Self::Forks => "children forked and reaped",
            Self::Signals => "signals handled",
            Self::Hackbench => "hackbench rounds",
            Self::Io => "blocks of 4 KiB written or read",
            Self::Network => "messages received",
            Self::Locks => "locks taken",
            Self::Cache => "thousands of reads",
        }
    }

    /// Starts one process of this load in its `place`.
    ///
    /// # Errors
    /// When its program is not installed or the system refuses a process or the affinity.
    pub fn start(self, place: Place) -> Result<Process, Error> {
        let body: fn(&Counters) -> Result<Infallible, Error> = match self {
            Self::Compute => compute::run,
            Self::Mixed => mixed::run,
            Self::Faults => faults::run,
            Self::Forks => forks::run,
            Self::Signals => signals::run,
            Self::Io => io::run,
            Self::Network => network::run,
            Self::Locks => locks::run,
            Self::Cache => cache::run,
            Self::Hackbench => {
                super::hackbench::find()?;
                hackbench::run
            }
        };
        Process::start(self.name(), place, body)
    }
}
