// SPDX-License-Identifier: GPL-2.0-only
//! The emulator's process: started with the file descriptors that it needs, killed when dropped.

use super::Power;
use crate::Error;
use crate::host::cache::Cache;
use crate::host::tool;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a process that has closed its files may take to end.
const ENDING: Duration = Duration::from_secs(1);
/// The signals by which a program's own faults end it.
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
    /// Starts `command`, the emulator `name`, with `inherited` open in it. Its standard output goes
    /// where the command says; its complaints are kept in a file of `cache`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(
        cache: &Cache,
        name: &'static str,
        mut command: Command,
        inherited: Vec<RawFd>,
    ) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Program {
            program: name.to_owned(),
            reason: error.to_string(),
        };
        let said = cache.nameless_file()?;
        command
            .stdin(Stdio::null())
            .stderr(said.try_clone().map_err(failed)?)
            // The terminal's Ctrl-C is for artis, which ends the machine in order.
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

    /// Is it in the network namespace of this process? False also when it has ended.
    pub fn is_in_our_network(&self) -> bool {
        let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
        let its = namespace(&self.child.id().to_string());
        its.is_some() && its == namespace("self")
    }

    /// Its standard output, once, when the command asked for a pipe.
    pub fn take_stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// How it has ended, if it has and not as one that was done.
    fn ending(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        match (status.signal(), status.code()) {
            (Some(signal), _) => Some(format!("was ended by signal {signal}")),
            (None, Some(code)) if code != 0 => Some(format!("ended with status {code}")),
            _ => None,
        }
    }

    /// Has it ended by a fault of its own? Waits a moment for a process that is ending.
    fn crashed(&mut self) -> bool {
        let end = Instant::now() + ENDING;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < end => thread::sleep(ENDING / 100),
                Ok(Some(status)) => {
                    return status
                        .signal()
                        .is_some_and(|signal| CRASHES.contains(&signal));
                }
                _ => return false,
            }
        }
    }
}

impl Power for Process {
    fn fault(&mut self, _console: &str) -> Option<&'static str> {
        self.crashed().then_some("it crashed")
    }

    fn complaint(&mut self) -> Option<String> {
        let ended = self.ending().map(|how| format!("{} {how}", self.name));
        let mut bytes = Vec::new();
        let read = self
            .said
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.said.read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes)
            .replace(|letter: char| letter.is_control() && letter != '\n', "");
        let text = text.trim();
        let said = read.is_ok() && !text.is_empty();
        let said = said.then(|| format!("{} says: {text}", self.name));
        let both: Vec<String> = ended.into_iter().chain(said).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, and nobody would read an error.
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
        let cache = tempfile::tempdir().unwrap();
        let cache = Cache::at(cache.path().to_owned()).unwrap();
        Process::spawn(&cache, "sh", command, Vec::new()).unwrap()
    }

    fn crashed(script: &str) -> bool {
        let mut process = start(script);
        process.child.wait().unwrap();
        process.crashed()
    }

    #[test]
    fn a_crash_differs_from_an_end_that_somebody_wanted() {
        assert!(crashed("kill -ABRT $$"));
        assert!(crashed("kill -SEGV $$"));
        assert!(!crashed("kill -KILL $$"));
        assert!(!crashed("exit 1"));
        assert!(!start("sleep 100").crashed());
    }

    #[test]
    fn how_it_ended_and_what_it_said_is_told() {
        let complaint = |script: &str| {
            let mut process = start(script);
            process.child.wait().unwrap();
            process.complaint()
        };
        assert_eq!(complaint("exit 0"), None);
        assert_eq!(
            complaint("kill -TERM $$").as_deref(),
            Some("sh was ended by signal 15")
        );
        assert_eq!(
            complaint("printf '\\000\\000no disk\\n' >&2; exit 3").as_deref(),
            Some("sh ended with status 3; sh says: no disk")
        );
        assert_eq!(complaint("echo no >&2").as_deref(), Some("sh says: no"));
    }
}
