// SPDX-License-Identifier: GPL-2.0-only
//! The demo, as guest and host know it: the same work in three configurations on one kernel.
//!
//! Owns the configurations, the task that the host sends, the counts that come back, and the work
//! itself ([`run`]). The counts of all configurations come from the same observer
//! ([`artis_trace::occupancy`]), which knows nothing about schedulers. Never reports a time: the
//! CPUs are emulated.

pub mod run;

use artis_machine::CpuList;
use artis_trace::occupancy::Counts;
use serde::{Deserialize, Serialize};

/// Who decides what else may run on the RT CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Configuration {
    /// The kernel's own scheduler: everything runs everywhere.
    Stock,
    /// The kernel's own scheduler, and every task but RT0 bound to the other CPUs.
    Affinity,
    /// artis, nothing bound.
    Artis,
}

impl Configuration {
    /// All of them, in the order in which they run and are shown.
    pub const ALL: [Self; 3] = [Self::Stock, Self::Affinity, Self::Artis];

    /// Its name on the command line, in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Affinity => "affinity",
            Self::Artis => "artis",
        }
    }
}

/// What the host asks the guest to do; sent as JSON.
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
    /// Length of all windows, in nanoseconds of guest time. A window ends when the guest notices,
    /// so the lengths differ a little between configurations: compare rates.
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
    /// `artis sched status --json` at the end of each window; empty without artis.
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
    /// Units of integer work by tasks that enter the kernel now and then.
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
