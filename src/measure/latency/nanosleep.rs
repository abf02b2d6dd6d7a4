// SPDX-License-Identifier: GPL-2.0-only
//! The source `nanosleep`: sleeps for an interval and measures how long it took. McKenney's loop
//! ("Real time vs. real fast", the test program): the difference is jitter. It may be negative
//! where the clock is coarser than the timer.

use super::source::{Event, Source};
use crate::clock::{now_ns, to_timespec};
use nix::errno::Errno;
use std::ptr::null_mut;

/// Sleeps for the same time again and again.
pub struct Nanosleep {
    interval_ns: u64,
}

impl Nanosleep {
    /// Sleeps of `interval_ns` each.
    pub fn new(interval_ns: u64) -> Self {
        Self { interval_ns }
    }
}

impl Source for Nanosleep {
    fn start(&mut self, _start_ns: u64) -> Result<(), Errno> {
        Ok(())
    }

    fn wait(&mut self) -> Result<Event, Errno> {
        let interval = to_timespec(self.interval_ns);
        let before_ns = now_ns();
        // SAFETY: `interval` is a live timespec; the rest of an interrupted sleep is not asked for.
        let refused =
            unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &interval, null_mut()) };
        let observed_ns = now_ns();
        if refused != 0 {
            return Err(Errno::from_raw(refused));
        }
        Ok(Event {
            due_ns: before_ns + self.interval_ns,
            observed_ns,
            // The next sleep begins when this one ended: no period can be missed.
            missed: 0,
        })
    }
}
