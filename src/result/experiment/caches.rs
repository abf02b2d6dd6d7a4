// SPDX-License-Identifier: GPL-2.0-only
//! What modelled caches cost the loads of an experiment.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// What accesses of memory missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheCounts {
    /// Lines that were touched, each access once.
    pub accesses: u64,
    /// Not in the CPU's first cache.
    pub l1: u64,
    /// Of these, in neither of its own; some are of the next three kinds, the others come from the
    /// cache that all CPUs share.
    pub l2: u64,
    /// Modified in another CPU's cache.
    pub dirty: u64,
    /// In another CPU's cache, and not modified.
    pub clean: u64,
    /// In no cache.
    pub memory: u64,
    /// Stores to a line that another CPU has, too.
    pub upgrades: u64,
}

impl AddAssign for CacheCounts {
    fn add_assign(&mut self, more: Self) {
        self.accesses += more.accesses;
        self.l1 += more.l1;
        self.l2 += more.l2;
        self.dirty += more.dirty;
        self.clean += more.clean;
        self.memory += more.memory;
        self.upgrades += more.upgrades;
    }
}

/// What a miss costs, cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheCycles {
    /// Each miss of the first cache.
    pub l1_miss: u64,
    /// Beyond that: a line from the cache that all CPUs share.
    pub l2_miss: u64,
    /// Beyond that: a line, or the right to write to it, from another CPU.
    pub other_cpu: u64,
    /// Beyond that: a line from memory.
    pub memory: u64,
}

impl CacheCycles {
    /// Cycles that these misses take.
    pub fn of(&self, counts: &CacheCounts) -> u64 {
        let elsewhere = counts.dirty + counts.clean;
        let shared = counts.l2.saturating_sub(elsewhere + counts.memory);
        counts.l1 * self.l1_miss
            + shared * self.l2_miss
            + (elsewhere + counts.upgrades) * self.other_cpu
            + counts.memory * self.memory
    }
}

/// What a load pays, for each unit of its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheFigures {
    /// What the cycles are made of, beside one for each instruction.
    pub costs: CacheCycles,
    pub l1_misses: f64,
    pub l2_misses: f64,
    /// Lines that were modified in another CPU's cache.
    pub dirty: f64,
    pub cycles: f64,
    /// With costs twice as high.
    pub cycles_doubled: f64,
    /// Work in a cycle against the reference row's.
    pub work_per_cycle_relative: Option<f64>,
    pub work_per_cycle_doubled_relative: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_miss_costs_what_is_named() {
        let costs = CacheCycles {
            l1_miss: 1,
            l2_miss: 10,
            other_cpu: 100,
            memory: 1000,
        };
        let counts = CacheCounts {
            accesses: 99,
            l1: 9,
            l2: 7,
            dirty: 1,
            clean: 2,
            memory: 3,
            upgrades: 4,
        };
        assert_eq!(costs.of(&counts), 9 + 10 + 700 + 3000);
    }
}
