// SPDX-License-Identifier: GPL-2.0-only
//! A published sched_ext scheduler in the background: it is the guest's scheduler from before the
//! loads start until everything has been measured, or there is no sample.
//!
//! Such a scheduler ends by itself, or starts over, when the kernel has removed it. So its process,
//! its name in the kernel and the number of schedulers that the kernel has ever enabled are looked
//! at again at the end.

use artis_machine::kernel::{self, SchedExt};
use artis_machine::{Root, Unreadable};
use artis_result::experiment::Published;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to start or to stop. An emulated machine is slow.
const LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);
/// What it prints.
const LOG: &str = "/run/published-scheduler.log";
/// Of what it printed, the last lines are quoted.
const LINES: usize = 6;
/// How many BPF schedulers the kernel has enabled since boot.
const ENABLE_SEQ: &str = "/sys/kernel/sched_ext/enable_seq";

/// Why there is no sample of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Machine(#[from] Unreadable),
    #[error("cannot {what} {name}: {reason}")]
    System {
        what: &'static str,
        name: String,
        reason: io::Error,
    },
    /// It ended, was removed, or was never on.
    #[error("{what}; it said: {said}")]
    Off { what: String, said: String },
}

/// The scheduler in the background.
pub struct Scheduler {
    which: Published,
    child: Child,
    /// Its name and its number in the kernel.
    on: (String, u64),
}

impl Scheduler {
    /// Starts its program, which is in PATH under the crate's name, and waits until the kernel says
    /// that it schedules.
    ///
    /// # Errors
    /// When it cannot be started, ends, or is not on after a minute.
    pub fn start(which: &Published) -> Result<Self, Error> {
        let failed = |what| {
            let name = which.name().to_owned();
            move |reason| Error::System { what, name, reason }
        };
        let log = File::create(LOG).map_err(failed("keep the output of"))?;
        let same = log.try_clone().map_err(failed("keep the output of"))?;
        let mut child = Command::new(which.name())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(same)
            .spawn()
            .map_err(failed("run"))?;
        match wait_until_on(which, &mut child) {
            Ok(on) => Ok(Self {
                which: which.clone(),
                child,
                on,
            }),
            Err(error) => {
                end(&mut child);
                Err(error)
            }
        }
    }

    /// Its name in the kernel, with its version and the processor that it was built for.
    pub fn ops(&self) -> &str {
        &self.on.0
    }

    /// Has it scheduled all the time since it was started?
    ///
    /// # Errors
    /// [`Error::Off`] when not.
    pub fn check(&mut self) -> Result<(), Error> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(off(format!("{} ended: {status}", self.which)));
        }
        let now = on(&self.which)?;
        if now.as_ref() != Some(&self.on) {
            return Err(off(format!("the kernel removed {}", self.which)));
        }
        Ok(())
    }

    /// Stops it and waits until the kernel's own scheduler has every task again.
    ///
    /// # Errors
    /// When it is still on after a minute.
    pub fn stop(mut self) -> Result<(), Error> {
        interrupt(&self.child);
        let limit = Instant::now() + LIMIT;
        while kernel::sched_ext(&Root::default())?.is_some_and(|one| one.state != "disabled") {
            if Instant::now() > limit {
                return Err(off(format!(
                    "{} was still on {} s after SIGINT",
                    self.which,
                    LIMIT.as_secs()
                )));
            }
            std::thread::sleep(PAUSE);
        }
        end(&mut self.child);
        Ok(())
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Waits until the kernel says that it schedules.
fn wait_until_on(which: &Published, child: &mut Child) -> Result<(String, u64), Error> {
    let limit = Instant::now() + LIMIT;
    loop {
        if let Some(on) = on(which)? {
            return Ok(on);
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(off(format!("{which} did not start: {status}")));
        }
        if Instant::now() > limit {
            let seconds = LIMIT.as_secs();
            return Err(off(format!(
                "{which} was not on {seconds} s after its start"
            )));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Name and number in the kernel, if it is on.
fn on(which: &Published) -> Result<Option<(String, u64)>, Error> {
    let Some(SchedExt { state, ops }) = kernel::sched_ext(&Root::default())? else {
        return Err(off("this kernel has no sched_ext".to_owned()));
    };
    let ops = ops.filter(|ops| state == "enabled" && ops.starts_with(which.ops()));
    let number = Root::default().read(ENABLE_SEQ)?;
    let number = number
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0);
    Ok(ops.map(|ops| (ops, number)))
}

fn off(what: String) -> Error {
    let log = fs::read(LOG).unwrap_or_default();
    let said = last_lines(&String::from_utf8_lossy(&log));
    Error::Off { what, said }
}

/// The last lines of what it printed, as one.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().map(str::trim).collect();
    let mut lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let last = lines.split_off(lines.len().saturating_sub(LINES));
    match last.is_empty() {
        true => "nothing".to_owned(),
        false => last.join("; "),
    }
}

fn interrupt(child: &Child) {
    // It may have ended already.
    let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT);
}

/// Ends it; the kernel removes the scheduler with its process.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_say_why() {
        assert_eq!(last_lines(" \n\n"), "nothing");
        assert_eq!(last_lines("one\n\n  two \n"), "one; two");
        let long: String = (0..100).map(|line| format!("{line}\n")).collect();
        assert_eq!(last_lines(&long), "94; 95; 96; 97; 98; 99");
    }
}
