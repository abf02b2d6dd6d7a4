// SPDX-License-Identifier: GPL-2.0-only
//! What speaks against a measurement: settings of the machine and of the measuring threads that
//! are known to spoil figures.
//!
//! Judges what [`artis_machine`] reads, before the measurement ([`settings`]) and after it
//! ([`events`]); never changes anything. A file that this machine does not have is no finding. A
//! file that is there and cannot be read is one: no check is skipped silently.

mod events;
mod real_time;
mod settings;
mod user;

pub use user::User;

use super::thread::Policy;
use artis_machine::cpu_times::{self, CpuTimes};
use artis_machine::{CpuList, Root, Unreadable, cpus};
use artis_result::Warning;
use std::collections::BTreeMap;

/// What is going to be measured, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The CPUs of the measuring threads.
    pub cpus: CpuList,
    /// How those threads are scheduled.
    pub policy: Policy,
    /// Whether the figure is one of a real-time task, so that a normal policy spoils it.
    pub wants_real_time: bool,
    /// Whether all memory is locked.
    pub memory_locked: bool,
    /// Whether `/dev/cpu_dma_latency` is held at 0.
    pub dma_latency_held: bool,
    /// Whether the threads sleep now and then, so that their CPUs may idle.
    pub sleeps: bool,
    /// Who measures, which decides what can be advised.
    pub user: User,
}

/// How many values a series has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples<'a> {
    pub series: &'a str,
    pub count: u64,
}

/// An audit that has begun.
#[derive(Debug)]
pub struct Audit {
    plan: Plan,
    found: Vec<Warning>,
    /// Times of the CPUs when it began.
    times: Result<BTreeMap<u32, CpuTimes>, Unreadable>,
}

impl Audit {
    /// Looks at the machine just before the measurement, when the measuring process is set up.
    pub fn before(root: &Root, plan: &Plan) -> Self {
        Self {
            plan: plan.clone(),
            found: plan.user.can_type(settings::judge(root, plan)),
            times: cpu_times::read(root),
        }
    }

    /// What is known before the measurement, which may take hours.
    pub fn found(&self) -> &[Warning] {
        &self.found
    }

    /// Looks again after the measurement. The findings of [`Audit::found`] come first.
    pub fn after(self, root: &Root, samples: &[Samples]) -> Vec<Warning> {
        let mut found = self.found;
        let times = self
            .times
            .and_then(|before| Ok((before, cpu_times::read(root)?)));
        match times {
            Ok((before, after)) => {
                let during = events::during(&before, &after);
                found.extend(events::steal(&self.plan, &during));
                found.extend(checked(
                    "smt_sibling",
                    events::siblings(root, &self.plan, &during),
                ));
            }
            Err(error) => found.push(unchecked("cpu_times", &error.into())),
        }
        found.extend(events::few_samples(samples));
        self.plan.user.can_type(found)
    }
}

/// Why something could not be judged.
#[derive(Debug, thiserror::Error)]
enum Unchecked {
    #[error("{error}: {}", error.source)]
    Unreadable { error: Unreadable },
    #[error(transparent)]
    Cpus(#[from] cpus::Error),
    #[error("{0}")]
    Hidden(String),
}

impl From<Unreadable> for Unchecked {
    fn from(error: Unreadable) -> Self {
        Self::Unreadable { error }
    }
}

/// The finding of a check, or the finding that it could not be made.
fn checked(id: &str, judged: Result<Option<Warning>, Unchecked>) -> Option<Warning> {
    judged.unwrap_or_else(|error| Some(unchecked(id, &error)))
}

fn unchecked(id: &str, error: &Unchecked) -> Warning {
    Warning {
        id: id.to_owned(),
        seen: format!("could not be checked: {error}"),
        why: "what could not be read may spoil the figures".to_owned(),
        fix: match error {
            // It says so itself.
            Unchecked::Hidden(_) => None,
            _ => Some("run artis as root, on the machine itself and not in a container".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    pub(super) fn plan() -> Plan {
        Plan {
            cpus: "0-1".parse().unwrap(),
            policy: Policy::Fifo(98),
            wants_real_time: true,
            memory_locked: true,
            dma_latency_held: true,
            sleeps: true,
            user: User::Ordinary,
        }
    }

    pub(super) fn ids(found: &[Warning]) -> Vec<&str> {
        found.iter().map(|warning| warning.id.as_str()).collect()
    }

    const ENOUGH: [Samples; 1] = [Samples {
        series: "latency",
        count: 1_000_000,
    }];

    #[test]
    fn a_machine_without_these_files_gives_no_findings() {
        let (_folder, root) = canned(&[]);
        let audit = Audit::before(&root, &plan());
        assert_eq!(ids(audit.found()), [""; 0]);
        assert_eq!(ids(&audit.after(&root, &ENOUGH)), [""; 0]);
    }

    #[test]
    fn what_happened_in_between_is_found() {
        let (_folder, root) = canned(&[
            (
                cpu_times::FILE,
                "cpu0 10 0 0 100 0 0 0 0 0 0\ncpu2 5 0 0 5 0 0 0 0 0 0\n",
            ),
            (
                "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
                "0,2\n",
            ),
        ]);
        let audit = Audit::before(&root, &plan());
        let later = "cpu0 20 0 0 190 0 0 0 10 0 0\ncpu2 60 0 0 50 0 0 0 0 0 0\n";
        std::fs::write(root.path(cpu_times::FILE), later).unwrap();
        let found = audit.after(&root, &[]);
        assert_eq!(ids(&found), ["steal_time", "smt_sibling"]);
        assert!(found[0].seen.contains("9.1 %"), "{}", found[0].seen);
        assert!(found[1].seen.contains("CPU 2"), "{}", found[1].seen);
        assert!(found[1].seen.contains("55 %"), "{}", found[1].seen);
    }

    #[test]
    fn times_that_cannot_be_read_are_a_finding() {
        let (_folder, root) = canned(&[(cpu_times::FILE, "cpu0 much\n")]);
        let found = Audit::before(&root, &plan()).after(&root, &ENOUGH);
        assert_eq!(ids(&found), ["cpu_times"]);
        assert!(found[0].seen.contains("proc/stat"), "{}", found[0].seen);
    }

    #[test]
    fn this_machine_can_be_audited() {
        let root = Root::default();
        for warning in Audit::before(&root, &plan()).after(&root, &ENOUGH) {
            assert!(!warning.seen.is_empty() && !warning.why.is_empty());
        }
    }
}
