// SPDX-License-Identifier: GPL-2.0-only
//! A process that keeps order over everything it starts: when it ends, and when the process that
//! started it ends in any way, `kill -9` included, all its descendants and its files go.
//!
//! How it holds: it is a child subreaper (prctl(2)), so whoever loses its parent below it becomes
//! its child and can be found and killed; it is in a session of its own, so Ctrl-C at the
//! terminal reaches the starter only; and its starter holds the other end of a socket, whose
//! closing is the one sign of death that also SIGKILL gives. What it starts has the kernel's
//! order to die with it (`PR_SET_PDEATHSIG`). It is no real-time task, whatever its starter is.
//!
//! Forked and not executed anew, so that it works in every program that links this library; see
//! [`super::own::process`] for what that asks of the starter.

use super::{Error, usage};
use crate::machine::{CpuList, Root, processes};
use crate::task::{self, starter, syscall};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, setsid};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use tempfile::TempDir;

/// Between two looks at descendants that were killed and are not gone yet.
const KILL_PAUSE: Duration = Duration::from_millis(2);
/// Where load files go without `TMPDIR`: `/tmp` is memory on many machines, this is a disk.
const FOLDER: &str = "/var/tmp";

pub use super::usage::Usage;

/// One line of the supervised process to its starter.
#[derive(Serialize, Deserialize)]
enum Line<T> {
    Said(T),
    Failed(String),
}

/// A supervised process, seen by its starter. Dropping it ends it and everything below it, and
/// waits until that has happened.
pub struct Supervised {
    pid: Pid,
    lines: BufReader<UnixStream>,
    /// Usually gone already when this goes: the process removes it. Not when it was killed.
    _folder: TempDir,
}

impl Supervised {
    /// Forks the process, which runs `body` and ends. It is called `name` in `ps`.
    ///
    /// # Errors
    /// When the system refuses a folder or a process. What fails in the process itself, the error of `body`
    /// included, comes from [`receive`](Self::receive).
    pub fn start(
        name: &str,
        body: impl FnOnce(&mut Inside) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let folder = folder()?;
        let (ours, theirs) = UnixStream::pair().map_err(Error::io("make a pair of sockets"))?;
        // SAFETY: the child runs `body` and ends in `_exit`.
        match unsafe { fork() }.map_err(Error::system(format!("fork `{name}`")))? {
            ForkResult::Parent { child } => Ok(Self {
                pid: child,
                lines: BufReader::new(ours),
                _folder: folder,
            }),
            ForkResult::Child => {
                drop(ours);
                // A panic has printed its message; the starter sees the socket close.
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    supervise(name, &theirs, folder.path(), body)
                }));
                if let Ok(Err(error)) = outcome {
                    // A starter that has gone needs no answer.
                    let _ = send(&theirs, &Line::<()>::Failed(error.to_string()));
                }
                // SAFETY: ends this process without the starter's destructors and buffers.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Waits for the next thing that the process has to say; none after `patience` (without it:
    /// never), or when a signal came.
    ///
    /// # Errors
    /// The error of `body`; [`Error::EndedEarly`] when the process ended without a word.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        patience: Option<Duration>,
    ) -> Result<Option<T>, Error> {
        if self.lines.buffer().is_empty() && !readable(self.lines.get_ref(), patience)? {
            return Ok(None);
        }
        let mut line = String::new();
        self.lines
            .read_line(&mut line)
            .map_err(Error::io("listen to the supervised process"))?;
        if line.is_empty() {
            return Err(Error::EndedEarly {
                name: "supervisor",
                status: "it was killed, or had no memory".to_owned(),
            });
        }
        match serde_json::from_str(&line) {
            Ok(Line::Said(said)) => Ok(Some(said)),
            Ok(Line::Failed(reason)) => Err(Error::Reported(reason)),
            Err(error) => Err(Error::Reported(format!(
                "the supervised process said {line:?}: {error}"
            ))),
        }
    }

    /// Asks the process to come to its end in order; it may still have something to say.
    pub fn ask_to_stop(&self) {
        // When it has gone, `receive` tells.
        let mut stream = self.lines.get_ref();
        let _ = stream.write_all(b"\n");
    }

    /// Calls `then` from another thread when the process says something or has gone. Nothing is
    /// taken from [`receive`](Self::receive).
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn watch(&self, then: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let refused = || Error::io("watch the supervised process");
        let stream = self.lines.get_ref().try_clone().map_err(refused())?;
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                // Signals are for the threads that wait to be interrupted by them.
                let _ = SigSet::all().thread_block();
                while matches!(readable(&stream, None), Ok(false)) {}
                then();
            })
            .map(drop)
            .map_err(refused())
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // Not only closed: another process of ours may hold a copy.
        let _ = self.lines.get_ref().shutdown(std::net::Shutdown::Both);
        while waitpid(self.pid, None) == Err(Errno::EINTR) {}
    }
}

/// Whether something can be read, or the other side has gone. A signal ends the wait, too.
fn readable(stream: &UnixStream, patience: Option<Duration>) -> Result<bool, Error> {
    let mut fds = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, timeout(patience)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(Error::system("wait for the supervised process")(errno)),
    }
}

/// Rounded up, so that a wait for less than a millisecond does not become none.
fn timeout(patience: Option<Duration>) -> PollTimeout {
    patience.map_or(PollTimeout::NONE, |patience| {
        PollTimeout::try_from(patience.as_micros().div_ceil(1000)).unwrap_or(PollTimeout::MAX)
    })
}

fn send<T: Serialize>(mut stream: &UnixStream, line: &Line<T>) -> Result<(), Error> {
    let mut text = serde_json::to_vec(line)
        .map_err(|error| Error::Reported(format!("cannot send a message: {error}")))?;
    text.push(b'\n');
    stream
        .write_all(&text)
        .map_err(Error::io("talk to the starter"))
}

/// The life of the process, from its settling to the end of all that it started.
fn supervise(
    name: &str,
    stream: &UnixStream,
    folder: &Path,
    body: impl FnOnce(&mut Inside) -> Result<(), Error>,
) -> Result<(), Error> {
    settle(name)?;
    let mut inside = Inside::new(stream, folder)?;
    let outcome = catch_unwind(AssertUnwindSafe(|| body(&mut inside)));
    end_all();
    // What cannot be removed, the starter tries again.
    let _ = std::fs::remove_dir_all(folder);
    outcome.unwrap_or_else(|_| Err(Error::Reported("a supervised process panicked".to_owned())))
}

extern "C" fn do_nothing(_: libc::c_int) {}

/// Stressors that lose their parent send SIGALRM to whoever is their parent then, which is this
/// process, while it ends them. A handler and not to ignore it, which programs would inherit.
fn outlive_alarms() -> Result<(), Errno> {
    let nothing = SigHandler::Handler(do_nothing);
    let action = SigAction::new(nothing, SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing.
    unsafe { sigaction(Signal::SIGALRM, &action) }.map(drop)
}

fn settle(name: &str) -> Result<(), Error> {
    outlive_alarms().map_err(Error::system("handle SIGALRM"))?;
    setsid().map_err(Error::system("make a session"))?;
    prctl::set_child_subreaper(true).map_err(Error::system("become a child subreaper"))?;
    let title = std::ffi::CString::new(name).expect("a supervisor's name has no zero byte");
    prctl::set_name(&title).map_err(Error::system("set the process name"))?;
    task::huge_pages::as_before().map_err(Error::system("have huge pages again"))?;
    task::class::leave_realtime(&Root::default())
        .map_err(|error| Error::Reported(error.to_string()))
}

/// What happened to a supervised process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A process that it started has ended: [`Inside::reap`].
    Child,
    /// The starter asked to stop.
    Stop,
    /// The starter has gone.
    Abandoned,
    /// Nothing, for as long as it was asked to wait.
    Nothing,
}

/// A supervised process, seen from inside.
pub struct Inside<'a> {
    stream: &'a UnixStream,
    ended: SignalFd,
    folder: &'a Path,
}

impl<'a> Inside<'a> {
    fn new(stream: &'a UnixStream, folder: &'a Path) -> Result<Self, Error> {
        // Who ignores SIGCHLD has its children reaped by the kernel, with all they could tell.
        let usual = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // SAFETY: no handler is installed.
        unsafe { sigaction(Signal::SIGCHLD, &usual) }
            .map_err(Error::system("take SIGCHLD back"))?;
        let child = SigSet::from(Signal::SIGCHLD);
        child
            .thread_block()
            .map_err(Error::system("block SIGCHLD"))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self {
            stream,
            ended: SignalFd::with_flags(&child, flags).map_err(Error::system("receive SIGCHLD"))?,
            folder,
        })
    }

    /// A folder that goes with the process.
    pub fn folder(&self) -> &Path {
        self.folder
    }

    /// Tells the starter something.
    ///
    /// # Errors
    /// When it has gone.
    pub fn say<T: Serialize>(&self, what: T) -> Result<(), Error> {
        send(self.stream, &Line::Said(what))
    }

    /// Waits until something happens; without `patience`, for ever.
    ///
    /// # Errors
    /// When the system refuses to wait.
    pub fn wait(&mut self, patience: Option<Duration>) -> Result<Event, Error> {
        let mut fds = [
            PollFd::new(self.stream.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.ended.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, timeout(patience)) {
            Ok(0) | Err(Errno::EINTR) => return Ok(Event::Nothing),
            Ok(_) => {}
            Err(errno) => return Err(Error::system("wait for processes")(errno)),
        }
        if fds[0].any().unwrap_or(true) {
            let mut stream = self.stream;
            return Ok(match stream.read(&mut [0; 16]) {
                Ok(1..) => Event::Stop,
                Ok(0) | Err(_) => Event::Abandoned,
            });
        }
        // Signals of one kind merge: `reap` asks until nobody is left.
        let _ = self.ended.read_signal();
        Ok(Event::Child)
    }

    /// Starts a command, which dies with this process.
    ///
    /// # Errors
    /// [`Error::ProgramFailed`].
    pub fn spawn(&self, command: &mut Command) -> Result<i32, Error> {
        let this = getpid();
        // SAFETY: between fork and exec only system calls are made.
        unsafe { command.pre_exec(move || starter::ends_with(this, Signal::SIGKILL)) };
        match command.spawn() {
            Ok(child) => Ok(child.id().cast_signed()),
            Err(error) => Err(Error::ProgramFailed {
                program: Path::new(command.get_program()).display().to_string(),
                reason: format!("could not be started: {error}; check its name and PATH"),
            }),
        }
    }

    /// Starts a process that runs `body` and ends, with 1 when it fails. It dies with this one.
    ///
    /// # Errors
    /// When the system refuses a process.
    pub fn fork(&self, body: impl FnOnce() -> std::io::Result<()>) -> Result<i32, Error> {
        let this = getpid();
        // SAFETY: this process has one thread; the child runs `body` and ends in `_exit`.
        match unsafe { fork() }.map_err(Error::system("fork"))? {
            ForkResult::Parent { child } => Ok(child.as_raw()),
            ForkResult::Child => {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    starter::ends_with(this, Signal::SIGKILL)?;
                    body()
                }));
                // SAFETY: ends this process without the destructors of its parent.
                unsafe { libc::_exit(i32::from(!matches!(outcome, Ok(Ok(()))))) }
            }
        }
    }

    /// The next process that has ended, how, and what it used. Orphans of other processes are
    /// among them.
    pub fn reap(&self) -> Option<(i32, ExitStatus, Usage)> {
        usage::wait_for(-1, libc::WNOHANG)
    }

    /// Binds this process, and so all that it starts from here on, to these CPUs.
    ///
    /// # Errors
    /// When none of them may be used.
    pub fn bind(&self, cpus: &CpuList) -> Result<(), Error> {
        syscall::set_affinity(0, cpus)
            .map_err(Error::system(format!("bind the load to CPUs {cpus}")))
    }
}

fn folder() -> Result<TempDir, Error> {
    let place = std::env::var_os("TMPDIR")
        .filter(|folder| !folder.is_empty())
        .map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
    tempfile::Builder::new()
        .prefix("artis-load-")
        .tempdir_in(&place)
        .map_err(|reason| Error::Folder {
            // The error of tempfile repeats the path; its cause is what the system said.
            reason: reason.kind().into(),
            folder: place,
        })
}

/// Kills every process below this one and waits until none is left. Who loses its parent on the
/// way becomes our child, so the next look finds it.
fn end_all() {
    let this = getpid().as_raw();
    loop {
        for process in processes::below(&Root::default(), this) {
            // It may have ended since.
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
        }
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => break,
                Ok(_) | Err(Errno::EINTR) => {}
                // Nobody is left.
                Err(_) => return,
            }
        }
        std::thread::sleep(KILL_PAUSE);
    }
}

#[cfg(test)]
mod tests;
