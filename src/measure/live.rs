// SPDX-License-Identifier: GPL-2.0-only
//! What others may see of a measuring thread while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Only the measuring thread writes, in cache lines of its own: that slows nobody else down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Live {
    count: AtomicU64,
    max_ns: AtomicU64,
}

impl Live {
    /// Samples so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The largest so far, ns.
    pub fn max_ns(&self) -> u64 {
        self.max_ns.load(Ordering::Relaxed)
    }

    /// There are so many samples now, and the last one is the largest, if it is given.
    pub(crate) fn publish(&self, count: u64, new_max_ns: Option<u64>) {
        if let Some(max_ns) = new_max_ns {
            self.max_ns.store(max_ns, Ordering::Relaxed);
        }
        self.count.store(count, Ordering::Relaxed);
    }
}
