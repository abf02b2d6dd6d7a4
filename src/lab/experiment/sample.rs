// SPDX-License-Identifier: GPL-2.0-only
//! What a guest of an experiment is told to do, and what it hands back: JSON, both ways.

use crate::load::own::Load;
use crate::machine::CpuList;
use crate::result::Series;
use crate::result::experiment::Scheduler;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Series of a sample: user latency, kernel latency, execution time loaded and unloaded.
pub const USER_LATENCY: &str = "user_latency";
/// See [`USER_LATENCY`].
pub const KERNEL_LATENCY: &str = "kernel_latency";
/// See [`USER_LATENCY`].
pub const EXECUTION_TIME: &str = "execution_time";
/// See [`USER_LATENCY`].
pub const EXECUTION_TIME_UNLOADED: &str = "execution_time_unloaded";

/// What a guest measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// User latency and execution time of RT0, and what the loads did meanwhile.
    Latency,
    /// The kernel's part of the latency, watched by BPF programs in its path: in a guest of its
    /// own, because they lie in the path of the user latency too.
    KernelLatency,
    /// How long the same work takes in ten ways of running it.
    Throughput,
}

/// What one guest is told to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub measure: Measure,
    pub scheduler: Scheduler,
    /// The RT CPUs; RT0's threads are bound to the first.
    pub rt: CpuList,
    /// RT0's threads.
    pub timers: u32,
    /// What runs beside them, one process of each entry.
    pub loads: Vec<Load>,
    /// How long is measured.
    pub seconds: u32,
    /// RT0's period.
    pub interval_us: u64,
}

/// What one guest measured, in nanoseconds of its own time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// From the first count to the last.
    pub window_ns: u64,
    /// Latencies and execution times.
    pub series: Vec<Series>,
    /// Time in which the first RT CPU ran any task in the window.
    pub rt_running_ns: u64,
    /// CPU time of RT0's threads in the window.
    pub rt0_ns: u64,
    /// By load: what it did in the window.
    pub loads: BTreeMap<String, Done>,
    /// Kernel work of others that ran on an RT CPU all the same, by the scheduler's own check;
    /// none without artis.
    pub leaks: Option<u64>,
    /// What `artis sched status --json` said in the end; none without artis.
    pub status: Option<serde_json::Value>,
    /// By permutation: seconds that the work took.
    pub throughput_s: BTreeMap<String, f64>,
}

/// What a load did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// In the load's own unit.
    pub work: u64,
    /// CPU time of all its processes.
    pub cpu_ns: u64,
}
