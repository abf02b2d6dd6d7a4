// SPDX-License-Identifier: GPL-2.0-only
//! The records of CPUs, which the BPF program writes, as this process sees them.

use super::bpf::types::artis_cpu;
use super::policy;

/// A view of all records, for any thread.
///
/// It is no longer valid when the [`Program`](super::program::Program) it came from is dropped.
#[derive(Clone, Copy)]
pub struct Records {
    pub(super) first: *const artis_cpu,
    pub(super) count: u32,
}

// SAFETY: a mapped page that stays where it is, and is only read here.
unsafe impl Send for Records {}

/// What the record of one CPU says.
#[derive(Clone, Copy)]
pub struct Record(artis_cpu);

impl Records {
    pub(super) const NONE: Self = Self {
        first: std::ptr::null(),
        count: 0,
    };

    /// The record of a CPU, which may be offline.
    pub fn of(&self, cpu: u32) -> Option<Record> {
        // SAFETY: within the mapped array; each figure is a word of its own, so at worst they
        // were read at different moments.
        (cpu < self.count)
            .then(|| Record(unsafe { std::ptr::read_volatile(self.first.add(cpu as usize)) }))
    }

    /// The same if the CPU is online.
    pub fn online(&self, cpu: u32) -> Option<Record> {
        self.of(cpu).filter(|record| record.0.offline == 0)
    }
}

impl Record {
    /// For how long real-time tasks have kept this CPU from everybody else, ns.
    pub fn beset_ns(&self) -> u64 {
        policy::beset_ns(self.0.beset_ticks, self.0.tick_ns)
    }

    /// Did a task wait that may run nowhere else, as the last tick found real-time tasks?
    pub fn waits(&self) -> bool {
        self.0.bound_waits != 0
    }

    pub(super) fn whole(&self) -> &artis_cpu {
        &self.0
    }
}
