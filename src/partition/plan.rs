// SPDX-License-Identifier: GPL-2.0-only
//! What to change so that RT CPUs belong to real-time tasks, and what cannot be changed.
//!
//! Reads the machine and writes nothing. Each family of changes has its own file; this one has
//! their order. What would revert a change comes before it (irqbalance before interrupts). The
//! shield, which moves all tasks, comes last.
//! Source of the whole: `Documentation/admin-guide/kernel-per-CPU-kthreads.rst`.

use super::change::{Change, Kind, Target};
use super::{irqbalance, irqs, kthreads, power, servers, shield, timers, workqueues};
use artis_machine::cpus::{self, Cpus};
use artis_machine::cpusets::Claim;
use artis_machine::rt_cpus::nrt_cpus;
use artis_machine::{CpuList, Root, Unreadable, irq_affinity, kubelet, rcu};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// What the user asks for, checked against this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub rt: CpuList,
    /// The other online CPUs; never empty.
    pub nrt: CpuList,
    /// The lowest priority of any RT0 task, 1 to 99.
    pub rt0_priority: u32,
    /// Interrupts that RT0 waits for: they go to RT CPUs, and their threads above RT0.
    pub rt0_irqs: BTreeSet<u32>,
    /// Idle states of RT CPUs that take longer to leave are switched off, microseconds.
    pub exit_latency_us_max: u32,
    /// Only tasks that are put into the shield's group run on RT CPUs.
    pub shield: bool,
    /// The shield may take the only CPUs of somebody else's group.
    pub force: bool,
    /// The boot argument that takes RCU's callbacks off RT CPUs.
    pub callbacks_argument: String,
    /// Real-time tasks may take all of a CPU.
    pub unthrottle: bool,
}

/// Leaving C1 takes a microsecond or two on every machine, leaving the next deeper state ten.
pub const EXIT_LATENCY_US_MAX: u32 = 2;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The CPUs or interrupts asked for make no sense on this machine.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    CpuSets(#[from] cpus::Error),
    #[error(transparent)]
    Pods(#[from] kubelet::Error),
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

impl Request {
    /// The request to give these CPUs to real-time tasks, with defaults for everything else.
    ///
    /// # Errors
    /// When the machine does not have these CPUs, one is offline or CPU 0, or no other CPU is left.
    pub fn new(root: &Root, rt: &CpuList) -> Result<Self, Error> {
        let cpus = Cpus::read(root)?;
        let nrt = nrt_cpus(rt, &cpus).map_err(|unfit| Error::Refused(unfit.to_string()))?;
        kubelet::has_none_of(root, rt)?;
        if rt.contains(0) {
            return Err(Error::Refused(format!(
                "CPU 0 keeps time and does what the kernel binds to the CPU it booted on, which no \
                 setting moves; choose among the CPUs {}",
                &cpus.online - &CpuList::from_iter([0])
            )));
        }
        Ok(Self {
            rt: rt.clone(),
            nrt,
            rt0_priority: 99,
            rt0_irqs: BTreeSet::new(),
            exit_latency_us_max: EXIT_LATENCY_US_MAX,
            shield: false,
            force: false,
            callbacks_argument: rcu::callbacks_argument(rcu::may_wait(root)?, rt),
            unthrottle: false,
        })
    }

    /// The same, for an RT0 that waits for these interrupts.
    ///
    /// # Errors
    /// When the machine does not have one of them.
    pub fn with_rt0_irqs(self, root: &Root, irqs: &[u32]) -> Result<Self, Error> {
        let rt0_irqs: BTreeSet<u32> = irqs.iter().copied().collect();
        let there: BTreeSet<u32> = if irqs.is_empty() {
            BTreeSet::new()
        } else {
            let all = irq_affinity::read(root)?;
            all.iter().map(|irq| irq.number).collect()
        };
        let absent = rt0_irqs.iter().find(|irq| !there.contains(irq)).copied();
        match absent {
            None => Ok(Self { rt0_irqs, ..self }),
            Some(absent) => Err(Error::Refused(format!(
                "this machine has no interrupt {absent}; its interrupts are {}, and `artis irq` \
                 lists them",
                CpuList::from_iter(there)
            ))),
        }
    }

    /// These CPUs without the RT ones; all NRT CPUs where nothing would be left.
    pub fn without_rt(&self, cpus: &CpuList) -> CpuList {
        without_rt(cpus, &self.rt, &self.nrt)
    }

    /// Do these CPUs contain an RT one?
    pub fn touches_rt(&self, cpus: &CpuList) -> bool {
        !(cpus & &self.rt).is_empty()
    }
}

/// As [`Request::without_rt`].
pub(super) fn without_rt(cpus: &CpuList, rt: &CpuList, nrt: &CpuList) -> CpuList {
    let rest = cpus - rt;
    if rest.is_empty() { nrt.clone() } else { rest }
}

/// Something that is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    pub id: Kind,
    pub what: String,
    /// Why it cannot be changed, or is better left alone, and what to do about it.
    pub why: String,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "left as it is: {}; {}", self.what, self.why)
    }
}

/// The changes to make, and what is left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    pub changes: Vec<Change>,
    pub left: Vec<Left>,
    /// Groups of others that have RT CPUs.
    pub claims: Vec<Claim>,
    /// Effects of the plan that the user may not want.
    pub warnings: Vec<String>,
}

impl Plan {
    /// The whole plan for this machine. It contains settings that are right already, because
    /// another owner may have made them so: see [`super::transaction::planned`]. What exists and
    /// cannot be read or understood is left as it is.
    pub fn make(root: &Root, request: &Request) -> Self {
        let mut plan = Self::common(root, &request.rt, &request.nrt);
        plan.part(Kind::RtThrottling, "RT throttling", |plan| {
            timers::throttling(root, request, plan)
        });
        irqbalance::plan(root, request, &mut plan);
        plan.part(Kind::DefaultIrqAffinity, "interrupts to come", |plan| {
            irqs::default(root, request, plan)
        });
        plan.part(Kind::IrqAffinity, "interrupts", |plan| {
            irqs::plan(root, request, plan)
        });
        kthreads::plan(root, request, &mut plan);
        plan.part(Kind::Writeback, "writeback of files", |plan| {
            workqueues::writeback(root, request, plan)
        });
        power::plan(root, request, &mut plan);
        plan.part(Kind::CpusetShield, "cpusets of control groups", |plan| {
            shield::claims(root, request, plan)
        });
        if request.shield {
            plan.part(Kind::CpusetShield, shield::WHAT, |plan| {
                shield::plan(root, request, plan)
            });
        }
        plan
    }

    /// The part that the scheduler needs: it stops what would take an RT CPU from RT0, or bring
    /// kernel work of other tasks there.
    pub fn for_sharing(root: &Root, rt: &CpuList, nrt: &CpuList) -> Self {
        let mut plan = Self::common(root, rt, nrt);
        plan.part(Kind::KthreadAffinity, "RCU's thread", |plan| {
            kthreads::grace_periods(root, rt, nrt, plan)
        });
        plan
    }

    /// What a partition and the scheduler both need.
    fn common(root: &Root, rt: &CpuList, nrt: &CpuList) -> Self {
        let mut plan = Self::default();
        servers::plan(root, rt, &mut plan);
        plan.part(Kind::TimerMigration, "timer migration", |plan| {
            timers::migration(root, plan)
        });
        plan.part(Kind::StatInterval, "counts of memory", |plan| {
            timers::statistics(root, plan)
        });
        plan.part(Kind::WatchdogCpumask, "lockup detector", |plan| {
            timers::watchdog(root, rt, nrt, plan)
        });
        plan.part(Kind::WorkqueueMask, "unbound workqueues", |plan| {
            workqueues::unbound(root, rt, nrt, plan)
        });
        plan
    }

    /// Plans a part. What of the machine cannot be read ends this part, and no other.
    pub(super) fn part(
        &mut self,
        kind: Kind,
        what: &str,
        make: impl FnOnce(&mut Self) -> Result<(), Unreadable>,
    ) {
        if let Err(error) = make(self) {
            self.leave(kind, what, error.in_words());
        }
    }

    /// The wanted shield is one of the things that are left as they are.
    pub fn lacks_shield(&self) -> bool {
        self.left.iter().any(|left| left.id == Kind::CpusetShield)
    }

    pub(super) fn push(&mut self, change: Change) {
        self.changes.push(change);
    }

    pub(super) fn leave(&mut self, id: Kind, what: impl Into<String>, why: impl Into<String>) {
        self.left.push(Left {
            id,
            what: what.into(),
            why: why.into(),
        });
    }

    /// Plans the change of a file to what `new` makes of its value. False: there is no such file.
    pub(super) fn file(
        &mut self,
        root: &Root,
        kind: Kind,
        (what, path, reason): (String, String, &str),
        new: impl FnOnce(&str) -> Option<String>,
    ) -> Result<bool, Unreadable> {
        let Some(old) = root.read(&path)? else {
            return Ok(false);
        };
        let new =
            new(&old).ok_or_else(|| root.malformed(&path, format!("cannot understand {old:?}")))?;
        self.push(Change {
            kind,
            what,
            target: Target::file(path),
            old,
            new,
            detour: None,
            reason: reason.to_owned(),
        });
        Ok(true)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use artis_testing::canned;

    /// Four CPUs, RT is 3.
    pub fn request() -> Request {
        let cpus = [
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/devices/system/cpu/possible", "0-3\n"),
        ];
        let (_folder, root) = canned(&cpus);
        Request::new(&root, &"3".parse().unwrap()).unwrap()
    }

    fn refusal(rt: &str, online: &str, possible: &str) -> String {
        let (_folder, root) = canned(&[
            ("sys/devices/system/cpu/online", online),
            ("sys/devices/system/cpu/possible", possible),
        ]);
        let rt = CpuList::from_kernel(rt).unwrap();
        Request::new(&root, &rt).unwrap_err().to_string()
    }

    #[test]
    fn lists_that_make_no_sense_are_refused_in_words() {
        assert!(refusal("0-1", "0-1", "0-1").contains("leave no NRT CPU"));
        let words = refusal("0", "0,2-3", "0-3");
        assert!(
            words.contains("CPU 0 keeps") && words.contains("2-3"),
            "{words}"
        );
    }

    #[test]
    fn what_a_pod_has_alone_is_not_partitioned() {
        let (_folder, root) = artis_testing::with_pod();
        let request = |rt: &str| Request::new(&root, &CpuList::from_kernel(rt).unwrap());
        let words = request("2-3").unwrap_err().to_string();
        assert!(
            words.contains("CPU 3 to pod 5a1e, container motor alone"),
            "{words}"
        );
        assert_eq!(request("2").unwrap().nrt.to_string(), "0-1,3");
    }

    #[test]
    fn holes_in_the_numbers_are_no_nrt_cpus() {
        let (_folder, root) = canned(&[
            ("sys/devices/system/cpu/online", "0,2,4095"),
            ("sys/devices/system/cpu/possible", "0-4095"),
        ]);
        let request = Request::new(&root, &"4095".parse().unwrap()).unwrap();
        assert_eq!(request.nrt.to_string(), "0,2");
        assert_eq!(request.without_rt(&request.rt.clone()).to_string(), "0,2");
    }

    #[test]
    fn an_empty_machine_has_nothing_to_change() {
        let (_folder, root) = canned(&[]);
        let plan = Plan::make(&root, &request());
        assert_eq!(plan.changes, []);
        assert!(plan.left.iter().all(|left| !left.why.is_empty()));
    }

    #[test]
    fn a_setting_that_cannot_be_read_is_left_and_no_other() {
        let files = [
            ("proc/sys/kernel/timer_migration", "1\n"),
            ("proc/sys/kernel/watchdog_cpumask", "all\n"),
            ("proc/irq/default_smp_affinity", "f\n"),
            ("proc/irq/9/smp_affinity_list", "nonsense\n"),
            ("sys/devices/virtual/workqueue/cpumask", "f\n"),
            // A folder where a file should be cannot be read.
            ("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor/x", ""),
            ("sys/devices/system/cpu/cpu3/cpuidle/state0/name", "C6\n"),
            (
                "sys/devices/system/cpu/cpu3/cpuidle/state0/latency",
                "133\n",
            ),
            ("sys/devices/system/cpu/cpu3/cpuidle/state0/disable", "0\n"),
        ];
        let (_folder, root) = canned(&files);
        let plan = Plan::make(&root, &request());
        let left = |kind| plan.left.iter().find(|one| one.id == kind).unwrap();
        for kind in [Kind::WatchdogCpumask, Kind::IrqAffinity, Kind::Governor] {
            assert!(
                left(kind).why.contains("could not read"),
                "{:?}",
                left(kind)
            );
        }
        let made: Vec<Kind> = plan.changes.iter().map(|one| one.kind).collect();
        assert_eq!(
            made,
            [
                Kind::TimerMigration,
                Kind::WorkqueueMask,
                Kind::DefaultIrqAffinity,
                Kind::IdleStates
            ]
        );
    }
}
