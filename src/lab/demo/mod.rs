// SPDX-License-Identifier: GPL-2.0-only
//! The demo: the same work three times on one kernel, so that one table shows what artis is for.
//!
//! Owns the three configurations, the work ([`guest`]; in the program `artis-guest`), and what is made of the counts
//! ([`verdict`]). The counts of all three come from the same observer
//! ([`crate::trace::occupancy`]), which knows no scheduler; artis' own are only shown beside
//! them. Never reports a time: it runs on an emulated CPU.

pub mod guest;
pub mod verdict;

use crate::machine::CpuList;
use crate::trace::occupancy::Counts;
use serde::{Deserialize, Serialize};

/// Who decides what else may run on the RT CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Configuration {
    /// The kernel's own scheduler: everything runs everywhere.
    Stock,
    /// The kernel's own scheduler, and all but RT0 bound to the other CPUs.
    Shield,
    /// artis, nothing bound.
    Artis,
}

impl Configuration {
    /// All, in the order they are run and shown.
    pub const ALL: [Self; 3] = [Self::Stock, Self::Shield, Self::Artis];

    /// Its name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Shield => "shield",
            Self::Artis => "artis",
        }
    }
}

/// What the guest is told to do, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The configurations, in the order of the table.
    pub configurations: Vec<Configuration>,
    /// The RT CPUs.
    pub rt: CpuList,
    /// Seconds counted in each configuration.
    pub seconds: u32,
}

/// What the guest measured in one configuration, over all its windows of time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Which configuration.
    pub name: Configuration,
    /// Length of the windows together, in nanoseconds of guest time. It ends when the guest gets
    /// to it, so two configurations' differ a little: compare rates.
    pub window_ns: u64,
    /// Observed on the RT CPUs.
    pub rt: Counts,
    /// Observed on all CPUs.
    pub all: Counts,
    /// Work done by the load.
    pub work: Work,
    /// Periods of RT0 that were released.
    pub rt0_periods: u64,
    /// Periods of RT0 whose work was finished before the next release.
    pub rt0_periods_served: u64,
    /// What `artis sched status --json` said at the end of each window; none without artis.
    pub scheduler: Vec<serde_json::Value>,
}

impl Measured {
    /// Adds another window of the same configuration.
    fn add(&mut self, other: Self) {
        self.window_ns += other.window_ns;
        self.rt += other.rt;
        self.all += other.all;
        self.work.batch_units += other.work.batch_units;
        self.work.mixed_units += other.work.mixed_units;
        self.work.hackbench_rounds += other.work.hackbench_rounds;
        self.work.pages += other.work.pages;
        self.work.forks += other.work.forks;
        self.work.signals += other.work.signals;
        self.rt0_periods += other.rt0_periods;
        self.rt0_periods_served += other.rt0_periods_served;
        self.scheduler.extend(other.scheduler);
    }
}

/// Work done by each kind of load.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Work {
    /// Units of integer work by tasks that only compute.
    pub batch_units: u64,
    /// Units by tasks that enter the kernel now and then.
    pub mixed_units: u64,
    /// Rounds of hackbench.
    pub hackbench_rounds: u64,
    /// Pages touched.
    pub pages: u64,
    /// Children forked and reaped.
    pub forks: u64,
    /// Signals handled.
    pub signals: u64,
}
