// SPDX-License-Identifier: GPL-2.0-only
//! A kind of task: how it is scheduled, how many there are of it, and its program.

use super::{Class, Machine, Policy, Program};
use artis_machine::CpuList;
use serde::Serialize;

/// A kind of task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Task {
    pub name: String,
    pub policy: Policy,
    /// The CPUs it may use; none: all.
    pub cpus: Option<CpuList>,
    /// Which of the groups; none: that of the run.
    pub group: Option<usize>,
    /// How many of it start; 0: it runs only when it is forked.
    pub count: u32,
    /// When its first step begins, from the common start.
    pub start_ns: u64,
    /// From each activation (a timer or an arrival) to the next wait for one; none: of timers,
    /// their period, and arrivals have none.
    pub deadline_ns: Option<u64>,
    /// Of [`super::End::with_foreground`].
    pub is_foreground: bool,
    /// How much memory it uses again and again: what a move to another cache costs.
    pub working_set_bytes: u64,
    pub program: Program,
}

impl Task {
    /// A Linux task, once, from the start.
    pub fn new(name: &str, program: Program) -> Self {
        Self {
            name: name.to_owned(),
            policy: Policy::default(),
            cpus: None,
            group: None,
            count: 1,
            start_ns: 0,
            deadline_ns: None,
            is_foreground: false,
            working_set_bytes: 0,
            program,
        }
    }

    /// Its class at the start.
    pub fn class(&self, machine: &Machine) -> Class {
        Class::of(self.policy, self.cpus.as_ref(), machine)
    }
}
