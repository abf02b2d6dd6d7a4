// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own work on real-time CPUs: threads, workqueues, timers, watchdogs.

use super::finding::{Finding, Severity, counted, few};
use super::subject::Subject;
use artis_machine::facts::{Facts, TIMER_MIGRATION, Thread};
use artis_machine::workqueues;

pub(super) fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let mut found = Vec::new();
    if subject.is_apart() {
        found.extend(movable(facts, subject));
        found.extend(workqueue_mask(facts, subject));
        found.extend(writeback(facts, subject));
        found.extend(watchdogs(facts, subject));
        found.extend(above(facts, subject));
    }
    found.extend(timers(facts));
    found.extend(others_real_time(facts, subject));
    found
}

fn on_subject<'a>(
    facts: &'a Facts,
    subject: &'a Subject,
    concerns: impl Fn(&Thread) -> bool + 'a,
) -> Vec<&'a Thread> {
    let all = facts.threads.get().into_iter().flatten();
    all.filter(|one| concerns(one) && subject.among(&one.status.allowed).is_some())
        .collect()
}

fn movable(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let threads = on_subject(facts, subject, |one| {
        one.task.is_kernel && !one.task.is_bound
    });
    if threads.is_empty() {
        return None;
    }
    let names: Vec<&str> = threads.iter().map(|one| one.task.name.as_str()).collect();
    Some(Finding {
        id: "kthread_affinity",
        severity: Severity::Worsens,
        seen: format!(
            "{} run on {} without need: {}",
            counted(
                threads.len(),
                "thread of the kernel may",
                "threads of the kernel may"
            ),
            subject.cpus.in_words(),
            few(&names)
        ),
        evidence: "/proc/*/status (Cpus_allowed_list)".to_owned(),
        why: "they work for the whole machine, some with interrupts off, and a real-time task of this \
              CPU may have to wait for them"
            .to_owned(),
        source: "Documentation/admin-guide/kernel-per-CPU-kthreads.rst; McKenney, Real Time vs. Real \
                 Fast, section 2.1",
        fix: Some(format!(
            "{}; by hand: `sudo taskset -cp {} TID` for each",
            subject.partition(),
            subject.others
        )),
        partition_fixes: &["kthread-affinity"],
    })
}

fn workqueue_mask(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let cpus = subject.among(&facts.workqueues.get()?.cpus)?;
    Some(Finding {
        id: "workqueue_mask",
        severity: Severity::Worsens,
        seen: format!(
            "workqueues that belong to no CPU may use {}",
            cpus.in_words()
        ),
        evidence: workqueues::file(None),
        why: "file systems, networks and drivers defer work, which runs on any CPU of the mask"
            .to_owned(),
        source: "Documentation/core-api/workqueue.rst; \
                 Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
        fix: Some(format!(
            "{}; by hand: write the mask of CPUs {} to {}",
            subject.partition(),
            subject.others,
            workqueues::file(None)
        )),
        partition_fixes: &["workqueue-mask"],
    })
}

fn writeback(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let workqueues = facts.workqueues.get()?;
    let own = workqueues.own.get("writeback")?;
    let cpus = subject.among(&(own & &workqueues.cpus))?;
    Some(Finding {
        id: "writeback_mask",
        severity: Severity::Worsens,
        seen: format!(
            "dirty pages may be written to disk from {}",
            cpus.in_words()
        ),
        evidence: workqueues::file(Some("writeback")),
        why: "writeback walks long lists and holds locks of file systems, for many milliseconds at a \
              time"
            .to_owned(),
        source: "Documentation/core-api/workqueue.rst (writeback)",
        fix: Some(subject.partition()),
        partition_fixes: &["writeback", "workqueue-mask"],
    })
}

fn timers(facts: &Facts) -> Option<Finding> {
    if *facts.timer_migration.get()? == 0 {
        return None;
    }
    Some(Finding {
        id: "timer_migration",
        severity: Severity::Worsens,
        seen: "CPUs that are awake run the timers of idle CPUs".to_owned(),
        evidence: TIMER_MIGRATION.to_owned(),
        why: "the CPU of a real-time task is awake and gets the timers of others; the task's own timer \
              may expire on another CPU, which then has to interrupt this one"
            .to_owned(),
        source: "Documentation/admin-guide/sysctl/kernel.rst (timer_migration); \
                 kernel/time/timer_migration.c",
        fix: Some("`sudo sysctl kernel.timer_migration=0`".to_owned()),
        partition_fixes: &["timer-migration"],
    })
}

fn watchdogs(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let watchdogs = facts.watchdogs.get()?;
    let cpus = subject.among(&watchdogs.cpus)?;
    let on = [(watchdogs.soft, "soft"), (watchdogs.nmi, "NMI")];
    let names: Vec<&str> = on.iter().filter(|one| one.0).map(|one| one.1).collect();
    if names.is_empty() {
        return None;
    }
    Some(Finding {
        id: "watchdogs",
        severity: Severity::Worsens,
        seen: format!(
            "the {} lockup detector watches {}",
            names.join(" and "),
            cpus.in_words()
        ),
        evidence: facts.watchdogs.from.clone(),
        why:
            "every few seconds a timer wakes the stopper thread, which runs before every real-time \
              task; the NMI detector interrupts even code with interrupts off"
                .to_owned(),
        source: "Documentation/admin-guide/lockup-watchdogs.rst",
        fix: Some(format!(
            "{}; by hand: `sudo sysctl kernel.watchdog_cpumask={}`",
            subject.partition(),
            subject.others
        )),
        partition_fixes: &["watchdog-cpumask"],
    })
}

/// The kernel's real-time threads that belong to these CPUs.
fn above(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let threads = on_subject(facts, subject, |one| {
        one.task.is_kernel && one.task.is_bound && one.task.policy.is_real_time()
    });
    if threads.is_empty() {
        return None;
    }
    let names: Vec<String> = threads
        .iter()
        .map(|one| format!("{} {}", one.task.name, one.task.priority))
        .collect();
    Some(Finding {
        id: "kernel_real_time_threads",
        severity: Severity::Notice,
        seen: format!(
            "real-time threads of the kernel on {}: {}",
            subject.cpus.in_words(),
            few(&names)
        ),
        evidence: facts.threads.from.clone(),
        why:
            "a real-time task below them waits for them; a task above a thread that its own wakeup \
              needs (ktimers, rcuc) blocks its own wakeup"
                .to_owned(),
        source: "Documentation/admin-guide/kernel-per-CPU-kthreads.rst; \
                 Documentation/core-api/real-time/theory.rst",
        fix: None,
        partition_fixes: &[],
    })
}

fn others_real_time(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let threads = on_subject(facts, subject, |one| !one.task.is_kernel);
    if threads.is_empty() {
        return None;
    }
    let names: Vec<String> = threads
        .iter()
        .map(|one| {
            let task = &one.task;
            format!("{} ({} {})", task.name, task.policy, task.priority)
        })
        .collect();
    Some(Finding {
        id: "real_time_tasks",
        severity: Severity::Notice,
        seen: format!(
            "real-time tasks that may run on {}: {}",
            subject.cpus.in_words(),
            few(&names)
        ),
        evidence: facts.threads.from.clone(),
        why: "of two real-time tasks on a CPU, the one with the lower priority waits for the other"
            .to_owned(),
        source: "sched(7)",
        fix: Some(
            "bind each to its own CPU: `sudo artis run rt0 --cpu N --priority P --pid PID`"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}
