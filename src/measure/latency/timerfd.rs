// SPDX-License-Identifier: GPL-2.0-only
//! The source `timerfd`: a periodic timer behind a file descriptor, as event loops use it.

use super::source::{Event, Source, Unavailable};
use crate::clock::{now_ns, to_timespec};
use nix::errno::Errno;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

/// Reads a periodic timerfd.
pub struct PeriodicFd {
    fd: OwnedFd,
    interval_ns: u64,
    /// When it expired last.
    expired_ns: u64,
}

impl PeriodicFd {
    /// One event each `interval_ns`, which must not be 0.
    ///
    /// # Errors
    /// When the process may open no more files.
    pub fn new(interval_ns: u64) -> Result<Self, Unavailable> {
        // SAFETY: takes numbers only; the descriptor it gives is ours alone.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        let fd = Errno::result(fd).map_err(|source| Unavailable::Refused {
            what: "create a timerfd".to_owned(),
            next: "raise the limit of open files (ulimit -n) or use --source timer",
            source,
        })?;
        Ok(Self {
            // SAFETY: as above.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
            interval_ns,
            expired_ns: 0,
        })
    }
}

impl Source for PeriodicFd {
    fn start(&mut self, start_ns: u64) -> Result<(), Errno> {
        self.expired_ns = start_ns;
        let period = libc::itimerspec {
            it_interval: to_timespec(self.interval_ns),
            it_value: to_timespec(start_ns + self.interval_ns),
        };
        // SAFETY: the descriptor is a timerfd and `period` is live.
        let done = unsafe {
            libc::timerfd_settime(
                self.fd.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &period,
                null_mut(),
            )
        };
        Errno::result(done).map(drop)
    }

    fn wait(&mut self) -> Result<Event, Errno> {
        let mut expirations = [0; 8];
        let read = nix::unistd::read(&self.fd, &mut expirations);
        let observed_ns = now_ns();
        read?;
        let expirations = u64::from_ne_bytes(expirations);
        // It is late for the first expiry it waited for; it missed the later ones.
        let due_ns = self.expired_ns + self.interval_ns;
        self.expired_ns += expirations * self.interval_ns;
        Ok(Event {
            due_ns,
            observed_ns,
            missed: expirations.saturating_sub(1),
        })
    }
}
