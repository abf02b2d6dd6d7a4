// SPDX-License-Identifier: GPL-2.0-only
//! What could not be read, and what cannot be changed from here: nothing is missed silently.

use super::finding::{Finding, Severity};
use super::subject::Subject;
use artis_machine::facts::{Fact, Facts};

pub(super) fn judge(facts: &Facts, _subject: &Subject) -> Vec<Finding> {
    let problems = [
        problem("the kernel", &facts.kernel),
        problem("isolcpus=", &facts.isolcpus),
        problem("rcu_nocbs=", &facts.rcu_nocbs),
        problem("waiting RCU callbacks", &facts.rcu_may_wait),
        problem("isolated cpuset partitions", &facts.isolated_partitions),
        problem("cpusets of control groups", &facts.cpu_groups),
        problem("CPUs", &facts.cpus),
        problem("deadline servers", &facts.deadline_servers),
        problem("the clock source", &facts.clock),
        problem("idle states", &facts.idle_states),
        problem("governors", &facts.governors),
        problem("topology", &facts.topology),
        problem("interrupts", &facts.interrupts),
        problem(
            "the default affinity of interrupts",
            &facts.default_irq_affinity,
        ),
        problem("workqueues", &facts.workqueues),
        problem("timer migration", &facts.timer_migration),
        problem("memory", &facts.memory),
        problem("watchdogs", &facts.watchdogs),
        problem("mitigations", &facts.mitigations),
        problem("CPU times", &facts.cpu_times),
        problem("system management interrupts", &facts.smis),
        problem("rights and limits", &facts.privilege),
        problem("other managers", &facts.managers),
    ];
    let mut found: Vec<Finding> = problems.into_iter().flatten().collect();
    found.extend(debugfs(facts));
    found.extend(read_only(facts));
    found
}

fn problem<T>(what: &str, fact: &Fact<T>) -> Option<Finding> {
    let reason = fact.problem.as_ref()?;
    Some(Finding {
        id: "unseen",
        severity: Severity::Worsens,
        seen: format!("could not read {what}: {reason}"),
        evidence: fact.from.clone(),
        why: "what could not be read may still break real time".to_owned(),
        source: "artis",
        fix: Some(
            "run artis with sudo, on the machine itself and not in a container, with /proc and /sys \
             mounted"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}

fn debugfs(facts: &Facts) -> Option<Finding> {
    let access = *facts.scheduler_debugfs.get()?;
    Some(Finding {
        id: "no_debugfs",
        severity: Severity::Notice,
        seen: format!("the scheduler's debugfs files: {}", access.reason()?),
        evidence: facts.scheduler_debugfs.from.clone(),
        why:
            "only they show deadline servers, which keep running, the preemption model and managed \
              interrupts"
                .to_owned(),
        source: "Documentation/filesystems/debugfs.rst",
        fix: access.remedy().map(str::to_owned),
        partition_fixes: &[],
    })
}

fn read_only(facts: &Facts) -> Option<Finding> {
    if *facts.sysfs_writable.get()? {
        return None;
    }
    Some(Finding {
        id: "read_only_sysfs",
        severity: Severity::Notice,
        seen: "/sys is mounted read-only".to_owned(),
        evidence: facts.sysfs_writable.from.clone(),
        why:
            "governors, idle states, workqueues and the clock source cannot be changed from here, \
              not by `artis partition` either"
                .to_owned(),
        source: "sysfs(5)",
        fix: Some("change them on the host, or start a container with `--privileged`".to_owned()),
        partition_fixes: &[],
    })
}
