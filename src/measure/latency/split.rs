// SPDX-License-Identifier: GPL-2.0-only
//! Splits a wakeup latency into two parts: timer due to handler, and handler to task.
//!
//! Loads the BPF program `bpf/split.bpf.c` and owns the memory it shares with the measuring
//! threads. Measures nothing itself and changes no scheduling: a thread that woke up reads from its
//! slot when its timer was due and when the kernel handled it, and compares both with its own time.
//! The first part is the kernel latency of Piel and others (section 3.1), the whole is their user
//! latency. Needs a kernel with BTF, and no tracer.

use artis_machine::Root;
use artis_machine::privilege::{Capability, Privilege};
use libbpf_rs::btf::Btf;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};
use nix::sys::mman::{MapFlags as Mmap, ProtFlags, mmap, munmap};
use nix::unistd::Pid;
use skeleton::SplitSkelBuilder;
use skeleton::types::split_slot;
use std::ffi::c_void;
use std::mem::{MaybeUninit, size_of};
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

mod skeleton {
    #![allow(warnings, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/split.skel.rs"));
}

/// The initial pid namespace, as `/proc/self/ns/pid` names it (PROC_PID_INIT_INO).
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Why wakeups cannot be split.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not describe its types.
    #[error(
        "the kernel's part of the latency cannot be measured: this kernel has no BTF; use one with CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf(#[source] libbpf_rs::Error),
    /// Thread ids here are not the kernel's own.
    #[error(
        "the kernel's part of the latency cannot be measured in a container: the kernel's thread ids differ from \
         those in this pid namespace; run artis on the host"
    )]
    PidNamespace,
    /// Not allowed to trace the kernel.
    #[error(
        "the kernel's part of the latency cannot be measured: BPF tracing is not permitted; run as root, \
         or with the capabilities CAP_BPF and CAP_PERFMON"
    )]
    Privilege,
    /// The kernel or libbpf refused something.
    #[error("the kernel's part of the latency cannot be measured: cannot {doing}")]
    Bpf {
        /// What failed.
        doing: &'static str,
        /// What libbpf says.
        source: libbpf_rs::Error,
    },
    /// The shared memory could not be mapped.
    #[error("the kernel's part of the latency cannot be measured: cannot map the threads' slots")]
    Memory(#[source] std::io::Error),
}

impl Error {
    fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| Self::Bpf { doing, source }
    }
}

/// A timer's expiry that woke a thread; times in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// When the timer was due: what was asked for, without timer slack.
    pub due_ns: i64,
    /// When the kernel began to handle the timer.
    pub handler_ns: i64,
}

/// The attached program. Wakeups are split until this and all [`SlotReader`]s are dropped.
pub struct Split {
    shared: Arc<Shared>,
}

/// What every reader keeps alive.
struct Shared {
    slots: Slots,
    threads: MapHandle,
    _hooks: Vec<Link>,
}

impl Split {
    /// Loads and attaches the program with room for `capacity` threads.
    ///
    /// # Errors
    /// Without BTF, privilege or the kernel's consent (lockdown), and in a pid namespace.
    pub fn attach(capacity: u32) -> Result<Self, Error> {
        let namespace = std::fs::read_link("/proc/self/ns/pid");
        if namespace.is_ok_and(|name| name.as_os_str() != INITIAL_PID_NAMESPACE) {
            return Err(Error::PidNamespace);
        }
        // Asked here, because libbpf would print it on standard error.
        let privilege = Privilege::of_self(&Root::default());
        if privilege.is_ok_and(|privilege| !may_trace(&privilege)) {
            return Err(Error::Privilege);
        }
        Btf::from_vmlinux().map_err(Error::NoBtf)?;
        let mut storage = MaybeUninit::uninit();
        let mut open = SplitSkelBuilder::default()
            .open(&mut storage)
            .map_err(Error::bpf("open the BPF program"))?;
        for map in [&mut open.maps.slots, &mut open.maps.threads] {
            map.set_max_entries(capacity)
                .map_err(Error::bpf("size the BPF maps"))?;
        }
        let skeleton = open.load().map_err(Error::bpf("load the BPF program"))?;
        let maps = &skeleton.maps;
        let slots = MapHandle::try_from(&maps.slots).map_err(Error::bpf("share a BPF map"))?;
        let threads = MapHandle::try_from(&maps.threads).map_err(Error::bpf("share a BPF map"))?;
        let slots = Slots::map(&slots, capacity).map_err(Error::Memory)?;
        // Links and map handles keep what they refer to; the skeleton is not needed any more.
        let programs = &skeleton.progs;
        let hooks = [
            &programs.waking,
            &programs.handler_ended,
            &programs.handler_begins,
        ]
        .into_iter()
        .map(|program| {
            program
                .attach()
                .map_err(Error::bpf("attach the BPF program"))
        })
        .collect::<Result<_, _>>()?;
        Ok(Self {
            shared: Arc::new(Shared {
                slots,
                threads,
                _hooks: hooks,
            }),
        })
    }

    /// The slot `index`; none beyond the capacity. For one thread, before it starts to measure.
    pub fn slot(&self, index: u32) -> Option<SlotReader> {
        (index < self.shared.slots.count).then(|| SlotReader {
            shared: Arc::clone(&self.shared),
            index,
            thread: None,
            wakeups_seen: self.shared.slots.read(index).wakeups,
        })
    }
}

/// May this process load BPF programs that trace the kernel?
fn may_trace(privilege: &Privilege) -> bool {
    let has = |capability| privilege.has(capability);
    let named = has(Capability::Bpf) && has(Capability::Perfmon);
    privilege.initial_user_namespace && (named || has(Capability::SysAdmin))
}

/// How one thread reads its own slot.
pub struct SlotReader {
    shared: Arc<Shared>,
    index: u32,
    thread: Option<Pid>,
    wakeups_seen: u64,
}

impl SlotReader {
    /// From now on the wakeups of `thread` go into this slot. A system call: before measuring.
    ///
    /// # Errors
    /// When the kernel refuses to change the map.
    pub fn claim(&mut self, thread: Pid) -> Result<(), Error> {
        self.release();
        let key = thread.as_raw().to_ne_bytes();
        self.shared
            .threads
            .update(&key, &self.index.to_ne_bytes(), MapFlags::ANY)
            .map_err(Error::bpf("give a thread to the BPF program"))?;
        self.thread = Some(thread);
        Ok(())
    }

    /// The expiry that woke the claimed thread since the last call; none when something else woke
    /// it. For that thread only.
    ///
    /// Reads shared memory, nothing else. When the due time is not the one that the thread asked
    /// for, another timer expired (see `bpf/split.bpf.c`): do not count it.
    #[inline]
    pub fn take(&mut self) -> Option<Expiry> {
        let slot = self.shared.slots.read(self.index);
        // The kernel writes only while the thread sleeps: nothing changes under this read.
        if slot.wakeups == self.wakeups_seen {
            return None;
        }
        self.wakeups_seen = slot.wakeups;
        Some(Expiry {
            due_ns: slot.due_ns.cast_signed(),
            handler_ns: slot.handler_ns.cast_signed(),
        })
    }

    fn release(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A stale entry only occupies a slot that no thread reads.
            let _ = self.shared.threads.delete(&thread.as_raw().to_ne_bytes());
        }
    }
}

impl Drop for SlotReader {
    fn drop(&mut self) {
        self.release();
    }
}

/// The array of slots, mapped read-only. Its pages stay in memory, so reading causes no fault.
struct Slots {
    start: NonNull<c_void>,
    bytes: NonZeroUsize,
    count: u32,
}

// SAFETY: a read-only mapping, read by volatile loads only, and unmapped when its owner is dropped.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    fn map(map: &MapHandle, count: u32) -> std::io::Result<Self> {
        let bytes = NonZeroUsize::new(count as usize * size_of::<split_slot>())
            .ok_or(std::io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { mmap(None, bytes, ProtFlags::PROT_READ, Mmap::MAP_SHARED, map, 0) }?;
        Ok(Self {
            start,
            bytes,
            count,
        })
    }

    fn read(&self, index: u32) -> split_slot {
        assert!(index < self.count, "a reader's index is below the capacity");
        let slot = self.start.as_ptr().cast::<split_slot>();
        // SAFETY: inside the mapping and aligned (its start is a page's); plain integers, in which
        // every value is valid.
        unsafe { slot.add(index as usize).read_volatile() }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: our own mapping; readers hold its owner. Failing leaves it mapped: harmless.
        let _ = unsafe { munmap(self.start, self.bytes.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracing_takes_root_or_two_capabilities() {
        let mut privilege = Privilege::of_self(&Root::default()).unwrap();
        let mut may = |capabilities: &[Capability], initial_user_namespace| {
            privilege.capabilities = capabilities.iter().map(|&one| 1 << one as u32).sum();
            privilege.initial_user_namespace = initial_user_namespace;
            may_trace(&privilege)
        };
        assert!(may(&[Capability::Bpf, Capability::Perfmon], true));
        assert!(may(&[Capability::SysAdmin], true));
        assert!(!may(&[Capability::Bpf], true));
        assert!(!may(&[Capability::SysAdmin], false));
    }
}
