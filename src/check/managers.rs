// SPDX-License-Identifier: GPL-2.0-only
//! Other programs that change the machine, and would revert what a partition sets.
//!
//! irqbalance is among the interrupts' findings.

use super::finding::{Finding, Severity};
use super::subject::{ChosenBy, Subject};
use artis_machine::facts::Facts;
use artis_machine::kernel::SchedExt;
use artis_machine::managers::Manager;

pub(super) fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let managers = facts.managers.get().into_iter().flatten();
    let mut found: Vec<Finding> = managers.filter_map(|one| running(facts, one)).collect();
    found.extend(scheduler(facts, subject));
    found
}

fn running(facts: &Facts, manager: &Manager) -> Option<Finding> {
    let (id, severity, why, source, fix) = match manager.name {
        "tuned" | "tuned-ppd" => (
            "tuned",
            Severity::Notice,
            "it sets governors, idle states, affinities and sysctls from its profile, at each start \
             and each change of profile",
            "tuned(8)",
            "let only one program change them: `sudo tuned-adm profile realtime`, or `sudo systemctl \
             disable --now tuned`",
        ),
        "kubelet" => (
            "kubelet",
            Severity::Notice,
            "it gives CPUs to containers with its own cpusets, and takes them from all other tasks",
            "Kubernetes documentation, Control CPU Management Policies on the Node",
            "policy static, and the real-time CPUs in reservedSystemCPUs",
        ),
        "thermald" | "power-profiles-daemon" | "auto-cpufreq" | "tlp" => (
            "power_manager",
            Severity::Worsens,
            "it lowers frequencies because of load, temperature or battery, with any governor",
            "Documentation/admin-guide/pm/cpufreq.rst",
            "`sudo systemctl disable --now NAME` where the cooling allows it",
        ),
        "numad" => (
            "numad",
            Severity::Worsens,
            "it moves processes and their memory between nodes while they run",
            "numad(8)",
            "`sudo systemctl disable --now numad`",
        ),
        "stalld" => (
            "stalld",
            Severity::Worsens,
            "it gives a starving thread SCHED_DEADLINE time on its CPU, before every SCHED_FIFO task",
            "stalld(8)",
            "exclude real-time CPUs with --affinity and --ignore, or stop it",
        ),
        _ => return None,
    };
    let set_to = manager
        .set_to
        .as_ref()
        .map_or_else(String::new, |set_to| format!(", set to {set_to}"));
    Some(Finding {
        id,
        severity,
        seen: format!("{} runs (process {}){set_to}", manager.name, manager.pid),
        evidence: manager.set_in.unwrap_or(&facts.managers.from).to_owned(),
        why: why.to_owned(),
        source,
        fix: Some(fix.replace("NAME", manager.name)),
        partition_fixes: &[],
    })
}

/// A sched_ext scheduler that is not artis's own.
fn scheduler(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let running = facts
        .kernel
        .get()?
        .sched_ext
        .as_ref()
        .filter(|it| it.is_on())?;
    let SchedExt { ops, .. } = running;
    let name = ops.as_deref().unwrap_or("unknown name");
    if subject.chosen_by == ChosenBy::Scheduler || name.starts_with("artis") {
        return None;
    }
    Some(Finding {
        id: "other_scheduler",
        severity: Severity::Notice,
        seen: format!("another sched_ext scheduler is loaded: {name}"),
        evidence: "/sys/kernel/sched_ext/root/ops".to_owned(),
        why:
            "the kernel loads only one at a time, so `artis sched` cannot start; real-time policies \
              come before it and are not affected"
                .to_owned(),
        source: "Documentation/scheduler/sched-ext.rst",
        fix: Some("stop it, for example with `sudo systemctl stop scx`".to_owned()),
        partition_fixes: &[],
    })
}
