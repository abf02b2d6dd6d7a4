// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs are set apart from other work, and how.

use super::finding::{Finding, Severity, few};
use super::subject::{ChosenBy, Subject};
use artis_machine::cpusets::{self, Claim, Hold};
use artis_machine::facts::Facts;
use artis_machine::kernel::{CgroupVersion, SchedExt};
use artis_machine::privilege::{Capability, Privilege};
use artis_machine::rcu;
use artis_machine::{CpuList, cgroup};

pub(super) fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let all = [
        nobody_apart(facts, subject),
        unshielded(facts, subject),
        isolated(facts, subject),
        claimed(facts, subject),
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
    let shared = &subject.cpus - &apart(facts);
    if !subject.is_apart() || shared.is_empty() || subject.chosen_by == ChosenBy::Scheduler {
        return None;
    }
    let cpus = subject.partitionable();
    // Sudo gives root no right that it lacks, as in a container.
    let lacks = |privilege: &Privilege| privilege.euid == 0 && !privilege.has(Capability::SysAdmin);
    let shares = facts.kernel.get().is_some_and(|kernel| {
        super::kernel::obstacles(facts, kernel).is_empty()
            && kernel.btf
            && !kernel.sched_ext.as_ref().is_some_and(SchedExt::is_on)
            && !facts.privilege.get().is_some_and(lacks)
    });
    let is_taken = claims(facts, subject).iter().any(Claim::is_exclusive);
    let ways = [
        shares.then(|| {
            format!("`sudo artis sched run --rt {cpus}` lets them compute there in user mode")
        }),
        (facts.shield_obstacle.get().is_none() && !is_taken)
            .then(|| format!("`sudo artis partition apply --rt {cpus} --shield` keeps them away")),
    ];
    let ways: Vec<String> = ways.into_iter().flatten().collect();
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
        fix: Some(match ways.is_empty() {
            true => format!("boot with isolcpus=domain,managed_irq,{cpus}"),
            false => ways.join("; "),
        }),
        partition_fixes: &["cpuset-shield"],
    })
}

/// CPUs where no task runs that is not put there.
fn apart(facts: &Facts) -> CpuList {
    let isolated = facts.cpus.get().map(|cpus| &cpus.isolated);
    let partitions = facts.isolated_partitions.get();
    let all = [isolated, partitions, facts.shield.get()]
        .into_iter()
        .flatten();
    all.fold(CpuList::new(), |all, cpus| &all | cpus)
}

/// CPUs that are apart, by the boot argument, the shield, or somebody else's partition.
fn isolated(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let cpus = subject.among(&apart(facts))?;
    let none = CpuList::new();
    let at_boot = facts
        .cpus
        .get()
        .map_or(&none, |cpus| &cpus.isolated_at_boot);
    let shield = facts.shield.get().unwrap_or(&none);
    let partitions = claims(facts, subject);
    let mut partitions = partitions
        .iter()
        .filter(|one| one.group.hold == Hold::Partition);
    let (by, evidence, fix) = if subject.among(at_boot).is_some() {
        (
            "isolcpus=",
            "/sys/devices/system/cpu/isolated",
            "boot without isolcpus=".to_owned(),
        )
    } else if subject.among(shield).is_some() {
        let fix = "`sudo artis partition reset`".to_owned();
        ("the shield of artis partition", cpusets::SHIELD, fix)
    } else if let Some(partition) = partitions.next() {
        (
            "a cpuset partition",
            cgroup::ISOLATED_FILE,
            partition.to_string(),
        )
    } else {
        let fix = "give them up where they were isolated".to_owned();
        (
            "the kernel does not say how",
            "/sys/devices/system/cpu/isolated",
            fix,
        )
    };
    Some(Finding {
        id: "isolated_cpus",
        severity: Severity::Notice,
        seen: format!(
            "{} left out by the kernel's scheduler ({by})",
            cpus.in_words_are()
        ),
        evidence: evidence.to_owned(),
        why: "the kernel moves no task to them: each is idle while its real-time task sleeps, and \
              `artis sched` cannot share them"
            .to_owned(),
        source: "Documentation/admin-guide/kernel-parameters.txt (isolcpus=); Piel and others, ARTiS",
        fix: Some(format!("to share them with other work: {fix}")),
        partition_fixes: &[],
    })
}

fn claims(facts: &Facts, subject: &Subject) -> Vec<Claim> {
    let groups = facts.cpu_groups.get().map_or(&[][..], Vec::as_slice);
    cpusets::claims(groups, &subject.cpus, &facts.online())
}

/// CPUs that somebody else has: a container manager, or a service with CPUs of its own.
fn claimed(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let all = claims(facts, subject);
    let claims = all
        .iter()
        .filter(|claim| claim.is_exclusive() || claim.is_all_it_has());
    let claims: Vec<String> = claims.map(ToString::to_string).collect();
    if !subject.is_apart() || claims.is_empty() {
        return None;
    }
    Some(Finding {
        id: "claimed_cpus",
        severity: Severity::Worsens,
        seen: few(&claims),
        evidence: format!("{}/**/cpuset.cpus", cpusets::V2),
        why: "somebody has given these CPUs away already: the tasks of the group run there beside \
              real-time tasks, and a shield would take the CPU from them"
            .to_owned(),
        source: "Documentation/admin-guide/cgroup-v2.rst (cpuset.cpus)",
        fix: Some(
            "choose other CPUs, unless the group is the one with the real-time tasks".to_owned(),
        ),
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
