// SPDX-License-Identifier: GPL-2.0-only
//! Who ran where and when.

use crate::task::Id;

/// A task ran on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub cpu: u32,
    pub task: Id,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// All runs in the order of their ends, up to a number.
#[derive(Clone, Debug)]
pub struct Trace {
    runs: Vec<Run>,
    most: usize,
    since: Vec<u64>,
}

impl Trace {
    /// Of so many runs at most: those after them are left out.
    pub fn new(cpus: u32, most: usize) -> Self {
        Self {
            runs: Vec::new(),
            most,
            since: vec![0; cpus as usize],
        }
    }

    pub(crate) fn switch(&mut self, cpu: u32, from: Option<Id>, to: Option<Id>, now: u64) {
        if from != to {
            self.end(cpu, from, now);
            self.since[cpu as usize] = now;
        }
    }

    pub(crate) fn end(&mut self, cpu: u32, task: Option<Id>, now: u64) {
        let from_ns = self.since[cpu as usize];
        let Some(task) = task.filter(|_| now > from_ns && self.runs.len() < self.most) else {
            return;
        };
        self.runs.push(Run {
            cpu,
            task,
            from_ns,
            to_ns: now,
        });
    }

    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Were some left out?
    pub fn is_full(&self) -> bool {
        self.runs.len() >= self.most
    }
}
