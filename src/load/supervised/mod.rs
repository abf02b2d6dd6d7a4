// SPDX-License-Identifier: GPL-2.0-only
//! A process that cleans up after everything it starts. When it ends, or when the process that
//! started it ends in any way (also `kill -9`), all its descendants are killed and its files are
//! removed.
//!
//! How that works: it is a child subreaper (prctl(2)), so a descendant that loses its parent
//! becomes its child and can be found and killed. It has its own session, so Ctrl-C at the terminal
//! reaches only the starter. The starter holds the other end of a socket, which closes even when
//! the starter is killed with SIGKILL. What the process starts dies with it (`PR_SET_PDEATHSIG`).
//! It is never a real-time task, even if its starter is one.
//!
//! It is forked and not executed, so that it works in every program that links this library; see
//! [`super::own::process`] for what the starter has to observe.

use super::{Error, usage};
use artis_machine::{CpuList, Root, processes};
use artis_task::{starter, syscall};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, setsid};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use tempfile::TempDir;

/// Time between two checks whether killed descendants have ended.
const KILL_PAUSE: Duration = Duration::from_millis(2);
/// The folder for load files without `TMPDIR`: `/tmp` is memory on many machines, this is a disk.
const FOLDER: &str = "/var/tmp";

pub use super::usage::Usage;

/// One message of the supervised process to its starter.
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
    /// The process removes it itself, unless it is killed.
    _folder: TempDir,
}

impl Supervised {
    /// Forks the process, which runs `body` and ends. It is called `name` in `ps`.
    ///
    /// # Errors
    /// When the system refuses a folder or a process. [`receive`](Self::receive) gives errors of
    /// the process itself, including that of `body`.
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
                // A panic has printed its message already, and the starter sees the socket close.
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    supervise(name, &theirs, folder.path(), body)
                }));
                if let Ok(Err(error)) = outcome {
                    // A starter that has ended needs no answer.
                    let _ = send(&theirs, &Line::<()>::Failed(error.to_string()));
                }
                // SAFETY: ends this process without the starter's destructors and buffers.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Waits for the next message of the process. None after `patience` (without it, waits for
    /// ever), or when a signal came.
    ///
    /// # Errors
    /// The error of `body`; [`Error::EndedEarly`] when the process ended without a message.
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
                status: "it was killed, or ran out of memory".to_owned(),
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

    /// Asks the process to end in an orderly way. It may still send messages.
    pub fn ask_to_stop(&self) {
        // When it has ended already, `receive` reports it.
        let mut stream = self.lines.get_ref();
        let _ = stream.write_all(b"\n");
    }

    /// Calls `then` from another thread when the process sends a message or has ended.
    /// [`receive`](Self::receive) still gets that message.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn watch(&self, then: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let refused = || Error::io("watch the supervised process");
        let stream = self.lines.get_ref().try_clone().map_err(refused())?;
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                // Signals must interrupt the threads that wait, not this one.
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
        // Closing is not enough: another process may hold a copy of the socket.
        let _ = self.lines.get_ref().shutdown(std::net::Shutdown::Both);
        while waitpid(self.pid, None) == Err(Errno::EINTR) {}
    }
}

/// Whether something can be read, or the other side has ended. A signal ends the wait too.
fn readable(stream: &UnixStream, patience: Option<Duration>) -> Result<bool, Error> {
    let mut fds = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, timeout(patience)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(Error::system("wait for the supervised process")(errno)),
    }
}

/// Rounded up, so that less than a millisecond does not become no wait.
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

/// The whole life of the process: prepares it, runs `body`, and ends all that it started.
fn supervise(
    name: &str,
    stream: &UnixStream,
    folder: &Path,
    body: impl FnOnce(&mut Inside) -> Result<(), Error>,
) -> Result<(), Error> {
    prepare(name)?;
    let mut inside = Inside::new(stream, folder)?;
    let outcome = catch_unwind(AssertUnwindSafe(|| body(&mut inside)));
    end_all();
    // The starter tries again to remove what is left.
    let _ = std::fs::remove_dir_all(folder);
    outcome.unwrap_or_else(|_| Err(Error::Reported("a supervised process panicked".to_owned())))
}

extern "C" fn do_nothing(_: libc::c_int) {}

/// Makes this process survive SIGALRM. Stressors that lose their parent send it to their new
/// parent, which is this process. A handler is used, because programs would inherit that a signal
/// is ignored.
fn outlive_alarms() -> Result<(), Errno> {
    let nothing = SigHandler::Handler(do_nothing);
    let action = SigAction::new(nothing, SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing.
    unsafe { sigaction(Signal::SIGALRM, &action) }.map(drop)
}

/// In the new process: own session, own name, subreaper, and no real-time task.
fn prepare(name: &str) -> Result<(), Error> {
    outlive_alarms().map_err(Error::system("handle SIGALRM"))?;
    setsid().map_err(Error::system("make a session"))?;
    prctl::set_child_subreaper(true).map_err(Error::system("become a child subreaper"))?;
    let title = std::ffi::CString::new(name).expect("a supervisor's name has no zero byte");
    prctl::set_name(&title).map_err(Error::system("set the process name"))?;
    artis_task::huge_pages::as_before().map_err(Error::system("have huge pages again"))?;
    artis_task::class::leave_realtime(&Root::default())
        .map_err(|error| Error::Reported(error.to_string()))
}

/// What happened to a supervised process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A process that it started has ended: [`Inside::reap`].
    Child,
    /// The starter asked to stop.
    Stop,
    /// The starter has ended.
    Abandoned,
    /// Nothing happened in the time to wait.
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
        // When SIGCHLD is ignored, the kernel reaps children, and their status and usage are lost.
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

    /// A folder that is removed when the process ends.
    pub fn folder(&self) -> &Path {
        self.folder
    }

    /// Sends the starter a message.
    ///
    /// # Errors
    /// When the starter has ended.
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
        // Signals of one kind merge, so `reap` is called until no ended child is left.
        let _ = self.ended.read_signal();
        Ok(Event::Child)
    }

    /// Starts a command that dies with this process.
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

    /// Starts a process that runs `body` and ends, with status 1 when it fails. It dies with this
    /// process.
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
        .map_err(|error| Error::Folder {
            reason: cause_of(&error, &place),
            folder: place,
        })
}

/// Why no folder can be made in `place`: the system's reason, without the path that tempfile adds.
fn cause_of(error: &io::Error, place: &Path) -> io::Error {
    if error.kind() == io::ErrorKind::NotFound && place.is_dir() {
        return io::Error::other("this file system lets nobody make files there");
    }
    let text = error.to_string();
    let reason = text
        .split_once(" at path ")
        .map_or(&*text, |(reason, _)| reason);
    io::Error::other(reason)
}

/// Kills every process below this one and waits until none is left. A process that loses its
/// parent meanwhile becomes a child of this one, so the next round finds it.
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
                // No child is left.
                Err(_) => return,
            }
        }
        std::thread::sleep(KILL_PAUSE);
    }
}

#[cfg(test)]
mod tests;
