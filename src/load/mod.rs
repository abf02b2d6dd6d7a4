// SPDX-License-Identifier: GPL-2.0-only
//! Load: real processes that keep a machine busy in a known way and count what they did.
//!
//! Owns one file for each kind of load, the process it runs in ([`process`]) and the shared
//! counters that its starter reads ([`counters`]). Never decides where a load should run and
//! never judges the counts. To add a kind: a file with a `run` function, and a line in [`Load`]'s
//! methods.
//!
//! The kinds follow what the papers ran beside their real-time task: computing, hackbench,
//! memory and process management (Piel et al., section 3; Rowand's load list).

mod compute;
pub mod counters;
mod faults;
mod forks;
mod hackbench;
mod mixed;
pub mod periodic;
pub mod process;
mod signals;

use counters::Counters;
use nix::sched::CpuSet;
use process::Process;
use std::convert::Infallible;

/// What can go wrong with a load.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call refused.
    #[error("{what}: {errno}")]
    System {
        /// What was tried, and on what.
        what: String,
        /// The system's reason.
        errno: nix::errno::Errno,
    },
    /// A load that never ends by itself has ended.
    #[error(
        "the load `{name}` ended early ({status}); its own message stands above, if it had one"
    )]
    EndedEarly {
        /// Which load.
        name: &'static str,
        /// How it ended.
        status: String,
    },
    /// A program that the load runs is not installed.
    #[error(
        "the load `{load}` runs the program {program}, which is not on PATH; install it (`apt install {package}`)"
    )]
    MissingProgram {
        /// Which load.
        load: &'static str,
        /// The program.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A program that the load runs could not be started, or failed.
    #[error("{program}: {reason}")]
    ProgramFailed {
        /// The program and its arguments.
        program: String,
        /// Its exit status, or why it could not be started.
        reason: String,
    },
}

impl Error {
    /// Names what was tried when `errno` came back; for `map_err`.
    fn system(what: impl Into<String>) -> impl FnOnce(nix::errno::Errno) -> Self {
        let what = what.into();
        move |errno| Self::System { what, errno }
    }
}

/// The kinds of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
        }
    }

    /// Starts one process of this load, on `cpus` only when they are given.
    ///
    /// # Errors
    /// When its program is not installed or the system refuses a process or the affinity.
    pub fn start(self, cpus: Option<&CpuSet>) -> Result<Process, Error> {
        let body: fn(&Counters) -> Result<Infallible, Error> = match self {
            Self::Compute => compute::run,
            Self::Mixed => mixed::run,
            Self::Faults => faults::run,
            Self::Forks => forks::run,
            Self::Signals => signals::run,
            Self::Hackbench => {
                hackbench::check()?;
                hackbench::run
            }
        };
        Process::start(self.name(), cpus, body)
    }
}
