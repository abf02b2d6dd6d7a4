// SPDX-License-Identifier: GPL-2.0-only
//! The counters of one load, in memory shared with its starter: reading them does not disturb the
//! load, and counting needs no system call.

use super::Error;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a load counts. Only the load's processes write.
#[derive(Default)]
#[repr(C)]
pub struct Counters {
    done: AtomicU64,
}

impl Counters {
    /// Units finished.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub(super) fn add_done(&self, count: u64) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }
}

/// [`Counters`] in a page that stays shared over `fork`.
pub struct SharedCounters {
    page: NonNull<c_void>,
}

/// The counters fill the start of one page; the kernel rounds the length up.
const LENGTH: NonZeroUsize =
    NonZeroUsize::new(size_of::<Counters>()).expect("the counters are not empty");

impl SharedCounters {
    /// Maps a new page of counters, all 0.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn new() -> Result<Self, Error> {
        // SAFETY: a new anonymous mapping touches no memory that anyone else uses.
        let page = unsafe {
            mmap_anonymous(
                None,
                LENGTH,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE,
            )
        }
        .map_err(Error::system("map a page for a load's counters"))?;
        Ok(Self { page })
    }
}

impl Deref for SharedCounters {
    type Target = Counters;

    fn deref(&self) -> &Counters {
        // SAFETY: the page is mapped until drop, zeroed by the kernel (a valid value of the
        // atomics), aligned to a page, and every access to it is atomic.
        unsafe { self.page.cast::<Counters>().as_ref() }
    }
}

impl Drop for SharedCounters {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; no reference outlives `self`. Failure would
        // only keep the page until exit.
        let _ = unsafe { munmap(self.page, LENGTH.get()) };
    }
}
