// SPDX-License-Identifier: GPL-2.0-only
//! What a simulation gives: what each task had, and each CPU.

use crate::sim::{Scheduler, Sim};
use artis_scenario::model::Class;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Names the form of this document.
pub const SCHEMA: &str = "artis.simulation/1";

/// A simulation that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub schema: Cow<'static, str>,
    pub scenario: String,
    pub scheduler: Cow<'static, str>,
    pub seed: u64,
    pub cpus: u32,
    pub rt_cpus: String,
    pub costs: String,
    pub simulated_ns: u64,
    pub events: u64,
    /// Did all that the scenario waits for end?
    pub is_complete: bool,
    /// It ended because more and more happened in one moment: the scheduler goes round in circles.
    pub is_stuck: bool,
    pub tasks: Vec<TaskOutcome>,
    pub cpu_time: Vec<CpuOutcome>,
    /// What the scheduler counts; empty with stock.
    pub counters: Vec<(String, u64)>,
}

/// What a task had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskOutcome {
    pub name: String,
    pub class: Cow<'static, str>,
    pub policy: String,
    /// From its start to its end, or to that of the simulation.
    pub wall_ns: u64,
    pub has_ended: bool,
    pub cpu_ns: u64,
    /// Of that, on RT CPUs.
    pub cpu_rt_ns: u64,
    /// By CPU, of the first 16 that it used.
    pub cpu_by_cpu_ns: Vec<(u32, u64)>,
    pub waited_ns: u64,
    pub waited_ns_max: u64,
    pub wakeups: u64,
    pub wakeup_latency_ns_mean: u64,
    pub wakeup_latency_ns_max: u64,
    pub switches: u64,
    pub migrations: u64,
    /// Times a real-time task took its CPU.
    pub displaced: u64,
    pub deadlines: u64,
    pub deadlines_met: u64,
    pub response_ns_max: u64,
    /// CPU time of its activations, least and most; none: none has ended.
    pub job_ns: Option<(u64, u64)>,
    /// Work that is done, without what interrupts and moves cost.
    pub work_ns: u64,
}

/// How soon tasks ran that woke up: how often each latency in ns was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Of RT0, each value as it is.
    pub rt0: BTreeMap<u64, u64>,
    /// Of Linux tasks, in steps of a 64th of the value.
    pub linux: BTreeMap<u64, u64>,
}

impl Latencies {
    pub(crate) fn note(&mut self, class: Class, ns: u64) {
        match class {
            Class::Rt0 => *self.rt0.entry(ns).or_default() += 1,
            Class::Linux => {
                let step = (64 - ns.leading_zeros()).saturating_sub(6);
                *self.linux.entry(ns >> step << step).or_default() += 1;
            }
            Class::Rt1 | Class::Unbound => {}
        }
    }
}

/// What a CPU did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuOutcome {
    pub cpu: u32,
    pub is_rt: bool,
    pub idle_ns: u64,
    pub switches: u64,
    /// In interrupts, switches and locks.
    pub overhead_ns: u64,
}

impl Scheduler {
    /// Its name in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Isolcpus => "isolcpus",
            Self::Artis => "artis",
        }
    }
}

impl Sim<'_> {
    /// What it gave, as far as it has gone.
    pub fn outcome(&mut self) -> Outcome {
        let counters = self.counters();
        Outcome {
            schema: SCHEMA.into(),
            scenario: self.scenario.name.clone(),
            scheduler: self.setup.scheduler.name().into(),
            seed: self.setup.seed,
            cpus: self.setup.layout.cpus,
            rt_cpus: self.setup.layout.rt.to_string(),
            costs: self.setup.costs.name.clone(),
            simulated_ns: self.now,
            events: self.events,
            is_stuck: self.is_stuck,
            is_complete: self.is_over && !self.is_stuck
                || (self.scenario.end.duration_ns).is_some_and(|most| self.now >= most),
            tasks: (0..self.tasks.len())
                .map(|id| self.task_outcome(id))
                .collect(),
            cpu_time: (0..self.setup.layout.cpus)
                .map(|cpu| self.cpu_outcome(cpu))
                .collect(),
            counters,
        }
    }

    /// How soon tasks ran that woke up.
    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// The name of a task: of several of a kind, with its number.
    pub fn name_of(&self, id: usize) -> String {
        let task = &self.tasks[id];
        let spec = &self.scenario.tasks[task.kind as usize];
        let is_one = spec.count <= 1 && task.instance == 0;
        match is_one {
            true => spec.name.clone(),
            false => format!("{}/{}", spec.name, task.instance),
        }
    }

    fn task_outcome(&self, id: usize) -> TaskOutcome {
        let task = &self.tasks[id];
        let had = &task.had;
        let end = had.ended_ns.unwrap_or(self.now);
        TaskOutcome {
            name: self.name_of(id),
            class: task.class.name().into(),
            policy: task.policy.to_string(),
            wall_ns: end.saturating_sub(had.started_ns),
            has_ended: had.ended_ns.is_some(),
            cpu_ns: had.total_ns(),
            cpu_rt_ns: had.ran_ns[1],
            cpu_by_cpu_ns: had.by_cpu.clone(),
            waited_ns: had.waited_ns,
            waited_ns_max: had.waited_ns_max,
            wakeups: had.wakeups,
            wakeup_latency_ns_mean: had.wakeup_ns / had.wakeups.max(1),
            wakeup_latency_ns_max: had.wakeup_ns_max,
            switches: had.switches,
            migrations: had.migrations,
            displaced: had.displaced,
            deadlines: had.deadlines,
            deadlines_met: had.met,
            response_ns_max: had.response_ns_max,
            job_ns: had.job_ns,
            work_ns: had.work_ns,
        }
    }

    fn cpu_outcome(&self, cpu: u32) -> CpuOutcome {
        let it = &self.cpus[cpu as usize];
        CpuOutcome {
            cpu,
            is_rt: self.setup.layout.is_rt[cpu as usize],
            idle_ns: it.idle_ns,
            switches: it.switches,
            overhead_ns: it.overhead_ns,
        }
    }
}
