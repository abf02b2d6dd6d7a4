// SPDX-License-Identifier: GPL-2.0-only
//! The emulator's process: spawned with the file descriptors it needs, killed when dropped.

use crate::lab::cache::Cache;
use crate::lab::{Error, tool};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a process that has closed its files may take to be gone.
const GOING: Duration = Duration::from_secs(1);
/// What a program's own faults end it with.
const CRASHES: [i32; 5] = [
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGSEGV,
];

/// A running emulator; killed when dropped.
pub struct Process {
    name: &'static str,
    child: Child,
    said: File,
}

/// The path by which an emulator opens a file that it inherits.
pub fn inherited_path(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

impl Process {
    /// Starts `command`, the emulator `name`, with `inherited` open in it. Its standard output is
    /// left as the command says; what it complains about is kept.
    pub fn spawn(
        name: &'static str,
        mut command: Command,
        inherited: Vec<RawFd>,
    ) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Program {
            program: name.to_owned(),
            reason: error.to_string(),
        };
        let said = Cache::per_user()?.nameless_file()?;
        command
            .stdin(Stdio::null())
            .stderr(said.try_clone().map_err(failed)?)
            // The terminal's Ctrl-C is for us: we end the machine in order.
            .process_group(0);
        tool::ends_with_us(&mut command);
        let inherit = move || {
            for fd in &inherited {
                // SAFETY: the caller keeps these open until the spawn is over.
                let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
                fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty()))?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec only fcntl is called, which is async-signal-safe, and
        // nothing is allocated.
        unsafe { command.pre_exec(inherit) };
        let child = command.spawn().map_err(failed)?;
        Ok(Self { name, child, said })
    }

    /// Is it in the network namespace of this process? False also when it has gone already.
    pub fn is_in_our_network(&self) -> bool {
        let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
        let its = namespace(&self.child.id().to_string());
        its.is_some() && its == namespace("self")
    }

    /// Its standard output, once, when the command asked for a pipe.
    pub fn take_stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Has it ended by a fault of its own? Waits a moment for one that is going.
    pub fn crashed(&mut self) -> bool {
        let end = Instant::now() + GOING;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < end => thread::sleep(GOING / 100),
                Ok(Some(status)) => {
                    return status
                        .signal()
                        .is_some_and(|signal| CRASHES.contains(&signal));
                }
                _ => return false,
            }
        }
    }

    /// `what`, with what the emulator itself complained about, if it did.
    pub fn last_words(&mut self, what: &str) -> String {
        let mut said = String::new();
        let read = self
            .said
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.said.read_to_string(&mut said));
        match read {
            Ok(length) if length > 0 => format!("{what}; {} says: {}", self.name, said.trim()),
            _ => what.to_owned(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; and there is nobody to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::null());
        Process::spawn("sh", command, Vec::new()).unwrap()
    }

    fn crashed(script: &str) -> bool {
        let mut process = start(script);
        process.child.wait().unwrap();
        process.crashed()
    }

    #[test]
    fn a_crash_is_told_from_an_end_that_somebody_wanted() {
        assert!(crashed("kill -ABRT $$"));
        assert!(crashed("kill -SEGV $$"));
        assert!(!crashed("kill -KILL $$"));
        assert!(!crashed("exit 1"));
        assert!(!start("sleep 100").crashed());
    }
}
