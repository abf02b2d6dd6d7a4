// SPDX-License-Identifier: GPL-2.0-only
//! Boot arguments. Source: `Documentation/admin-guide/kernel-parameters.txt`.

use super::super::change::Move;
use super::super::plan::{Plan, Wish};
use super::{Covers, sysctls};

fn covers(kind: Move) -> bool {
    !matches!(
        kind,
        Move::DeadlineServers
            | Move::IdleStates
            | Move::IrqThreadPriority
            | Move::IrqbalanceBan
            | Move::KthreadAffinity
    )
}

pub(super) fn render(plan: &Plan, wish: &Wish) -> (String, Covers) {
    let mut words = placement(wish);
    words.push(format!("workqueue.unbound_cpus={}", wish.nrt));
    // From 5.8 on; older kernels hand the words to init, which takes them for its environment.
    words.extend(sysctls(plan).map(|(name, value)| format!("sysctl.{name}={value}")));
    if plan.changes.iter().any(|one| one.kind == Move::Governor) {
        words.push("cpufreq.default_governor=performance".to_owned());
    }
    let text = format!(
        "# Boot arguments: append them to GRUB_CMDLINE_LINUX, update-grub, reboot.\n{}\n",
        words.join(" ")
    );
    (text, covers)
}

/// What only the boot can do for good: where interrupts, RCU callbacks and, behind a shield, tasks go.
pub(super) fn placement(wish: &Wish) -> Vec<String> {
    let domain = if wish.shield { "domain," } else { "" };
    vec![
        format!("irqaffinity={}", wish.nrt),
        format!("rcu_nocbs={}", wish.rt),
        // Without "domain" tasks still share the CPUs; managed interrupts leave them all the same.
        format!("isolcpus={domain}managed_irq,{}", wish.rt),
    ]
}
