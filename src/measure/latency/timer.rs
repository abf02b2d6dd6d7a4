// SPDX-License-Identifier: GPL-2.0-only
//! The source `timer`: `clock_nanosleep` to absolute times, one period apart, as cyclictest does by
//! default and as periodic real-time programs do.

use super::source::{Event, Source};
use crate::clock::{now_ns, to_timespec};
use nix::errno::Errno;
use std::ptr::null_mut;

/// Sleeps from one due time to the next.
pub struct Timer {
    interval_ns: u64,
    due_ns: u64,
}

impl Timer {
    /// One event each `interval_ns`, which must not be 0.
    pub fn new(interval_ns: u64) -> Self {
        Self {
            interval_ns,
            due_ns: 0,
        }
    }
}

/// Sleeps until `due_ns` and says when it woke.
///
/// # Errors
/// `EINTR` when a signal ended the sleep.
pub(crate) fn sleep_until(due_ns: u64) -> Result<u64, Errno> {
    let due = to_timespec(due_ns);
    // SAFETY: `due` is a live timespec; nothing is written back for an absolute sleep.
    let refused = unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &due, null_mut())
    };
    let observed_ns = now_ns();
    match refused {
        0 => Ok(observed_ns),
        errno => Err(Errno::from_raw(errno)),
    }
}

/// The due time after `due_ns` that is still to come at `now_ns`, and how many were skipped.
pub(super) fn next_due(due_ns: u64, interval_ns: u64, now_ns: u64) -> (u64, u64) {
    let next_ns = due_ns + interval_ns;
    if next_ns > now_ns {
        return (next_ns, 0);
    }
    let skipped = (now_ns - next_ns) / interval_ns + 1;
    (next_ns + skipped * interval_ns, skipped)
}

impl Source for Timer {
    fn start(&mut self, start_ns: u64) -> Result<(), Errno> {
        self.due_ns = start_ns + self.interval_ns;
        Ok(())
    }

    fn wait(&mut self) -> Result<Event, Errno> {
        let observed_ns = sleep_until(self.due_ns)?;
        let due_ns = self.due_ns;
        let (next_ns, missed) = next_due(due_ns, self.interval_ns, observed_ns);
        self.due_ns = next_ns;
        Ok(Event {
            due_ns,
            observed_ns,
            missed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_that_passed_are_skipped_and_counted() {
        assert_eq!(next_due(100, 10, 105), (110, 0));
        assert_eq!(next_due(100, 10, 109), (110, 0));
        assert_eq!(next_due(100, 10, 110), (120, 1));
        assert_eq!(next_due(100, 10, 135), (140, 3));
    }

    #[test]
    fn events_are_never_early() {
        let mut timer = Timer::new(100_000);
        timer.start(now_ns()).unwrap();
        for _ in 0..20 {
            assert!(timer.wait().unwrap().latency_ns() >= 0);
        }
    }
}
