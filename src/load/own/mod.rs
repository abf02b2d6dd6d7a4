// SPDX-License-Identifier: GPL-2.0-only
//! The loads that are artis's own code. Each kind counts its work in its own unit, exactly and at
//! any moment. The lab needs that to compare windows of time.
//!
//! Owns one file for each kind, the process that a load runs in ([`process`]) and the shared
//! counters that its starter reads ([`counters`]). To add a kind: a file with a `run` function,
//! and a line in each of [`Load`]'s methods.

use super::Error;

mod cache;
pub mod compute;
pub mod counters;
pub mod faults;
mod fork;
mod hackbench;
mod io;
mod locks;
mod mixed;
mod network;
pub mod process;
mod signals;
pub mod walk;

use counters::Counters;
use process::{Place, Process};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use walk::{WALKS, Walk};

/// The kinds of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Load {
    /// Integer work in user mode, no system call: batch computing.
    Compute,
    /// Integer work that enters the kernel now and then: most ordinary programs.
    Mixed,
    /// Maps, touches and unmaps memory: page faults.
    Faults,
    /// Forks a child that exits, and waits for it.
    Fork,
    /// Integer work interrupted by signals from another process.
    Signals,
    /// hackbench, round after round: system calls, wakeups, many tasks.
    Hackbench,
    /// A file written and read, block by block.
    Io,
    /// TCP over the loopback device.
    Network,
    /// Two processes that compete for a lock in the kernel.
    Locks,
    /// Reads in user mode that miss the cache.
    Cache,
    /// Writes all over some memory, with a system call now and then.
    Walk(&'static Walk),
}

impl Load {
    /// All kinds but the dirty walks, the paper's five first.
    pub const ALL: [Self; 10] = [
        Self::Compute,
        Self::Io,
        Self::Network,
        Self::Locks,
        Self::Cache,
        Self::Fork,
        Self::Faults,
        Self::Signals,
        Self::Mixed,
        Self::Hackbench,
    ];

    /// Its name, as people type it and `ps` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Mixed => "mixed",
            Self::Faults => "faults",
            Self::Fork => "fork",
            Self::Signals => "signals",
            Self::Hackbench => "hackbench",
            Self::Io => "io",
            Self::Network => "network",
            Self::Locks => "locks",
            Self::Cache => "cache",
            Self::Walk(walk) => walk.name,
        }
    }

    /// What it does to the machine, in a line.
    pub fn description(self) -> &'static str {
        match self {
            Self::Compute => "integer work in user mode, no system call",
            Self::Mixed => "integer work that enters the kernel now and then",
            Self::Faults => "memory mapped, touched and unmapped: page faults",
            Self::Fork => "a child process forked, exited and reaped, again and again",
            Self::Signals => "integer work interrupted by signals of another process",
            Self::Hackbench => "hackbench, small rounds of threads: wakeups and system calls",
            Self::Io => "a file of 1 MiB written and read through the page cache",
            Self::Network => "TCP between two processes over the loopback device",
            Self::Locks => "two processes that compete for one lock in the kernel",
            Self::Cache => "reads of memory that miss the cache",
            Self::Walk(_) => "all lines of some memory written, with a system call now and then",
        }
    }

    /// The program that does the work, with its arguments; none when artis does it itself.
    pub fn program(self) -> Option<String> {
        (self == Self::Hackbench).then(hackbench::command_line)
    }

    /// What one count of [`Counters::done`] is.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Compute | Self::Mixed => "units of integer work",
            Self::Faults => "pages touched",
            Self::Fork => "children forked and reaped",
            Self::Signals => "signals handled",
            Self::Hackbench => "hackbench rounds",
            Self::Io => "blocks of 4 KiB written or read",
            Self::Network => "messages received",
            Self::Locks => "locks taken",
            Self::Cache => "thousands of reads",
            Self::Walk(_) => "thousands of lines written",
        }
    }

    /// Starts one process of this load in its `place`.
    ///
    /// # Errors
    /// When its program is not installed or the system refuses a process or the affinity.
    pub fn start(self, place: Place) -> Result<Process, Error> {
        let body = self.body()?;
        Process::start(self.name(), place, move |counters| body.run(counters))
    }

    /// What one process of this load runs, for ever.
    ///
    /// # Errors
    /// When its program is not installed.
    pub(super) fn body(self) -> Result<Body, Error> {
        let code: Code = match self {
            Self::Compute => compute::run,
            Self::Mixed => mixed::run,
            Self::Faults => faults::run,
            Self::Fork => fork::run,
            Self::Signals => signals::run,
            Self::Io => io::run,
            Self::Network => network::run,
            Self::Locks => locks::run,
            Self::Cache => cache::run,
            Self::Walk(walk) => return Ok(Body::Walk(walk)),
            Self::Hackbench => {
                super::hackbench::find()?;
                hackbench::run
            }
        };
        Ok(Body::Plain(code))
    }
}

impl TryFrom<String> for Load {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let all = Self::ALL.into_iter().chain(WALKS.iter().map(Self::Walk));
        let known: Vec<Self> = all.collect();
        // The name in older experiment files.
        let wanted = if name == "forks" { "fork" } else { &name };
        let found = known.iter().find(|load| load.name() == wanted).copied();
        found.ok_or_else(|| {
            let names = known.iter().map(|load| format!("`{}`", load.name()));
            let names: Vec<String> = names.collect();
            // As a format's own words for an enumeration.
            format!(
                "unknown variant `{name}`, expected one of {}",
                names.join(", ")
            )
        })
    }
}

impl From<Load> for &'static str {
    fn from(load: Load) -> Self {
        load.name()
    }
}

type Code = fn(&Counters) -> Result<Infallible, Error>;

/// A load's code: counts what it does and returns only when it fails.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    Plain(Code),
    Walk(&'static Walk),
}

impl Body {
    pub fn run(self, counters: &Counters) -> Result<Infallible, Error> {
        match self {
            Self::Plain(code) => code(counters),
            Self::Walk(walk) => walk.run(counters),
        }
    }
}
