// SPDX-License-Identifier: GPL-2.0-only
//! The recorder's memory as the keeper sees it: mapped read-only, read without a system call.

use crate::skeleton::types::{recorder_event, recorder_mark, recorder_stack};
use libbpf_rs::MapHandle;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// The numbers of `bpf/recorder.h`.
mod constants {
    #![allow(dead_code, reason = "generated from the header")]
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}

/// Entries of each CPU.
pub(crate) const EVENTS: u64 = constants::EVENTS as u64;
pub(crate) const MARKS: u64 = constants::MARKS as u64;
pub(crate) const STACKS: u64 = constants::STACKS as u64;

/// What is written and overwritten while it is read.
pub(crate) trait Entry: Copy {
    /// One more than its place in the order of all, as far as that fits; 0 where none was written
    /// yet.
    fn number(&self) -> u32;
}

impl Entry for recorder_event {
    fn number(&self) -> u32 {
        self.number
    }
}

impl Entry for recorder_mark {
    fn number(&self) -> u32 {
        self.number
    }
}

/// One of the recorder's arrays: a ring for each CPU, one after the other.
pub(crate) struct Rings<T> {
    start: NonNull<c_void>,
    bytes: NonZeroUsize,
    of_cpu: u64,
    cpus: u64,
    entries: PhantomData<T>,
}

// SAFETY: a read-only mapping, read by volatile loads only, and unmapped when its owner is dropped.
unsafe impl<T> Send for Rings<T> {}

impl<T: Copy> Rings<T> {
    pub fn map(map: &MapHandle, cpus: u64, of_cpu: u64) -> std::io::Result<Self> {
        let bytes = cpus as usize * of_cpu as usize * size_of::<T>();
        let bytes = NonZeroUsize::new(bytes).ok_or(std::io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            mmap(
                None,
                bytes,
                ProtFlags::PROT_READ,
                MapFlags::MAP_SHARED,
                map,
                0,
            )
        }?;
        Ok(Self {
            start,
            bytes,
            of_cpu,
            cpus,
            entries: PhantomData,
        })
    }

    pub fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// The entry in the place of this number, whatever it is now.
    pub fn raw(&self, cpu: u64, number: u64) -> T {
        assert!(cpu < self.cpus, "a ring's CPU is one of the machine");
        let place = cpu * self.of_cpu + number % self.of_cpu;
        let first = self.start.as_ptr().cast::<T>();
        // SAFETY: inside the mapping and aligned (its start is a page's); plain integers, in which
        // every value is valid.
        let entry = unsafe { first.add(place as usize).read_volatile() };
        fence(Ordering::Acquire);
        entry
    }
}

impl<T: Entry> Rings<T> {
    /// The entry with this number, from 0 on; none when it was overwritten, or is not written yet.
    pub fn entry(&self, cpu: u64, number: u64) -> Option<T> {
        let expected = (number + 1) as u32 & 0x7fff_ffff;
        let first = self.raw(cpu, number);
        let again = self.raw(cpu, number);
        (first.number() == expected && again.number() == expected).then_some(first)
    }
}

impl<T> Drop for Rings<T> {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nobody else has. Failing leaves it mapped: harmless.
        let _ = unsafe { munmap(self.start, self.bytes.get()) };
    }
}

/// A stack by its number, which counts from 1, if it still is the one of that moment.
pub(crate) fn stack(rings: &Rings<recorder_stack>, cpu: u64, number: u32, ns: u64) -> Box<[u64]> {
    let Some(at) = number.checked_sub(1) else {
        return Box::default();
    };
    let stack = rings.raw(cpu, u64::from(at));
    if stack.ns != ns {
        return Box::default();
    }
    let depth = (stack.depth as usize).min(stack.address.len());
    stack.address[..depth].into()
}
