// SPDX-License-Identifier: GPL-2.0-only
//! Memory that all tasks of a run share with their starter: when it begins and ends, the objects
//! of the scenario, and what each task has done so far.

use super::Error;
use artis_scenario::model::Scenario;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The most forked tasks at one moment.
pub const FORKED_MAX: usize = 4096;

/// A shared mapping, given out from its start. Zeroed.
pub struct Arena {
    start: NonNull<c_void>,
    length: NonZeroUsize,
    used: usize,
}

/// What may lie in an arena: zeros are a valid value, and sharing it between processes is sound.
///
/// # Safety
/// As said.
pub unsafe trait Zeroed: Sync {}

// SAFETY: atomics of zeros.
unsafe impl Zeroed for AtomicU64 {}
// SAFETY: structs of atomics.
unsafe impl Zeroed for Gate {}
// SAFETY: as above.
unsafe impl Zeroed for Slot {}
// SAFETY: as above.
unsafe impl Zeroed for Kind {}
// SAFETY: bytes.
unsafe impl Zeroed for std::sync::atomic::AtomicU8 {}

impl Arena {
    /// Of so many bytes at least.
    pub fn new(bytes: usize) -> Result<Self, Error> {
        let length = NonZeroUsize::new(bytes.max(4096)).unwrap_or(NonZeroUsize::MIN);
        // SAFETY: a new anonymous mapping touches no memory that anyone else uses.
        let start = unsafe {
            mmap_anonymous(
                None,
                length,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE,
            )
        }
        .map_err(Error::system(format!(
            "map {length} bytes of shared memory"
        )))?;
        Ok(Self {
            start,
            length,
            used: 0,
        })
    }

    /// Room for `count` values.
    ///
    /// # Panics
    /// When the arena was made too small.
    pub fn take<T: Zeroed>(&mut self, count: usize) -> Part<T> {
        let begin = self.used.next_multiple_of(align_of::<T>().max(64));
        self.used = begin + count * size_of::<T>();
        assert!(self.used <= self.length.get(), "the arena is too small");
        // SAFETY: within the mapping, which is aligned to a page.
        let first = unsafe { self.start.byte_add(begin) };
        Part {
            first: first.cast(),
            count,
        }
    }

    /// What `count` values take at most.
    pub fn bytes<T>(count: usize) -> usize {
        count * size_of::<T>() + 128
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: mapped with this length; parts live in the struct that owns the arena. Failure
        // would only keep the memory until exit.
        let _ = unsafe { munmap(self.start, self.length.get()) };
    }
}

/// Values in an arena, which has to outlive them.
pub struct Part<T> {
    first: NonNull<T>,
    count: usize,
}

impl<T: Zeroed> std::ops::Deref for Part<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: mapped, aligned, zeroed at first, and shared only through atomics.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

/// When it begins and ends.
#[repr(C)]
pub struct Gate {
    /// Tasks that are prepared.
    pub ready: AtomicU32,
    /// 1: `start_ns` is known. A futex.
    pub open: AtomicU32,
    pub start_ns: AtomicU64,
    /// The end, by the clock; 0: none.
    pub end_ns: AtomicU64,
    /// 1: everybody stops.
    pub stop: AtomicU32,
    /// Foreground tasks that have not ended.
    pub foreground: AtomicU32,
    /// 1: the run ended with them.
    pub foreground_ended: AtomicU32,
}

/// What a task does, of its own; or all forked instances of one, added up.
#[repr(C)]
#[derive(Default)]
pub struct Slot {
    pub pid: AtomicI32,
    /// 1 when its program has come to its end.
    pub has_ended: AtomicU32,
    pub end_ns: AtomicU64,
    pub begin_late_ns: AtomicU64,
    pub steps: AtomicU64,
    pub activations: AtomicU64,
    pub missed: AtomicU64,
    pub late_ns_max: AtomicU64,
    pub cpu_ns: AtomicU64,
    pub waiting_ns: AtomicU64,
    pub voluntary: AtomicU64,
    pub involuntary: AtomicU64,
    pub migrations: AtomicU64,
    /// What the same were at the start: they count from there.
    pub base: Base,
    /// Instances in it; of forked ones.
    pub count: AtomicU64,
    /// 0, or which step failed and why: `what << 32 | errno`.
    pub failed: AtomicU64,
}

/// What a task had used before the start, preparing itself.
#[repr(C)]
#[derive(Default)]
pub struct Base {
    pub cpu_ns: AtomicU64,
    pub waiting_ns: AtomicU64,
    pub voluntary: AtomicU64,
    pub involuntary: AtomicU64,
    pub migrations: AtomicU64,
}

/// Of a task of the scenario: how many of it live. A futex.
#[repr(C)]
pub struct Kind {
    pub alive: AtomicU32,
}

/// Everything that is shared, but the objects.
pub struct Shared {
    pub gate: Part<Gate>,
    /// One for each task at the start, then one for the forked ones of each task.
    pub slots: Part<Slot>,
    pub kinds: Part<Kind>,
    /// Of each slot, units of user work on each CPU.
    pub units: Part<AtomicU64>,
    /// Living forked tasks: `task + 1 << 32 | pid`.
    pub forked: Part<AtomicU64>,
    pub timers: Part<AtomicU64>,
    pub cpus: usize,
}

impl Shared {
    /// What it takes of an arena.
    pub fn bytes(scenario: &Scenario, slots: usize, cpus: usize) -> usize {
        Arena::bytes::<Gate>(1)
            + Arena::bytes::<Slot>(slots)
            + Arena::bytes::<Kind>(scenario.tasks.len())
            + Arena::bytes::<AtomicU64>(slots * cpus)
            + Arena::bytes::<AtomicU64>(FORKED_MAX)
            + Arena::bytes::<AtomicU64>(scenario.objects.timers.len())
    }

    pub fn new(arena: &mut Arena, scenario: &Scenario, slots: usize, cpus: usize) -> Self {
        Self {
            gate: arena.take(1),
            slots: arena.take(slots),
            kinds: arena.take(scenario.tasks.len()),
            units: arena.take(slots * cpus),
            forked: arena.take(FORKED_MAX),
            timers: arena.take(scenario.objects.timers.len()),
            cpus,
        }
    }

    pub fn gate(&self) -> &Gate {
        &self.gate[0]
    }

    /// Units of user work of a slot, by CPU.
    pub fn units_of(&self, slot: usize) -> &[AtomicU64] {
        &self.units[slot * self.cpus..(slot + 1) * self.cpus]
    }

    /// Whether everybody is to stop.
    pub fn must_stop(&self, now_ns: u64) -> bool {
        let gate = self.gate();
        let end_ns = gate.end_ns.load(Relaxed);
        gate.stop.load(Relaxed) != 0 || (end_ns != 0 && now_ns >= end_ns)
    }
}
