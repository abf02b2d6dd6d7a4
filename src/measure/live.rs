// SPDX-License-Identifier: GPL-2.0-only
//! What others may see of a measuring thread while it runs.

use nix::unistd::Pid;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};

/// Only the measuring thread writes, in cache lines of its own: that slows nobody else down.
#[derive(Debug)]
#[repr(align(128))]
pub struct Live {
    /// Kernel's id of the thread; 0 before it began.
    tid: AtomicI32,
    count: AtomicU64,
    last_ns: AtomicI64,
    max_ns: AtomicI64,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            tid: AtomicI32::new(0),
            count: AtomicU64::new(0),
            last_ns: AtomicI64::new(0),
            max_ns: AtomicI64::new(i64::MIN),
        }
    }
}

impl Live {
    /// The thread's id in the kernel, where it said that.
    pub fn tid(&self) -> Pid {
        Pid::from_raw(self.tid.load(Ordering::Relaxed))
    }

    /// Samples so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The last one, ns.
    pub fn last_ns(&self) -> i64 {
        self.last_ns.load(Ordering::Relaxed)
    }

    /// The largest so far, ns; 0 before the first.
    pub fn max_ns(&self) -> i64 {
        Self::worst_ns(std::slice::from_ref(self))
    }

    /// The largest of all these threads, ns; 0 before the first.
    pub fn worst_ns(threads: &[Self]) -> i64 {
        let all = threads.iter().map(|one| one.max_ns.load(Ordering::Relaxed));
        all.max().filter(|ns| *ns != i64::MIN).unwrap_or(0)
    }

    /// For the thread itself, before it measures.
    pub(crate) fn begin(&self, tid: Pid) {
        self.tid.store(tid.as_raw(), Ordering::Relaxed);
    }

    /// There are so many samples now, and this is the last one.
    pub(crate) fn publish(&self, count: u64, ns: i64) {
        // Only this thread writes.
        if ns > self.max_ns.load(Ordering::Relaxed) {
            self.max_ns.store(ns, Ordering::Relaxed);
        }
        self.last_ns.store(ns, Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_that_of_all_and_may_be_early() {
        let all = [Live::default(), Live::default()];
        assert_eq!(Live::worst_ns(&all), 0);
        all[0].publish(1, -7);
        assert_eq!(Live::worst_ns(&all), -7);
        all[1].publish(1, 9);
        all[1].publish(2, 3);
        assert_eq!((all[1].max_ns(), all[1].last_ns()), (9, 3));
        assert_eq!((Live::worst_ns(&all), all[1].count()), (9, 2));
    }
}
