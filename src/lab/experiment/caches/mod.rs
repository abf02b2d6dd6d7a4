// SPDX-License-Identifier: GPL-2.0-only
//! `measure = ["caches"]`: what the accesses of a guest would cost on a machine with caches.
//!
//! The engine charges an instruction the same whatever it touches. Here each access that it reports
//! goes through modelled caches ([`model`]) while the guest runs as ever: virtual time stays that
//! of instructions, so the scheduler decides as it does without caches, and what its decisions cost
//! is counted afterwards.
//!
//! An access does not say whose it is. The dirty walk's are known by their addresses, those of any
//! other load only where nothing but `compute`, which touches next to nothing, runs beside it; the
//! misses of RT0 and of the scheduler are then among its own, in each row.

mod model;

use super::plan::Experiment;
use crate::engine::accesses::{Access, Listener};
use crate::engine::bochs::INSTRUCTIONS_PER_SECOND;
use artis_guest::experiment::Done;
use artis_load::own::Load;
use artis_load::own::walk;
use artis_result::experiment::{CacheCounts, CacheCycles, CacheFigures};
use model::Caches;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};

/// Under which name the counts of a guest are kept.
pub fn fingerprint(guest: &str) -> String {
    let hash = Sha256::new().chain_update(guest).chain_update(model::NAME);
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where devices are, and no memory.
const DEVICES: [Range<u64>; 2] = [0xa_0000..0x10_0000, 0xc000_0000..0x1_0000_0000];

/// Counts, by who accessed what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The dirty walk's memory.
    pub walk: CacheCounts,
    /// Other memory of user mode.
    pub user: CacheCounts,
    pub kernel: CacheCounts,
    /// Page tables, by the CPU itself.
    pub tables: CacheCounts,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, more: Self) {
        self.walk += more.walk;
        self.user += more.user;
        self.kernel += more.kernel;
        self.tables += more.tables;
    }
}

impl Seen {
    fn class(&mut self, linear: Option<u64>) -> &mut CacheCounts {
        match linear {
            None => &mut self.tables,
            Some(kernel) if kernel >> 63 == 1 => &mut self.kernel,
            Some(user) if (walk::ADDRESS as u64..walk::END as u64).contains(&user) => {
                &mut self.walk
            }
            Some(_) => &mut self.user,
        }
    }
}

/// Receives a guest's accesses and marks. Accesses begin with the first mark; those from the second
/// to the third count, and the caches are no longer empty then.
pub struct Counter {
    caches: Caches,
    seen: Seen,
    marks: u32,
}

impl Counter {
    pub fn new(cpus: u32) -> Self {
        Self {
            caches: Caches::new(cpus),
            seen: Seen::default(),
            marks: 0,
        }
    }

    /// What was seen; none when the guest did not reach its last mark, or nothing was.
    pub fn seen(&self) -> Option<Seen> {
        (self.marks == 3 && self.seen.kernel.accesses > 0).then_some(self.seen)
    }
}

impl Listener for Counter {
    fn hear(&mut self, access: Access) {
        let Access {
            cpu,
            linear,
            physical,
            bytes,
            is_store,
        } = access;
        if self.marks >= 3 || DEVICES.iter().any(|all| all.contains(&physical)) {
            return;
        }
        let counts = self.seen.class(linear);
        self.caches.access(cpu, physical, bytes, is_store, counts);
    }

    fn mark(&mut self) {
        self.marks += 1;
        if self.marks == 2 {
            self.seen = Seen::default();
        }
    }
}

/// What a row's loads did and what was seen meanwhile.
pub struct Group<'a> {
    pub loads: &'a BTreeMap<String, Done>,
    pub seen: Seen,
}

impl Group<'_> {
    /// What is known to be the load's, and what it did.
    fn of(&self, load: Load) -> Option<(CacheCounts, Done)> {
        let Seen {
            walk,
            user,
            kernel,
            tables,
        } = self.seen;
        let done = *self.loads.get(load.name())?;
        let is_alone = |other: &String| other == load.name() || other == Load::Compute.name();
        let counts = match load {
            Load::Walk(_) => walk,
            _ if self.loads.keys().all(is_alone) => {
                let mut all = user;
                all += kernel;
                all += tables;
                all
            }
            _ => return None,
        };
        (done.work > 0).then_some((counts, done))
    }

    fn cycles(&self, load: Load, costs: &CacheCycles, times: u64) -> Option<f64> {
        let (counts, done) = self.of(load)?;
        let ns = 1_000_000_000 / INSTRUCTIONS_PER_SECOND;
        let cycles = done.cpu_ns / ns + times * costs.of(&counts);
        Some(cycles as f64 / done.work as f64)
    }
}

/// The figures of a row's loads; `reference` is the row with which work is compared.
pub fn figures(
    experiment: &Experiment,
    own: &Group,
    reference: &Group,
) -> BTreeMap<String, CacheFigures> {
    let Some(costs) = experiment.caches else {
        return BTreeMap::new();
    };
    let loads = own
        .loads
        .keys()
        .filter_map(|name| Load::try_from(name.clone()).ok());
    let of = |load: Load| {
        let (counts, done) = own.of(load)?;
        let each = |count: u64| count as f64 / done.work as f64;
        let [once, doubled] = [1, 2].map(|times| own.cycles(load, &costs, times));
        let relative =
            |own: Option<f64>, times| Some(reference.cycles(load, &costs, times)? / own?);
        let figures = CacheFigures {
            costs,
            l1_misses: each(counts.l1),
            l2_misses: each(counts.l2),
            dirty: each(counts.dirty),
            cycles: once?,
            cycles_doubled: doubled?,
            work_per_cycle_relative: relative(once, 1),
            work_per_cycle_doubled_relative: relative(doubled, 2),
        };
        Some((load.name().to_owned(), figures))
    };
    let misses = loads.filter(|load| *load != Load::Compute);
    misses.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(cpu: u32, linear: Option<u64>, physical: u64) -> Access {
        Access {
            cpu,
            linear,
            physical,
            bytes: 8,
            is_store: true,
        }
    }

    #[test]
    fn what_comes_between_the_last_two_marks_counts() {
        let mut counter = Counter::new(2);
        let kernel = 0xffff_8880_0000_0000;
        counter.mark();
        counter.hear(access(0, Some(kernel), 0x1000));
        counter.mark();
        counter.hear(access(0, Some(kernel), 0x1000));
        counter.hear(access(0, Some(walk::ADDRESS as u64), 0x2000));
        counter.hear(access(1, Some(0x5000), 0x1000));
        counter.hear(access(1, None, 0x3000));
        counter.hear(access(1, Some(kernel), 0xfee0_0000));
        assert_eq!(counter.seen(), None, "the last mark is missing");
        counter.mark();
        counter.hear(access(0, Some(kernel), 0x9000));
        let seen = counter.seen().unwrap();
        assert_eq!((seen.kernel.accesses, seen.kernel.l1), (1, 0));
        assert_eq!((seen.walk.memory, seen.tables.memory), (1, 1));
        assert_eq!((seen.user.accesses, seen.user.dirty), (1, 1));
    }

    #[test]
    fn accesses_are_a_loads_only_where_nobody_else_can_have_made_them() {
        let group = |loads: &[Load], load| {
            let done = Done {
                work: 10,
                cpu_ns: 1000,
            };
            let loads = loads.iter().map(|load| (load.name().to_owned(), done));
            let seen = Seen {
                kernel: CacheCounts {
                    l1: 5,
                    ..CacheCounts::default()
                },
                ..Seen::default()
            };
            let costs = CacheCycles {
                l1_miss: 14,
                l2_miss: 0,
                other_cpu: 0,
                memory: 0,
            };
            let loads = &loads.collect();
            Group { loads, seen }.cycles(load, &costs, 2)
        };
        assert_eq!(
            group(&[Load::Compute, Load::Hackbench], Load::Hackbench),
            Some(24.0)
        );
        assert_eq!(group(&[Load::Io, Load::Hackbench], Load::Hackbench), None);
        let walk = Load::Walk(&walk::WALKS[0]);
        assert_eq!(group(&[Load::Io, walk], walk), Some(10.0));
    }
}
