// SPDX-License-Identifier: GPL-2.0-only
//! Page faults: map a region, touch each of its pages, unmap it, again and again.

use super::Error;
use super::counters::Counters;
use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous, munmap};
use nix::unistd::{SysconfVar, sysconf};
use std::convert::Infallible;
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

/// Pages in the region: far fewer than in a huge page, so that each touch is a fault.
const PAGES: usize = 64;

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    loop {
        let region = Region::map(PAGES)?;
        region.touch();
        counters.add_done(PAGES as u64);
    }
}

/// A private anonymous mapping, unmapped when dropped.
pub struct Region {
    start: NonNull<c_void>,
    length: NonZeroUsize,
    page: usize,
}

impl Region {
    /// Maps `pages` pages, none of them present yet.
    ///
    /// # Errors
    /// When the system has no room for them.
    pub fn map(pages: usize) -> Result<Self, Error> {
        let page = sysconf(SysconfVar::PAGE_SIZE)
            .ok()
            .flatten()
            .and_then(|size| usize::try_from(size).ok())
            .ok_or(nix::errno::Errno::EINVAL)
            .map_err(Error::system("ask for the page size"))?;
        let length = NonZeroUsize::new(pages * page)
            .ok_or(nix::errno::Errno::EINVAL)
            .map_err(Error::system("map a region of no pages"))?;
        // SAFETY: a new anonymous mapping touches no memory that anyone else uses.
        let start = unsafe {
            mmap_anonymous(
                None,
                length,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_PRIVATE,
            )
        }
        .map_err(Error::system(format!("map {pages} pages")))?;
        Ok(Self {
            start,
            length,
            page,
        })
    }

    /// Writes one byte to each page: a fault for each that is not present.
    pub fn touch(&self) {
        for offset in (0..self.length.get()).step_by(self.page) {
            // SAFETY: inside the mapping, which is writable. Volatile, so that it is not left out.
            unsafe { self.start.cast::<u8>().add(offset).write_volatile(1) };
        }
    }

    /// Gives the pages back to the kernel, in one system call; the next touch faults again.
    pub(super) fn give_back(&self) -> Result<(), Error> {
        // SAFETY: the mapping is ours, and nothing in it is ever read.
        unsafe { madvise(self.start, self.length.get(), MmapAdvise::MADV_DONTNEED) }
            .map_err(Error::system("give pages back"))
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and no pointer into it is left. It can only
        // fail when these are wrong.
        let _ = unsafe { munmap(self.start, self.length.get()) };
    }
}
