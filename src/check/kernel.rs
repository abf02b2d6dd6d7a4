// SPDX-License-Identifier: GPL-2.0-only
//! The kernel: how it was built and booted.

use super::finding::{Finding, Severity};
use super::obstacle::Obstacle;
use super::subject::Subject;
use artis_machine::boot_arguments;
use artis_machine::debugfs::Access;
use artis_machine::facts::{Facts, PRESSURE_FILE};
use artis_machine::kernel::{Kernel, LOCKDOWN, Preemption};
use artis_machine::scx::BTF_FILE;

pub(super) fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let of_kernel = facts.kernel.get().map(|kernel| {
        [
            model(kernel),
            not_preempt_rt(kernel),
            scheduler(facts, kernel, subject),
            btf(kernel),
        ]
    });
    let others = [debugging(facts), timers(facts), pressure(facts)];
    let all = of_kernel.into_iter().flatten().chain(others);
    all.flatten().collect()
}

fn model(kernel: &Kernel) -> Option<Finding> {
    let (severity, seen, fix) = match kernel.preemption.preemptible() {
        Some(true) => return None,
        Some(false) => (
            Severity::Breaks,
            format!("the preemption model is {}", kernel.preemption),
            Obstacle::NotPreemptible(kernel.preemption).remedy(kernel),
        ),
        None => (
            Severity::Worsens,
            "the preemption model that was chosen at boot is not visible".to_owned(),
            match kernel
                .debugfs
                .remedy()
                .filter(|_| kernel.debugfs != Access::Locked)
            {
                Some(remedy) => format!("{remedy}, and check again"),
                None => kernel.distribution.boot_with("preempt=full"),
            },
        ),
    };
    Some(Finding {
        id: "preemption_model",
        severity,
        seen,
        evidence: kernel.preemption_from.clone(),
        why: "a real-time task waits until the kernel has finished work for another task: \
              milliseconds, with no upper bound"
            .to_owned(),
        source: "Documentation/admin-guide/kernel-parameters.txt (preempt=); McKenney, Real Time vs. \
                 Real Fast, section 2.1: late by up to 3 ms",
        fix: Some(fix),
        partition_fixes: &[],
    })
}

fn not_preempt_rt(kernel: &Kernel) -> Option<Finding> {
    if kernel.preemption == Preemption::PreemptRt {
        return None;
    }
    Some(Finding {
        id: "not_preempt_rt",
        severity: Severity::Worsens,
        seen: format!("Linux {} is not a PREEMPT_RT kernel", kernel.release),
        evidence: "/proc/sys/kernel/version".to_owned(),
        why: "code in spinlocks, interrupt handlers and softirqs cannot be preempted here: what it \
              does on a CPU for other tasks delays the real-time task there"
            .to_owned(),
        source: "Documentation/core-api/real-time/differences.rst; McKenney, Real Time vs. Real Fast, \
                 section 4",
        fix: Some(
            "boot a PREEMPT_RT kernel (Debian: `sudo apt install linux-image-rt-amd64`), or try one: \
             `artis lab run --kernel newest-rt -- uname -v`"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}

/// What keeps `artis sched` from running here, as far as the kernel shows it.
pub(super) fn obstacles(facts: &Facts, kernel: &Kernel) -> Vec<Obstacle> {
    Obstacle::all(kernel, facts.scx.get(), facts.cpus.get())
}

/// The first of [`obstacles`] that no other finding names.
fn scheduler(facts: &Facts, kernel: &Kernel, subject: &Subject) -> Option<Finding> {
    let first = obstacles(facts, kernel).into_iter().find(|one| match one {
        Obstacle::NotPreemptible(_) => false,
        Obstacle::Isolated(cpus) => subject.among(cpus).is_none(),
        _ => true,
    })?;
    Some(Finding {
        id: first.id(),
        severity: Severity::Notice,
        seen: first.cause(kernel),
        evidence: match first {
            Obstacle::NoSchedExt => "/sys/kernel/sched_ext",
            Obstacle::Locked(_) => LOCKDOWN,
            Obstacle::Isolated(_) => boot_arguments::FILE,
            _ => BTF_FILE,
        }
        .to_owned(),
        why:
            "`artis sched` cannot run here, so a real-time CPU is either left idle or shared with \
              tasks that disturb real-time tasks"
                .to_owned(),
        source: "Documentation/scheduler/sched-ext.rst",
        fix: Some(first.remedy(kernel)),
        partition_fixes: &[],
    })
}

fn btf(kernel: &Kernel) -> Option<Finding> {
    if kernel.btf {
        return None;
    }
    Some(Finding {
        id: "no_btf",
        severity: Severity::Notice,
        seen: "the kernel does not describe its types (BTF)".to_owned(),
        evidence: BTF_FILE.to_owned(),
        why: "BPF programs cannot be loaded: neither a scheduler, nor what finds the cause of a late \
              wakeup"
            .to_owned(),
        source: "Documentation/bpf/btf.rst",
        fix: Some("boot a kernel with CONFIG_DEBUG_INFO_BTF=y".to_owned()),
        partition_fixes: &[],
    })
}

fn debugging(facts: &Facts) -> Option<Finding> {
    let options = &facts.build.get()?.debugging;
    if options.is_empty() {
        return None;
    }
    Some(Finding {
        id: "kernel_debugging",
        severity: Severity::Worsens,
        seen: format!("the kernel was built with {}", options.join(", ")),
        evidence: facts.build.from.clone(),
        why: "these options check every lock or every memory access: kernel work takes several \
              times as long, much of it with interrupts off"
            .to_owned(),
        source: "lib/Kconfig.debug",
        fix: Some("boot the distribution's ordinary kernel".to_owned()),
        partition_fixes: &[],
    })
}

fn timers(facts: &Facts) -> Option<Finding> {
    let tick = facts.tick.get()?;
    if tick.high_resolution {
        return None;
    }
    let tick_ms = tick.hz.filter(|hz| *hz > 0).map_or_else(
        || "one tick, 1 to 10 ms".to_owned(),
        |hz| format!("one tick, {:.1} ms", 1000.0 / f64::from(hz)),
    );
    Some(Finding {
        id: "low_resolution_timers",
        severity: Severity::Breaks,
        seen: "timers have the resolution of the tick".to_owned(),
        evidence: facts.tick.from.clone(),
        why: format!("a task that sleeps wakes up late by up to {tick_ms}"),
        source: "Documentation/timers/highres.rst",
        fix: Some("boot without highres=off, a kernel with CONFIG_HIGH_RES_TIMERS=y".to_owned()),
        partition_fixes: &[],
    })
}

fn pressure(facts: &Facts) -> Option<Finding> {
    if !*facts.pressure.get()? {
        return None;
    }
    Some(Finding {
        id: "pressure_accounts",
        severity: Severity::Worsens,
        seen: "the kernel accounts how long tasks wait for CPU, memory and devices (PSI)".to_owned(),
        evidence: PRESSURE_FILE.to_owned(),
        why: "each wakeup and each switch of tasks adds to the accounts of the task's control group \
              and of every group above it, with the CPU's run queue locked: a fifth of a real-time \
              task's wakeup in artis's lab, one group deep; and each group's averages are made \
              every 2 s by a kernel thread that any CPU may have to wake, behind its tick"
            .to_owned(),
        source: "Documentation/accounting/psi.rst; kernel/sched/psi.c; artis, docs/results",
        fix: Some(
            "boot with psi=0, unless a service needs these accounts (systemd-oomd does); or start \
             real-time tasks in few groups, `echo 0 | sudo tee /sys/fs/cgroup/GROUP/cgroup.pressure` \
             for each"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}
