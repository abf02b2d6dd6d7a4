// SPDX-License-Identifier: GPL-2.0-only
//! The barrier that computing threads meet at: they spin, as numerical programs do whose CPUs
//! have nothing else to run.
//!
//! No locks and no system calls. The last thread to arrive releases the others. Before that it may
//! look at what all of them did: the others only wait then.

use crate::clock::now_ns;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A barrier with a state that belongs to the last thread to arrive.
#[derive(Debug)]
pub struct Barrier<T> {
    parties: usize,
    arrived: AtomicUsize,
    /// Counts the meetings; spun on.
    meetings: AtomicU64,
    /// When the last meeting ended.
    released_ns: AtomicU64,
    state: UnsafeCell<T>,
}

// SAFETY: `state` is touched by `meet` only, by one thread at a time: the last one to arrive, when
// all others wait. Their arrival (AcqRel) and their release (Release, Acquire) order its accesses.
unsafe impl<T: Send> Sync for Barrier<T> {}

impl<T> Barrier<T> {
    /// A barrier for so many threads.
    pub fn new(parties: usize, state: T) -> Self {
        Self {
            parties,
            arrived: AtomicUsize::new(0),
            meetings: AtomicU64::new(0),
            released_ns: AtomicU64::new(0),
            state: UnsafeCell::new(state),
        }
    }

    /// Waits for all the others. The last thread to arrive calls `last` with the state before any
    /// thread continues. Returns the time of the release.
    pub fn meet(&self, last: impl FnOnce(&mut T)) -> u64 {
        let meeting = self.meetings.load(Ordering::Relaxed);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            // SAFETY: all others spin below, and none leaves before the store to `meetings`.
            last(unsafe { &mut *self.state.get() });
            self.arrived.store(0, Ordering::Relaxed);
            self.released_ns.store(now_ns(), Ordering::Relaxed);
            self.meetings.store(meeting + 1, Ordering::Release);
        } else {
            while self.meetings.load(Ordering::Acquire) == meeting {
                std::hint::spin_loop();
            }
        }
        // It cannot be of the next meeting, which needs this thread, too.
        self.released_ns.load(Ordering::Relaxed)
    }

    /// The state, when all threads are gone.
    pub fn into_state(self) -> T {
        self.state.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_continues_before_all_have_arrived_and_one_is_last() {
        const THREADS: usize = 3;
        const MEETINGS: usize = 200;
        let come = AtomicUsize::new(0);
        let barrier = Barrier::new(THREADS, 0_usize);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for meeting in 1..=MEETINGS {
                        come.fetch_add(1, Ordering::Relaxed);
                        let released_ns = barrier.meet(|lasts| {
                            assert_eq!(come.load(Ordering::Relaxed), THREADS * meeting);
                            *lasts += 1;
                        });
                        assert!(released_ns > 0 && released_ns <= now_ns());
                        assert!(come.load(Ordering::Relaxed) >= THREADS * meeting);
                    }
                });
            }
        });
        assert_eq!(barrier.into_state(), MEETINGS);
    }
}
