// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs are set apart from other work, and how.

use super::finding::{Finding, Severity};
use super::subject::{ChosenBy, Subject};
use artis_machine::cgroup;
use artis_machine::facts::Facts;
use artis_machine::kernel::CgroupVersion;
use artis_machine::rcu;

pub(super) fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let all = [
        nobody_apart(facts, subject),
        unshielded(facts, subject),
        isolated(facts, subject),
        tickless(facts, subject),
        callbacks(facts, subject),
        grace_periods(facts, subject),
        groups(facts),
    ];
    all.into_iter().flatten().collect()
}

fn nobody_apart(facts: &Facts, subject: &Subject) -> Option<Finding> {
    if subject.is_apart() || subject.cpus.is_empty() {
        return None;
    }
    let online = facts.online();
    let last = online.last()?;
    let (severity, fix) = if online.len() > 1 {
        let fix = format!(
            "choose some, and see what disturbs them: `artis check --cpus {last}`; then `sudo artis \
             partition plan --rt {last}`"
        );
        (Severity::Notice, Some(fix))
    } else {
        (Severity::Worsens, None)
    };
    Some(Finding {
        id: "no_cpu_apart",
        severity,
        seen: format!(
            "no CPU is left for other work: real-time tasks have {} of {} online",
            subject.cpus.len(),
            online.len()
        ),
        evidence: facts.cpus.from.clone(),
        why: "interrupts, kernel threads and other tasks run where real-time tasks run, and there is \
              no other CPU for them"
            .to_owned(),
        source: "McKenney, Real Time vs. Real Fast, section 2.1; \
                 Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
        fix,
        partition_fixes: &[],
    })
}

/// CPUs that are neither isolated nor RT CPUs of `artis sched`.
fn unshielded(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let isolated = facts.cpus.get().map(|cpus| &cpus.isolated);
    let shared = isolated.map_or_else(|| subject.cpus.clone(), |isolated| &subject.cpus - isolated);
    if !subject.is_apart() || shared.is_empty() || subject.chosen_by == ChosenBy::Scheduler {
        return None;
    }
    let has_scheduler = facts
        .kernel
        .get()
        .is_some_and(|kernel| kernel.sched_ext.is_some());
    let share = if has_scheduler {
        format!(
            "`sudo artis sched run --rt {}` lets them compute there in user mode; ",
            subject.cpus
        )
    } else {
        String::new()
    };
    Some(Finding {
        id: "unshielded",
        severity: Severity::Worsens,
        seen: format!(
            "normal tasks may do all their work on {}, in the kernel too",
            shared.in_words()
        ),
        evidence: "/sys/devices/system/cpu/isolated, /sys/kernel/sched_ext/root/ops".to_owned(),
        why:
            "the kernel cannot always be interrupted while it works for them there, and they fill \
              the caches with their own data"
                .to_owned(),
        source: "Piel and others, ARTiS, section 2; Documentation/admin-guide/cgroup-v2.rst (cpuset)",
        fix: Some(format!(
            "{share}`sudo artis partition apply --rt {} --shield` keeps them away",
            subject.cpus
        )),
        partition_fixes: &["cpuset-shield"],
    })
}

fn isolated(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let cpus = subject.among(&facts.cpus.get()?.isolated)?;
    let partitions = facts.isolated_partitions.get();
    let by_partition = partitions.is_some_and(|isolated| cpus.is_subset(isolated));
    let (by, fix) = if by_partition {
        (
            "an isolated cpuset partition",
            format!(
                "write `member` to the cpuset.cpus.partition of the group that has them ({})",
                cgroup::ISOLATED_FILE
            ),
        )
    } else {
        ("isolcpus=", "boot without isolcpus=".to_owned())
    };
    Some(Finding {
        id: "isolated_cpus",
        severity: Severity::Notice,
        seen: format!(
            "{} left out by the kernel's scheduler ({by})",
            cpus.in_words_are()
        ),
        evidence: "/sys/devices/system/cpu/isolated".to_owned(),
        why: "the kernel moves no task to them: each is idle while its real-time task sleeps, and \
              `artis sched` cannot share them"
            .to_owned(),
        source: "Documentation/admin-guide/kernel-parameters.txt (isolcpus=); Piel and others, ARTiS",
        fix: Some(format!("to share them with other work: {fix}")),
        partition_fixes: &[],
    })
}

fn tickless(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let cpus = subject.among(&facts.cpus.get()?.nohz_full)?;
    Some(Finding {
        id: "nohz_full",
        severity: Severity::Notice,
        seen: format!(
            "{} without a tick while a single task runs",
            cpus.in_words_are()
        ),
        evidence: "/sys/devices/system/cpu/nohz_full".to_owned(),
        why: "this helps a loop that never sleeps; for a task that sleeps, each wakeup stops and \
              restarts the tick, and each system call does context tracking"
            .to_owned(),
        source: "Documentation/timers/no_hz.rst",
        fix: Some("for tasks that sleep: boot without nohz_full=".to_owned()),
        partition_fixes: &[],
    })
}

fn callbacks(facts: &Facts, subject: &Subject) -> Option<Finding> {
    if !subject.is_apart() {
        return None;
    }
    let own = &subject.cpus - facts.rcu_nocbs.get()?;
    if own.is_empty() {
        return None;
    }
    Some(Finding {
        id: "rcu_callbacks",
        severity: Severity::Worsens,
        seen: format!("RCU callbacks of {} run there", own.in_words()),
        evidence: format!("{} (no rcu_nocbs=)", facts.rcu_nocbs.from),
        why:
            "objects that the kernel frees later are freed in a softirq of the CPU that asked for \
              it, thousands in a row after a burst"
                .to_owned(),
        source: "Documentation/admin-guide/kernel-per-CPU-kthreads.rst (rcuc, RCU_SOFTIRQ)",
        fix: Some(boot_without_callbacks(facts, subject)),
        partition_fixes: &["rcu-callbacks"],
    })
}

fn boot_without_callbacks(facts: &Facts, subject: &Subject) -> String {
    let may_wait = facts.rcu_may_wait.get() == Some(&true);
    let argument = rcu::callbacks_argument(may_wait, &subject.cpus);
    format!("boot with {argument}")
}

/// Callbacks of other CPUs could wait, and then few grace periods would begin.
fn grace_periods(facts: &Facts, subject: &Subject) -> Option<Finding> {
    if !subject.is_apart() || facts.rcu_may_wait.get() != Some(&true) {
        return None;
    }
    let others = &facts.online() - &subject.cpus;
    let others = &others - facts.rcu_nocbs.get()?;
    if others.is_empty() {
        return None;
    }
    Some(Finding {
        id: "rcu_grace_periods",
        severity: Severity::Worsens,
        seen: format!("RCU callbacks of {} do not wait", others.in_words()),
        evidence: format!("{}, {}", facts.rcu_nocbs.from, rcu::LAZY_FILE),
        why:
            "they begin grace periods, under load a hundred a second, and at the end of each CPUs \
              set apart report, too, in a softirq behind the tick; the last one to report wakes \
              RCU's thread"
                .to_owned(),
        source: "Documentation/admin-guide/kernel-parameters.txt (rcutree.enable_rcu_lazy)",
        fix: Some(boot_without_callbacks(facts, subject)),
        partition_fixes: &[],
    })
}

fn groups(facts: &Facts) -> Option<Finding> {
    let kernel = facts.kernel.get()?;
    let (id, seen, fix) = match kernel.cgroup {
        Some(CgroupVersion::V2) => return None,
        Some(CgroupVersion::V1) => (
            "cgroup_v1",
            "the cpu controller is in a version 1 hierarchy",
            "boot with systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all",
        ),
        None => (
            "no_cgroup",
            "no hierarchy of control groups with a cpu controller is mounted",
            "`sudo mount -t cgroup2 none /sys/fs/cgroup`",
        ),
    };
    Some(Finding {
        id,
        severity: Severity::Notice,
        seen: seen.to_owned(),
        evidence: "/proc/self/cgroup, /sys/fs/cgroup/cgroup.controllers".to_owned(),
        why: "cpuset partitions, which set CPUs apart at run time, exist in version 2 only"
            .to_owned(),
        source: "Documentation/admin-guide/cgroup-v2.rst (cpuset.cpus.partition)",
        fix: Some(fix.to_owned()),
        partition_fixes: &[],
    })
}
