// SPDX-License-Identifier: GPL-2.0-only
//! What is known of a run: of each task that was there at the start, and, in one line each, of
//! those that were forked.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// From the common start to the end, ns.
    pub wall_ns: u64,
    pub ended: Ended,
    /// What one step of user work takes, ns, and the rate of work in the kernel.
    pub step_ns: f64,
    pub kernel_bytes_per_ns: f64,
    /// How much later than the common start the latest of its tasks began.
    pub start_late_ns_max: u64,
    pub tasks: Vec<TaskOutcome>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// All tasks ended.
    All,
    /// All foreground tasks ended.
    Foreground,
    /// Its duration was over.
    Duration,
    /// It was interrupted.
    Interrupted,
}

/// A task, or all forked instances of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskOutcome {
    /// `name`, or `name/2` of several.
    pub name: String,
    /// How many tasks this is: 1, or how many were forked.
    pub count: u64,
    pub is_forked: bool,
    /// From the common start to the end of its program; none: it had not ended. Of forked tasks,
    /// none.
    pub wall_ns: Option<u64>,
    /// How long it ran.
    pub cpu_ns: u64,
    /// How long it was runnable and did not run; none: the kernel does not say.
    pub waiting_ns: Option<u64>,
    /// Share of each CPU in its user work, 0 to 1; empty: it had none.
    pub shares: BTreeMap<u32, f64>,
    /// Share of the RT CPUs; none: the scenario has no RT CPU, or the task no user work.
    pub rt_share: Option<f64>,
    /// Times it gave the CPU up, and times it was taken from it.
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// None: the kernel does not say.
    pub migrations: Option<u64>,
    /// Activations of timers and arrivals, and how many of them were done too late.
    pub activations: u64,
    pub missed: u64,
    /// The latest wakeup of a timer or an arrival after its time.
    pub late_ns_max: u64,
    /// Steps that were done.
    pub steps: u64,
}

impl TaskOutcome {
    /// Deadlines that were met, of activations that have one.
    pub fn met(&self) -> u64 {
        self.activations.saturating_sub(self.missed)
    }
}
