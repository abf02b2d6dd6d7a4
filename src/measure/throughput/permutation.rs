// SPDX-License-Identifier: GPL-2.0-only
//! On which CPUs, with which policy and how often at once a workload runs.
//!
//! Source: rowand-how-rt-preempt-works-slides, "Test Variables": one CPU or all, `SCHED_FIFO` or
//! `SCHED_NORMAL`, 1, 2 or 4 instances, "results in 10 tests". The slides do not list the ten. Of
//! the twelve combinations we leave out the two with 4 instances on one CPU: what there is to see
//! of processes that take turns on a CPU, 2 instances show. Rowand's one CPU was a machine booted
//! with `maxcpus=1`; ours is an affinity, so the other CPUs still do the machine's own work.

use crate::thread::{self, Policy};
use artis_machine::CpuList;
use artis_task::syscall::{self, Scheduling};
use std::fmt;

/// `SCHED_FIFO` priority of a workload: above every normal task, below the kernel's interrupt
/// threads (50) and below any real-time work of the machine.
const PRIORITY: u8 = 1;

/// A permutation, or how the workload runs when none were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The CPUs that all instances share; none: those of artis itself.
    pub cpus: Option<CpuList>,
    pub is_fifo: bool,
    /// How many run at once.
    pub instances: usize,
}

impl Setting {
    /// One instance as a normal task on the CPUs that artis may use.
    pub fn plain() -> Self {
        Self {
            cpus: None,
            is_fifo: false,
            instances: 1,
        }
    }

    /// Rowand's ten, on the last of these CPUs (the first has most of the machine's interrupts)
    /// and on all of them. None when there is only one CPU.
    pub fn ten(all: &CpuList) -> Option<Vec<Self>> {
        let one = CpuList::from_iter(all.last().filter(|_| all.len() > 1));
        let mut ten = Vec::new();
        for (cpus, most) in [(&one, 2), (all, 4)] {
            for is_fifo in [false, true] {
                for instances in [1, 2, 4].into_iter().filter(|count| *count <= most) {
                    ten.push(Self {
                        cpus: Some(cpus.clone()),
                        is_fifo,
                        instances,
                    });
                }
            }
        }
        (!one.is_empty()).then_some(ten)
    }

    /// The end of its series' names, such as `_fifo_cpus1_x2`; empty for the plain setting.
    pub fn suffix(&self) -> String {
        let policy = if self.is_fifo { "fifo" } else { "normal" };
        self.cpus.as_ref().map_or_else(String::new, |cpus| {
            format!("_{policy}_cpus{}_x{}", cpus.len(), self.instances)
        })
    }

    /// Makes the calling thread run so; what it starts inherits it. Allocates nothing: it is
    /// called between fork and exec.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn apply(&self) -> std::io::Result<()> {
        if let Some(cpus) = &self.cpus {
            syscall::set_affinity(0, cpus)?;
        }
        if self.is_fifo {
            syscall::set_scheduling(
                0,
                Scheduling {
                    policy: libc::SCHED_FIFO,
                    nice: 0,
                    priority: u32::from(PRIORITY),
                    reset_on_fork: false,
                },
            )?;
        }
        Ok(())
    }

    /// Whether this is allowed here, found by trying it in a thread that ends at once.
    ///
    /// # Errors
    /// What the refusal means on this machine.
    pub fn check(&self) -> Result<(), thread::Error> {
        if !self.is_fifo {
            return Ok(());
        }
        let attempt = || thread::prepare(None, Policy::Fifo(PRIORITY));
        let tried = std::thread::scope(|scope| scope.spawn(attempt).join().unwrap_or(Ok(())));
        tried.map_err(|error| match error {
            thread::Error::Policy {
                policy,
                errno,
                refusal,
                ..
            } => thread::Error::Policy {
                policy,
                errno,
                refusal,
                instead: "leave --permutations out",
            },
            other => other,
        })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cpus) = &self.cpus else {
            return f.write_str("run");
        };
        let policy = if self.is_fifo { "FIFO" } else { "NORMAL" };
        write!(f, "{policy:<6}  CPUs {cpus:<5}  {}", self.instances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_ten_different_ones() {
        let ten = Setting::ten(&"0-3".parse().unwrap()).unwrap();
        let names: BTreeSet<String> = ten.iter().map(Setting::suffix).collect();
        assert_eq!((ten.len(), names.len()), (10, 10));
        assert!(names.contains("_fifo_cpus1_x2") && names.contains("_normal_cpus4_x4"));
        assert!(!names.contains("_fifo_cpus1_x4"));
        assert_eq!(ten.iter().filter(|one| one.is_fifo).count(), 5);
    }

    #[test]
    fn one_cpu_cannot_be_compared_with_all() {
        assert_eq!(Setting::ten(&"2".parse().unwrap()), None);
        assert_eq!(Setting::ten(&CpuList::new()), None);
    }
}
