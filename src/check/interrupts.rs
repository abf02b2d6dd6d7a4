// SPDX-License-Identifier: GPL-2.0-only
//! Interrupts of devices, and the threads that handle them.

use super::finding::{Finding, Severity, counted, few};
use super::subject::Subject;
use artis_machine::deadline_servers::DEBUGFS;
use artis_machine::facts::{Facts, Thread};
use artis_machine::interrupts::{self, Interrupt};
use artis_machine::irq_affinity;
use std::collections::BTreeSet;

pub(super) fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let mut found = Vec::new();
    if subject.is_apart() {
        found.extend(movable(facts, subject));
        found.extend(managed(facts, subject));
        found.extend(default_affinity(facts, subject));
    }
    found.extend(balancer(facts, subject));
    found.extend(priorities(facts));
    found
}

fn on_subject<'a>(
    facts: &'a Facts,
    subject: &Subject,
    movable: bool,
) -> Option<Vec<&'a Interrupt>> {
    let all = facts.interrupts.get()?.iter();
    let concerned: Vec<&Interrupt> = all
        .filter(|one| one.movable == movable)
        .filter(|one| subject.among(&one.target()).is_some())
        .collect();
    (!concerned.is_empty()).then_some(concerned)
}

fn named(interrupts: &[&Interrupt]) -> String {
    let names: Vec<String> = interrupts
        .iter()
        .map(|one| format!("{} ({})", one.number, one.name))
        .collect();
    few(&names)
}

fn movable(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let concerned = on_subject(facts, subject, true)?;
    let numbers: Vec<String> = concerned.iter().map(|one| one.number.to_string()).collect();
    Some(Finding {
        id: "irq_affinity",
        severity: Severity::Worsens,
        seen: format!(
            "{} to {}: {}",
            counted(
                concerned.len(),
                "interrupt of a device goes",
                "interrupts of devices go"
            ),
            subject.cpus.in_words(),
            named(&concerned)
        ),
        evidence: "/proc/irq/*/effective_affinity_list".to_owned(),
        why:
            "each stops the real-time task while its handler runs, and often the softirqs after it"
                .to_owned(),
        source: "Documentation/core-api/irq/irq-affinity.rst; McKenney, Real Time vs. Real Fast, \
                 section 2.1",
        fix: Some(format!(
            "{}; by hand: `for n in {}; do echo {} | sudo tee /proc/irq/$n/smp_affinity_list; done`",
            subject.partition(),
            numbers.join(" "),
            subject.others
        )),
        partition_fixes: &["irq-affinity"],
    })
}

fn managed(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let concerned = on_subject(facts, subject, false)?;
    Some(Finding {
        id: "managed_interrupts",
        severity: Severity::Worsens,
        seen: format!(
            "{} to {}, and cannot be moved: {}",
            counted(concerned.len(), "interrupt goes", "interrupts go"),
            subject.cpus.in_words(),
            named(&concerned)
        ),
        evidence: format!(
            "{} (not writable), {DEBUGFS}/irq/irqs/* (IRQD_AFFINITY_MANAGED)",
            irq_affinity::FILES
        ),
        why: "the kernel binds queues of fast disks and network cards to CPUs (managed), and some \
              controllers cannot move interrupts; a queue's interrupt occurs when a task on its CPU \
              uses the device"
            .to_owned(),
        source: "Documentation/admin-guide/kernel-parameters.txt (isolcpus=managed_irq)",
        fix: Some(format!(
            "boot with isolcpus=managed_irq,{}, or give the device fewer queues, and do no I/O from \
             these CPUs",
            subject.cpus
        )),
        partition_fixes: &[],
    })
}

fn default_affinity(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let cpus = subject.among(facts.default_irq_affinity.get()?)?;
    Some(Finding {
        id: "default_irq_affinity",
        severity: Severity::Worsens,
        seen: format!(
            "interrupts of drivers that start later may go to {}",
            cpus.in_words()
        ),
        evidence: irq_affinity::DEFAULT_FILE.to_owned(),
        why: "a device that is plugged in or reset gets this default, even if its interrupt was moved"
            .to_owned(),
        source: "Documentation/core-api/irq/irq-affinity.rst",
        fix: Some(format!(
            "{}, or boot with irqaffinity={}",
            subject.partition(),
            subject.others
        )),
        partition_fixes: &["default-irq-affinity"],
    })
}

fn balancer(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let managers = facts.managers.get()?;
    let irqbalance = managers.iter().find(|one| one.name == "irqbalance")?;
    let banned = irqbalance.set_to.as_deref().unwrap_or("");
    // The text was printed from a CPU list, so it can be parsed.
    let covered = banned
        .parse()
        .is_ok_and(|banned| subject.cpus.is_subset(&banned));
    if covered {
        return None;
    }
    let banned = match banned {
        "" => "no CPU".to_owned(),
        banned => format!("only CPUs {banned}"),
    };
    Some(Finding {
        id: "irqbalance",
        severity: Severity::Worsens,
        seen: format!(
            "irqbalance runs (process {}) and leaves {banned} alone",
            irqbalance.pid
        ),
        evidence: facts.managers.from.clone(),
        why:
            "every ten seconds it moves interrupts to CPUs with less load, also back to CPUs that \
              they were moved away from"
                .to_owned(),
        source: "irqbalance(1), IRQBALANCE_BANNED_CPULIST",
        fix: Some(if subject.is_apart() {
            format!(
                "{}, or IRQBALANCE_BANNED_CPULIST={} in /etc/default/irqbalance",
                subject.partition(),
                subject.cpus
            )
        } else {
            "`sudo systemctl disable --now irqbalance` where interrupts are placed by hand"
                .to_owned()
        }),
        partition_fixes: &["irqbalance-ban"],
    })
}

/// The threads that handle interrupts.
fn handlers(facts: &Facts) -> impl Iterator<Item = &Thread> {
    let threads = facts.threads.get().into_iter().flatten();
    threads.filter(|one| interrupts::handled_by(&one.task).is_some())
}

fn priorities(facts: &Facts) -> Option<Finding> {
    let priorities: BTreeSet<u32> = handlers(facts).map(|one| one.task.priority).collect();
    let count = handlers(facts).count();
    // Different priorities: somebody has chosen them.
    if count < 2 || priorities.len() > 1 {
        return None;
    }
    Some(Finding {
        id: "irq_thread_priority",
        severity: Severity::Notice,
        seen: format!(
            "{count} interrupt threads have the same priority, {}",
            priorities.first()?
        ),
        evidence: "/proc/*/stat (irq/*)".to_owned(),
        why: "this is the kernel's default: a real-time task above them delays its own device too, \
              and a task below them waits for every disk and network card"
            .to_owned(),
        source: "Documentation/core-api/real-time/theory.rst; McKenney, Real Time vs. Real Fast, \
                 section 2.1",
        fix: Some(
            "put the thread of the device that matters above the real-time task: `sudo chrt -f -p 90 \
             $(pgrep irq/NUMBER)`, the others below"
                .to_owned(),
        ),
        partition_fixes: &["irq-thread-priority"],
    })
}
