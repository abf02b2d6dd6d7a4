// SPDX-License-Identifier: GPL-2.0-only
//! What the host asks a guest of an experiment to do, and what the guest returns: JSON, both ways.

mod error;
mod event;
pub mod groups;
mod mark;
pub mod programs;
mod published;
pub mod responsiveness;
pub mod run;
mod set;
mod watch;

pub use event::Event;

use artis_load::own::Load;
use artis_machine::CpuList;
use artis_result::Series;
use artis_result::experiment::{OfTask, Scheduler};
use groups::Groups;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a guest measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// User latency and execution time of RT0, and the work of the loads meanwhile.
    Latency,
    /// The kernel's part of the latency. BPF programs in its path measure it, and they would
    /// lengthen the user latency too: so it takes a guest of its own.
    KernelLatency,
    /// Kernel work of other tasks on the RT CPU, counted by an observer that knows no scheduler. It
    /// hooks every way into the kernel: so it takes a guest of its own, too.
    Leaks,
    /// How long the same work takes in ten ways of running it.
    Throughput,
    /// How soon ordinary tasks answer, beside RT0 and the loads.
    Responsiveness,
    /// The same as latency, and marks for an engine that reports accesses of memory meanwhile.
    Caches,
    /// Several RT0 of an admitted set, beside the loads: their responses against their bounds.
    Set,
}

/// When the timers of a set start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Releases {
    /// All at one moment: the critical instant.
    #[default]
    Together,
    /// With the offsets that the admission chooses.
    Chosen,
}

/// The set of [`Measure::Set`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// A file of `artis admit`; the guest measures what the platform takes.
    pub text: String,
    pub releases: Releases,
}

/// A part of [`Measure::Responsiveness`]; they are measured in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Threads that sleep and wake up.
    Wakeups,
    /// Short commands.
    Commands,
    /// Messages between threads.
    Messages,
    /// Real programs, for which the guest has Debian's packages.
    Programs,
}

/// What one guest is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub measure: Measure,
    pub scheduler: Scheduler,
    /// The RT CPUs; RT0's threads are bound to the first.
    pub rt: CpuList,
    /// RT0's threads.
    pub timers: u32,
    /// What runs beside them: one process for each entry.
    pub loads: Vec<Load>,
    /// How long is measured.
    pub seconds: u32,
    /// What [`Measure::Responsiveness`] measures.
    pub answers: BTreeSet<Answer>,
    /// What wakes RT0.
    pub event: Event,
    /// RT0's period; where other threads wake it, the mean of random ones.
    pub interval_us: u64,
    /// Where RT0's first wakeup is due, us after a tick; none: anywhere.
    pub place_us: Option<u64>,
    pub groups: Groups,
    /// The light watch looks at RT0's wakeups meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub watch: bool,
    /// None but for [`Measure::Set`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Asked>,
}

/// The longest at each place of the tick, of several; none where nothing was due.
pub fn worst_of_places<P>(several: impl IntoIterator<Item = P>) -> Vec<Option<i64>>
where
    P: IntoIterator<Item = Option<i64>>,
{
    let mut all: Vec<Option<i64>> = Vec::new();
    for places in several {
        for (at, worst) in places.into_iter().enumerate() {
            match all.get_mut(at) {
                Some(known) => *known = worst.max(*known),
                None => all.push(worst),
            }
        }
    }
    all
}

/// What one guest measured, in nanoseconds of its own time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Time between the first counts and the last.
    pub window_ns: u64,
    /// Latencies and execution times.
    pub series: Vec<Series>,
    /// RT0's longest latency at each place of the tick, hundredths of its period; none where it was
    /// never due.
    #[serde(default)]
    pub places_ns: Vec<Option<i64>>,
    /// Time in which the first RT CPU ran any task in the window.
    pub rt_running_ns: u64,
    /// CPU time of RT0's threads in the window.
    pub rt0_ns: u64,
    /// Work of each load in the window, by its name.
    pub loads: BTreeMap<String, Done>,
    /// Messages that were passed, by the series of their times.
    #[serde(default)]
    pub messages: BTreeMap<String, Done>,
    /// Kernel work of other tasks that ran on an RT CPU nevertheless: by the observer in a guest of
    /// [`Measure::Leaks`], else by the scheduler's own check, which only artis has.
    pub leaks: Option<u64>,
    /// `artis sched status --json` at the end; none without artis.
    pub status: Option<serde_json::Value>,
    /// Under which name the kernel knew a published scheduler; none without one.
    #[serde(default)]
    pub ops: Option<String>,
    /// Seconds that the work took, by permutation, or that a program took, by its name.
    pub throughput_s: BTreeMap<String, f64>,
    /// Of [`Measure::Set`], most urgent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<OfTask>,
}

/// What a load did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// In the load's own unit.
    pub work: u64,
    /// CPU time of all its processes.
    pub cpu_ns: u64,
}

impl Done {
    /// Both together.
    pub fn add(&mut self, more: &Self) {
        self.work += more.work;
        self.cpu_ns += more.cpu_ns;
    }
}
