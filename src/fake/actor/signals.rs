// SPDX-License-Identifier: GPL-2.0-only
//! Signals between tasks: one of the real-time signals, which queue. And the list of forked tasks
//! that signals are sent to.

use super::{Doing, Failure};
use crate::arena::FORKED_MAX;
use crate::stage::Stage;
use crate::sync::again;
use artis_scenario::model::{Op, Source, Task};
use nix::errno::Errno;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// How a task gets signals.
pub struct Signals {
    /// A signalfd; none: no step needs one.
    descriptor: Option<OwnedFd>,
}

/// The set with the one signal.
fn set() -> libc::sigset_t {
    // SAFETY: zeros are valid storage of a set, which is emptied and filled.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGRTMIN());
        set
    }
}

impl Signals {
    /// Blocks the signal, which waits until it is asked for, and lets the kernel reap forked tasks.
    pub fn of(task: &Task) -> Result<Self, Failure> {
        let set = set();
        let failed = |errno| Doing::Signal.failed(errno);
        // SAFETY: a live set; no handler is installed.
        unsafe {
            let none = std::ptr::null_mut();
            Errno::result(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, none))
                .map_err(failed)?;
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        }
        let needs = task.program.ops().any(|op| match op {
            Op::AwaitSignal { by_descriptor } => *by_descriptor,
            Op::Poll(sources) => sources.contains(&Source::Signal),
            _ => false,
        });
        if !needs {
            return Ok(Self { descriptor: None });
        }
        // SAFETY: a live set; the descriptor is new, and owned from here on.
        let descriptor = unsafe {
            let made = Errno::result(libc::signalfd(-1, &raw const set, 0)).map_err(failed)?;
            OwnedFd::from_raw_fd(made)
        };
        Ok(Self {
            descriptor: Some(descriptor),
        })
    }

    pub fn descriptor(&self) -> Option<RawFd> {
        self.descriptor.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Waits for one signal and takes it.
    pub fn take(&self, by_descriptor: bool) -> Result<(), Failure> {
        let failed = |errno| Doing::Signal.failed(errno);
        let outcome = again(|| match (&self.descriptor, by_descriptor) {
            (Some(descriptor), true) => {
                let mut found = [0_u8; size_of::<libc::signalfd_siginfo>()];
                nix::unistd::read(descriptor, &mut found).map(drop)
            }
            _ => {
                let set = set();
                // SAFETY: a live set; nothing is written.
                let taken = unsafe { libc::sigwaitinfo(&raw const set, std::ptr::null_mut()) };
                Errno::result(taken).map(drop)
            }
        });
        outcome.map_err(failed)
    }
}

/// Sends the signal to every living instance of a task.
pub fn raise(stage: &Stage, task: usize) -> Result<(), Failure> {
    for slot in &stage.shared.slots[stage.slots_of(task)] {
        let pid = slot.pid.load(Acquire);
        if pid != 0 && slot.has_ended.load(Acquire) == 0 {
            send(pid)?;
        }
    }
    for entry in stage.shared.forked.iter() {
        let entry = entry.load(Relaxed);
        if entry >> 32 == task as u64 + 1 {
            send(entry as u32 as i32)?;
        }
    }
    Ok(())
}

unsafe extern "C" {
    // POSIX, and in every libc; the libc crate does not declare it on Linux.
    fn sigqueue(pid: libc::pid_t, signal: libc::c_int, value: libc::sigval) -> libc::c_int;
}

fn send(pid: i32) -> Result<(), Failure> {
    let value = libc::sigval {
        sival_ptr: std::ptr::null_mut(),
    };
    // SAFETY: a call with plain values.
    match Errno::result(unsafe { sigqueue(pid, libc::SIGRTMIN(), value) }) {
        // It has ended meanwhile.
        Ok(_) | Err(Errno::ESRCH) => Ok(()),
        Err(errno) => Err(Doing::Signal.failed(errno)),
    }
}

/// Takes a place in the list of forked tasks, for this process.
pub fn enter(stage: &Stage, task: usize) -> Result<&AtomicU64, Failure> {
    let pid = std::process::id();
    let mine = (task as u64 + 1) << 32 | u64::from(pid);
    // Neighbours in time have neighbouring numbers.
    let first = pid as usize % FORKED_MAX;
    let places = (first..FORKED_MAX).chain(0..first);
    for place in places {
        let entry = &stage.shared.forked[place];
        if entry.load(Relaxed) == 0 && entry.compare_exchange(0, mine, AcqRel, Relaxed).is_ok() {
            return Ok(entry);
        }
    }
    Err(Doing::Fork.failed(Errno::EAGAIN))
}
