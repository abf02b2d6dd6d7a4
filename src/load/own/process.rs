// SPDX-License-Identifier: GPL-2.0-only
//! The process that a load runs in: forked, in its own process group, killed with its starter.
//!
//! It is forked and not executed, so that the loads work in every program that links this
//! library. Call [`Process::start`] while no other thread of the program holds a lock that a
//! load may need (standard output's, for instance): in the child only the calling thread exists.

use super::Error;
use super::counters::{Counters, SharedCounters};
use crate::usage::{Usage, wait_for};
use artis_machine::CpuList;
use artis_task::huge_pages;
use artis_task::starter::ends_with;
use artis_task::syscall;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, setpgid};
use std::convert::Infallible;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Where a load runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// On these CPUs only.
    pub cpus: Option<&'a CpuList>,
    /// In this control group, a folder.
    pub group: Option<&'a Path>,
}

impl<'a> Place<'a> {
    /// On these CPUs, in the starter's own group.
    pub fn on(cpus: &'a CpuList) -> Self {
        Self {
            cpus: Some(cpus),
            group: None,
        }
    }
}

/// A running load. Dropping it kills it and everything it started.
pub struct Process {
    name: &'static str,
    pid: Pid,
    counters: SharedCounters,
    reaped: bool,
}

impl Process {
    /// Forks a child that runs `body` for ever, in its `place`.
    ///
    /// `body` returns only when it fails; the child then prints why and exits with 1, which
    /// [`check`](Self::check) reports.
    ///
    /// # Errors
    /// When the system refuses the memory or the process.
    pub fn start(
        name: &'static str,
        place: Place,
        body: impl FnOnce(&Counters) -> Result<Infallible, Error>,
    ) -> Result<Self, Error> {
        let counters = SharedCounters::new()?;
        let starter = getpid();
        // SAFETY: the child runs `body` and ends in `_exit`; the module's comment has the limits.
        match unsafe { fork() }.map_err(Error::system(format!("fork the load `{name}`")))? {
            ForkResult::Child => {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    prepare(name, starter, place)?;
                    body(&counters)
                }));
                if let Ok(Err(error)) = outcome {
                    eprintln!("artis: load `{name}`: {error}");
                }
                // SAFETY: ends this process without the starter's destructors and buffers.
                unsafe { libc::_exit(1) }
            }
            ForkResult::Parent { child: pid } => {
                // The child does the same, so the group exists from here on. An error can only mean
                // that the child was first.
                let _ = setpgid(pid, pid);
                Ok(Self {
                    name,
                    pid,
                    counters,
                    reaped: false,
                })
            }
        }
    }

    /// Its process id, which is its process group too.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// What it has done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Is it still there?
    ///
    /// # Errors
    /// [`Error::EndedEarly`] when it is not.
    pub fn check(&mut self) -> Result<(), Error> {
        let status = waitpid(self.pid, Some(WaitPidFlag::WNOHANG))
            .map_err(Error::system(format!("wait for the load `{}`", self.name)))?;
        if status == WaitStatus::StillAlive {
            return Ok(());
        }
        self.reaped = true;
        let status = match status {
            WaitStatus::Exited(_, code) => format!("exit status {code}"),
            WaitStatus::Signaled(_, signal, _) => format!("killed by {signal}"),
            other => format!("{other:?}"),
        };
        Err(Error::EndedEarly {
            name: self.name,
            status,
        })
    }

    /// Ends it and waits until it has gone.
    ///
    /// # Errors
    /// [`Error::EndedEarly`] when it had ended before: its counts then do not cover the whole time.
    pub fn stop(mut self) -> Result<(), Error> {
        self.check()
    }

    /// As [`stop`](Self::stop), and says what the load and all that it started have used. Only for
    /// a starter that is a child subreaper: the load's own children become its children.
    pub(crate) fn stop_and_account(mut self) -> Result<Usage, Error> {
        self.check()?;
        // An error can only mean that the group is gone.
        let _ = killpg(self.pid, Signal::SIGKILL);
        self.reaped = true;
        let mut used = Usage::default();
        while let Some((_, _, usage)) = wait_for(-self.pid.as_raw(), 0) {
            used += usage;
        }
        Ok(used)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The whole group, because the load may have started processes. When the load ended early,
        // the group may have no members left.
        let _ = killpg(self.pid, Signal::SIGKILL);
        if !self.reaped {
            while waitpid(self.pid, None) == Err(Errno::EINTR) {}
        }
    }
}

/// Forks a helper of a load, which runs `body` and ends with the load.
///
/// # Errors
/// When the system refuses a process.
pub(super) fn fork_helper(what: &str, body: impl FnOnce()) -> Result<Pid, Error> {
    let load = getpid();
    // SAFETY: a load is one thread, and the child runs `body` and ends in `_exit`.
    match unsafe { fork() }.map_err(Error::system(format!("fork {what}")))? {
        ForkResult::Child => {
            // Even if this is refused, it is killed with the load's process group.
            let _ = ends_with(load, Signal::SIGKILL);
            body();
            // SAFETY: ends the child without destructors.
            unsafe { libc::_exit(1) }
        }
        ForkResult::Parent { child } => Ok(child),
    }
}

/// In the child: own process group, own name, end with the starter, the right place.
fn prepare(name: &str, starter: Pid, place: Place) -> Result<(), Error> {
    let own = Pid::from_raw(0);
    setpgid(own, own).map_err(Error::system("make a process group"))?;
    ends_with(starter, Signal::SIGKILL).map_err(Error::io("ask to end with the starter"))?;
    let title = CString::new(format!("load-{name}")).expect("a load's name has no zero byte");
    nix::sys::prctl::set_name(&title).map_err(Error::system("set the process name"))?;
    huge_pages::as_before().map_err(Error::system("have huge pages again"))?;
    if let Some(group) = place.group {
        // The child moves itself before it forks, so that its children are in the group too.
        std::fs::write(group.join("cgroup.procs"), "0").map_err(Error::io(format!(
            "move the load `{name}` into {}",
            group.display()
        )))?;
    }
    if let Some(cpus) = place.cpus {
        syscall::set_affinity(0, cpus)
            .map_err(Error::system("bind the load to the CPUs asked for"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Waits until `done` is true. The time is a limit for a hung machine, not a bound on speed.
    fn wait_until(mut done: impl FnMut() -> bool) {
        let limit = Instant::now() + Duration::from_secs(60);
        while !done() {
            assert!(Instant::now() < limit, "nothing happened for a minute");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn every_load_counts_and_stops() {
        use super::super::Load;
        for load in Load::ALL
            .into_iter()
            .filter(|load| load.program().is_none())
        {
            let process = load.start(Place::default()).unwrap();
            wait_until(|| process.counters().done() > 10);
            let pid = process.pid();
            process.stop().unwrap();
            // What it forked is killed with it, and is gone once init has reaped it.
            wait_until(|| killpg(pid, None) == Err(Errno::ESRCH));
        }
    }

    #[test]
    fn a_load_that_fails_is_reported() {
        let mut process = Process::start("failing", Place::default(), |_| {
            Err(Error::ProgramFailed {
                program: "expected by this test".to_owned(),
                reason: "it always fails".to_owned(),
            })
        })
        .unwrap();
        wait_until(|| process.check().is_err());
    }

    #[test]
    fn a_load_runs_on_the_cpus_it_was_given() {
        let only = CpuList::from_iter(syscall::affinity(0).unwrap().last());
        let process = super::super::Load::Compute.start(Place::on(&only)).unwrap();
        wait_until(|| process.counters().done() > 0);
        assert_eq!(syscall::affinity(process.pid().as_raw()).unwrap(), only);
    }
}
