// SPDX-License-Identifier: GPL-2.0-only
//! A CPU that is simulated: who runs there, what comes there, and until when it hears nothing.

use crate::queue::NEVER;
use crate::task::Id;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What a timer of a CPU is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comes {
    /// A task sleeps until then, for the time that it then goes on with.
    Wakeup(Id),
    /// A task begins.
    Start(Id),
    /// A timer of the scheduler, by its address.
    Scheduler(usize),
    /// artis, the process, looks for tasks that their limits stopped.
    LetOn,
    /// The periods of limits begin again: a group of stock's.
    Refill(u32),
}

/// A timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    pub at: u64,
    /// Of equal times the one that was set first.
    pub nth: u64,
    pub what: Comes,
}

/// Is a CPU to look for its next task?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resched {
    #[default]
    No,
    /// Where its task goes back to user mode, or at the next tick.
    Lazy,
    Now,
}

/// A CPU.
#[derive(Debug)]
pub struct Cpu {
    pub current: Option<Id>,
    /// Until then interrupts are off.
    pub busy_until: u64,
    /// From then on the current task goes on with its work.
    pub works_from: u64,
    /// Up to then the current task's CPU time is counted.
    pub counted_to: u64,
    pub resched: Resched,
    /// When an interrupt of another CPU comes.
    pub ipi_at: u64,
    pub tick_at: u64,
    pub timers: BinaryHeap<Reverse<Timer>>,
    /// Real-time tasks that wait here, by rank and turn.
    pub realtime: BTreeMap<(u64, i64), Id>,
    pub turn: i64,
    /// Until then its run queue is locked.
    pub locked_until: u64,
    /// The share of real-time tasks, as the kernel's averages know it.
    pub realtime_load: crate::load::Average,
    pub idle_ns: u64,
    pub switches: u64,
    pub overhead_ns: u64,
}

impl Default for Cpu {
    fn default() -> Self {
        Self {
            current: None,
            busy_until: 0,
            works_from: 0,
            counted_to: 0,
            resched: Resched::No,
            ipi_at: NEVER,
            tick_at: NEVER,
            timers: BinaryHeap::new(),
            realtime: BTreeMap::new(),
            turn: 0,
            locked_until: 0,
            realtime_load: Default::default(),
            idle_ns: 0,
            switches: 0,
            overhead_ns: 0,
        }
    }
}

impl Cpu {
    /// Now, or when it hears something again.
    pub fn local(&self, now: u64) -> u64 {
        now.max(self.busy_until)
    }

    /// When its next timer is due, the tick's included.
    pub fn next_timer(&self) -> u64 {
        let first = self.timers.peek().map_or(NEVER, |first| first.0.at);
        first.min(self.tick_at)
    }

    /// It is at work with interrupts off for so long, from now on.
    pub fn work(&mut self, now: u64, ns: u64) {
        self.busy_until = self.local(now) + ns;
        self.works_from = self.busy_until;
        self.overhead_ns += ns;
    }
}
