// SPDX-License-Identifier: GPL-2.0-only
//! Takes RT CPUs offline for a moment, so that they come back without old timers and work.
//!
//! A timer that arms itself again, and the work that it queues, stay on the CPU where they began,
//! some of them since boot. A CPU that was isolated at boot never had any. A CPU that goes offline
//! leaves them to other CPUs. Source: `Documentation/core-api/cpu_hotplug.rst`,
//! `kernel/time/timer.c` (`timers_dead_cpu`), `kernel/workqueue.c`.

use super::change::{Change, Kind, Target};
use artis_machine::tasks::{self, Task};
use artis_machine::{CpuList, Root, Unreadable, cgroup, interrupts};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A thread, group or interrupt would lose a setting for good.
    #[error(
        "RT CPUs {rt} cannot go offline for a moment: {whose} for good; {remedy}, or do without --cycle"
    )]
    Losing {
        rt: CpuList,
        whose: String,
        remedy: &'static str,
    },
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

/// The changes that take RT CPUs offline. Reverting them brings the CPUs back.
///
/// # Errors
/// When something would be lost that reverting does not bring back: the affinity of a thread or
/// an interrupt that has RT CPUs only, or the CPUs of a group of cgroup v1. Also when the machine
/// cannot be read.
pub fn plan(root: &Root, rt: &CpuList) -> Result<Vec<Change>, Error> {
    let losing = |whose: String, remedy| Error::Losing {
        rt: rt.clone(),
        whose,
        remedy,
    };
    let v1 = cgroup::v1_path(root, "self", "cpuset").is_some();
    for task in tasks::all(root)?.iter().filter(|task| !task.is_kernel) {
        let name = || format!("thread {} ({})", task.tid, task.name);
        if is_only_on(rt, root, task) {
            let whose = format!("{} may run on RT CPUs only and would lose that", name());
            return Err(losing(whose, "start it afterwards"));
        }
        if v1 && cgroup::v1_path(root, &task.tid.to_string(), "cpuset").is_some_and(|at| at != "/")
        {
            let whose = format!("the cgroup v1 cpuset of {} would lose them", name());
            return Err(losing(whose, "boot with cgroup v2"));
        }
    }
    for one in interrupts::all(root)? {
        let only = |cpus: &CpuList| !cpus.is_empty() && (cpus - rt).is_empty();
        if one.managed != Some(true) && one.affinity.as_ref().is_some_and(only) {
            let whose = format!(
                "interrupt {} ({}) goes to RT CPUs only and would lose that",
                one.number, one.name
            );
            return Err(losing(whose, "send it there afterwards"));
        }
    }
    Ok(rt.iter().map(offline).collect())
}

fn is_only_on(rt: &CpuList, root: &Root, task: &Task) -> bool {
    tasks::status(root, task).is_some_and(|status| (&status.allowed - rt).is_empty())
}

fn offline(cpu: u32) -> Change {
    Change {
        kind: Kind::CpuCycle,
        what: format!("CPU {cpu} online"),
        target: Target::file(format!("/sys/devices/system/cpu/cpu{cpu}/online")),
        old: "1".to_owned(),
        new: "0".to_owned(),
        detour: None,
        reason: "timers and work of other tasks that began on RT CPUs would stay there".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    const STAT: &str = "7 (pump) S 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 \
                        0 0 0 0 0 17 1 0 0 0 0 0";

    fn planned(files: &[(&str, &str)]) -> Result<Vec<Change>, Error> {
        let (_folder, root) = canned(files);
        plan(&root, &"2-3".parse().unwrap())
    }

    fn status(allowed: &str) -> String {
        format!(
            "Cpus_allowed_list:\t{allowed}\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t7\n"
        )
    }

    #[test]
    fn each_rt_cpu_goes_offline_and_can_come_back() {
        let status = status("0-3");
        let changes = planned(&[("proc/7/stat", STAT), ("proc/7/task/7/status", &status)]).unwrap();
        let paths: Vec<String> = changes.iter().map(|one| one.target.path()).collect();
        assert_eq!(
            paths,
            [2, 3].map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/online"))
        );
        assert!(changes.iter().all(|one| one.old == "1" && one.new == "0"));
        assert!(changes.iter().all(|one| one.target.is_plausible()));
    }

    #[test]
    fn a_change_that_would_lose_an_affinity_is_refused() {
        let status = status("2");
        let error = planned(&[("proc/7/stat", STAT), ("proc/7/task/7/status", &status)]);
        let words = error.unwrap_err().to_string();
        assert!(words.contains("thread 7 (pump)"), "{words}");
        let irq = [
            (
                "proc/interrupts",
                "   CPU0 CPU3\n 24: 5 0 PCI-MSI 1-edge can0\n",
            ),
            ("proc/irq/24/smp_affinity_list", "3\n"),
            ("proc/irq/24/smp_affinity", "8\n"),
        ];
        let words = planned(&irq).unwrap_err().to_string();
        assert!(
            words.contains("interrupt 24 (PCI-MSI 1-edge can0)"),
            "{words}"
        );
    }

    #[test]
    fn a_change_that_would_lose_a_groups_cpus_is_refused() {
        let status = status("0-3");
        let error = planned(&[
            ("proc/7/stat", STAT),
            ("proc/7/task/7/status", &status),
            ("proc/self/cgroup", "4:cpuset:/\n0::/\n"),
            ("proc/7/cgroup", "4:cpuset:/docker/x\n0::/\n"),
        ]);
        let words = error.unwrap_err().to_string();
        assert!(words.contains("cgroup v1"), "{words}");
    }
}
