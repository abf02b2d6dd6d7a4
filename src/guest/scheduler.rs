// SPDX-License-Identifier: GPL-2.0-only
//! In a guest: the scheduler in the background. It is a program of its own, `artis-guest-sched`,
//! so that a guest which does not need it is the same whatever becomes of it.

use artis_machine::kernel::Kernel;
use artis_machine::{CpuList, Root, Unreadable};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The name of its program.
pub const PROGRAM: &str = "artis-guest-sched";
/// How long the scheduler may take to start or stop. An emulated machine is slow.
const LIMIT: Duration = Duration::from_secs(60);

/// Why the scheduler did not start, or did not stop.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel's state cannot be read.
    #[error(transparent)]
    Machine(#[from] Unreadable),
    /// Its program could not be run.
    #[error("cannot run {command}: {reason}")]
    Run {
        /// The command.
        command: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// It did not do what was asked.
    #[error("{0}; the scheduler's own message is above")]
    Refused(String),
}

/// The scheduler in the background.
pub struct Scheduler {
    child: Child,
}

impl Scheduler {
    /// Starts it and waits until it says that it is on. `options` are further words of `run`.
    pub fn start(rt: &CpuList, options: &[&str]) -> Result<Self, Error> {
        let rt = rt.to_string();
        let words = [&["run", &rt], options].concat();
        let child = program(&words)?
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed_to_run("artis-guest-sched run"))?;
        let mut scheduler = Self { child };
        let limit = Instant::now() + LIMIT;
        // The kernel is asked first: that needs no further process while the scheduler starts.
        while sched_ext_state()? != "enabled" || scheduler.status().is_err() {
            if let Ok(Some(status)) = scheduler.child.try_wait() {
                return Err(Error::Refused(format!(
                    "`artis-guest-sched run {rt}` ended: {status}"
                )));
            }
            if Instant::now() > limit {
                return Err(Error::Refused(format!(
                    "the scheduler was not on {} s after `artis-guest-sched run {rt}`",
                    LIMIT.as_secs()
                )));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(scheduler)
    }

    /// Its status, if it is on: a scheduler that the kernel removed in the middle of a window must
    /// not be mistaken for one that did well.
    pub fn status(&mut self) -> Result<serde_json::Value, Error> {
        let output = program(&["status"])?
            .output()
            .map_err(failed_to_run("artis-guest-sched status"))?;
        let status: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|error| {
                Error::Refused(format!(
                    "`artis-guest-sched status` gave no status: {error}"
                ))
            })?;
        if status.get("enabled").and_then(serde_json::Value::as_bool) == Some(true) {
            return Ok(status);
        }
        Err(Error::Refused(format!("the scheduler is not on: {status}")))
    }

    /// Stops it and waits until the kernel's own scheduler has every task again.
    pub fn stop(mut self) -> Result<(), Error> {
        let command = "artis-guest-sched stop";
        let stopped = program(&["stop"])?
            .stdout(Stdio::null())
            .status()
            .map_err(failed_to_run(command))?;
        if !stopped.success() {
            return Err(Error::Refused(format!("`{command}` failed: {stopped}")));
        }
        let status = self
            .child
            .wait()
            .map_err(failed_to_run("artis-guest-sched run"))?;
        if !status.success() {
            return Err(Error::Refused(format!(
                "`artis-guest-sched run` ended: {status}"
            )));
        }
        wait_for_stock_scheduler()
    }
}

/// Waits until the kernel has taken the last task back. It does so after the scheduler's process
/// has ended, and the next window must not begin with two schedulers at work.
fn wait_for_stock_scheduler() -> Result<(), Error> {
    let limit = Instant::now() + LIMIT;
    while sched_ext_state()? != DISABLED {
        if Instant::now() > limit {
            return Err(Error::Refused(format!(
                "sched_ext was still on {} s after `artis-guest-sched stop`",
                LIMIT.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// What the kernel reports when no BPF scheduler is loaded.
const DISABLED: &str = "disabled";

/// What the kernel reports about BPF schedulers.
fn sched_ext_state() -> Result<String, Error> {
    let sched_ext = Kernel::read(&Root::default())?.sched_ext;
    Ok(sched_ext.map_or_else(|| DISABLED.to_owned(), |sched_ext| sched_ext.state))
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // Only when something else failed: the kernel unloads the scheduler with its process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The scheduler's program, which is beside this one, with `arguments`.
fn program(arguments: &[&str]) -> Result<Command, Error> {
    let own: PathBuf = std::env::current_exe().map_err(failed_to_run(PROGRAM))?;
    let mut command = Command::new(own.with_file_name(PROGRAM));
    command.args(arguments);
    Ok(command)
}

fn failed_to_run(command: &str) -> impl FnOnce(io::Error) -> Error {
    let command = command.to_owned();
    move |reason| Error::Run { command, reason }
}
