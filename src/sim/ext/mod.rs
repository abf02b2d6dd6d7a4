// SPDX-License-Identifier: GPL-2.0-only
//! artis in the simulator: the scheduler itself, compiled for this machine from `src/sched/bpf`.
//!
//! Owns what the scheduler may ask of a kernel. It decides nothing: where a task goes, who comes
//! next and when a slice ends is said by the scheduler, whose rules are those of its policy.
//!
//! Source: kernel/sched/ext/ext.c of Linux 7.3, as far as a scheduler can tell.

mod core;
mod dsq;
mod kernel;
mod notes;
mod setup;

pub use notes::Note;
#[cfg(test)]
pub use setup::with_scheduler;

use crate::mask::Mask;
use crate::sim::Sim;
use crate::sys;
use crate::task::Id;
use dsq::Dsq;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::MutexGuard;

/// The scheduler's clock at the beginning: to it, 0 is "never".
pub(crate) const EPOCH_NS: u64 = 1_000_000_000;

/// The scheduler and what it knows, and the kernel's side of it.
pub struct Ext {
    scheduler: &'static sys::sim_scheduler,
    pub(crate) shared: Box<sys::sim_shared>,
    cpus: Vec<sys::sim_cpu>,
    tasks: Tasks,
    queues: Vec<Dsq>,
    queue_at: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    local: Vec<Dsq>,
    #[expect(clippy::vec_box, reason = "the scheduler keeps their addresses")]
    masks: Vec<Box<Mask>>,
    arrays: Vec<Box<[u64]>>,
    hashes: HashMap<(usize, u64), Box<u32>>,
    groups: Vec<setup::Cgroup>,
    /// The scheduler's timers that are set, and when they are due.
    timers: HashMap<usize, u64>,
    /// Where the task that is asked about goes, as far as the scheduler has said.
    direct: Option<Direct>,
    kicks: Vec<(u32, u64)>,
    hand_backs: Vec<u32>,
    /// The CPU that handles an interrupt of a timer.
    interrupt: Option<u32>,
    ended: Option<i64>,
    notes: Option<Vec<Note>>,
    /// The scheduler's variables are there once.
    _alone: MutexGuard<'static, ()>,
}

/// Hashes the number of a queue: numbers are looked up with each event.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // Fibonacci hashing (Knuth, volume 3, section 6.4).
        self.0 = (self.0 ^ number)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(32);
    }
}

/// A task is to be inserted.
#[derive(Clone, Copy, Debug)]
struct Direct {
    id: Id,
    queue: u64,
    slice: u64,
    flags: u64,
    vtime: Option<u64>,
}

/// The kernel's flags.
mod flags {
    pub const WAKEUP: u64 = 1;
    pub const HEAD: u64 = 0x10;
    pub const PREEMPT: u64 = 1 << 32;
    pub const REENQ: u64 = 1 << 40;
    pub const LAST: u64 = 1 << 41;
    pub const WAKE_SYNC: u64 = 1 << 4;
    pub const KICK_IDLE: u64 = 1;
    pub const KICK_PREEMPT: u64 = 2;
    pub const DEQ_SLEEP: u64 = 1;
    pub const TASK_QUEUED: u32 = 1;
    pub const LOCAL: u64 = (1 << 63) | 2;
    pub const LOCAL_ON: u64 = (1 << 63) | (1 << 62);
}

/// The kernel's tasks as the scheduler sees them, each with what the scheduler knows of it behind.
struct Tasks {
    words: usize,
    chunks: Vec<Box<[u64]>>,
    idle: Box<sys::task_struct>,
    signal: Box<sys::signal_struct>,
}

/// So many tasks are in a chunk, so that none ever moves.
const CHUNK: usize = 1024;

impl Tasks {
    fn new(bytes: u64) -> Self {
        Self {
            words: (bytes as usize).div_ceil(8),
            chunks: Vec::new(),
            idle: Box::default(),
            signal: Box::default(),
        }
    }

    fn at(&mut self, id: Id) -> *mut sys::task_struct {
        let (chunk, place) = (id as usize / CHUNK, id as usize % CHUNK);
        while self.chunks.len() <= chunk {
            self.chunks.push(vec![0; self.words * CHUNK].into());
        }
        let first = &mut self.chunks[chunk][place * self.words];
        std::ptr::from_mut(first).cast()
    }
}

thread_local! {
    /// The simulation whose scheduler is being asked.
    static ASKING: Cell<*mut Sim<'static>> = const { Cell::new(std::ptr::null_mut()) };
}

impl Sim<'_> {
    pub(crate) fn ext(&mut self) -> &mut Ext {
        self.ext.as_mut().expect("artis is the scheduler")
    }

    /// The scheduler's task.
    pub(crate) fn native(&mut self, id: Id) -> &mut sys::task_struct {
        let place = self.ext().tasks.at(id);
        // SAFETY: the chunks live as long as the simulation, and are large enough and aligned for
        // it; all bits 0 are a task_struct. Nobody else has a reference while the simulator runs.
        unsafe { &mut *place }
    }

    /// Asks the scheduler on that CPU; then does what it asked for.
    fn ask<R>(
        &mut self,
        cpu: u32,
        about: Option<Id>,
        what: impl FnOnce(&sys::sim_scheduler) -> R,
    ) -> R {
        let local = self.cpus[cpu as usize].local(self.now) + EPOCH_NS;
        let other = about.map(|id| self.tasks[id as usize].cpu);
        let user = self.is_in_user_mode(cpu);
        let will_reschedule = self.cpus[cpu as usize].resched == crate::cpu::Resched::Now;
        let jiffies = self.now / self.setup.costs.tick_ns;
        let ext = self.ext();
        for cpu in [cpu, other.unwrap_or(cpu)] {
            let rq = &mut ext.cpus[cpu as usize].rq;
            rq.clock = local;
            rq.clock_task = local;
        }
        let regs_of = ext.interrupt == Some(cpu);
        let it = &mut ext.cpus[cpu as usize];
        it.regs.cs = if user { 3 } else { 0 };
        it.irq_regs = match regs_of {
            true => &mut it.regs,
            false => std::ptr::null_mut(),
        };
        it.preempt_count = if will_reschedule { 0 } else { 0x8000_0000 };
        let current = it.rq.curr;
        let shared = &mut *ext.shared;
        shared.cpu = cpu as i32;
        shared.now_ns = local;
        shared.spent_ns = 0;
        shared.jiffies = jiffies;
        shared.current = current;
        let scheduler = ext.scheduler;
        let outer = ASKING.replace(std::ptr::from_mut(self).cast());
        let answer = what(scheduler);
        ASKING.set(outer);
        answer
    }

    fn is_in_user_mode(&self, cpu: u32) -> bool {
        let current = self.cpus[cpu as usize].current;
        current.is_some_and(|id| self.tasks[id as usize].is_in_user_mode())
    }

    /// The CPU handles an interrupt of a timer from now on, or no more.
    pub(crate) fn ext_interrupt(&mut self, cpu: Option<u32>) {
        if let Some(ext) = &mut self.ext {
            ext.interrupt = cpu;
        }
    }

    /// What the scheduler counts, by name.
    pub fn counters(&mut self) -> Vec<(String, u64)> {
        let cpus = self.setup.layout.cpus;
        let Some(ext) = &self.ext else {
            return Vec::new();
        };
        let scheduler = ext.scheduler;
        let (Some(name), Some(count)) = (scheduler.counter_name, scheduler.counter) else {
            return Vec::new();
        };
        (0..scheduler.counters)
            .map(|which| {
                // SAFETY: the scheduler's names are constant strings; it has so many counters.
                let text = unsafe { std::ffi::CStr::from_ptr(name(which)) };
                let sum = (0..cpus).map(|cpu| unsafe { count(cpu, which) }).sum();
                (text.to_string_lossy().into_owned(), sum)
            })
            .collect()
    }
}
