// SPDX-License-Identifier: GPL-2.0-only
//! Boot arguments. Source: `Documentation/admin-guide/kernel-parameters.txt`.

use super::super::change::Kind;
use super::super::plan::{Plan, Request};
use super::{Covers, sysctls};

fn covers(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::DeadlineServers
            | Kind::IdleStates
            | Kind::IrqThreadPriority
            | Kind::IrqbalanceBan
            | Kind::KthreadAffinity
    )
}

pub(super) fn render(plan: &Plan, request: &Request) -> (String, Covers) {
    let mut words = placement(request);
    words.push(format!("workqueue.unbound_cpus={}", request.nrt));
    // From 5.8 on; older kernels hand the words to init, which takes them for its environment.
    words.extend(sysctls(plan).map(|(name, value)| format!("sysctl.{name}={value}")));
    if plan.changes.iter().any(|one| one.kind == Kind::Governor) {
        words.push("cpufreq.default_governor=performance".to_owned());
    }
    let text = format!(
        "# Boot arguments: append them to GRUB_CMDLINE_LINUX, update-grub, reboot.\n{}\n",
        words.join(" ")
    );
    (text, covers)
}

/// What only the boot can do for good: where interrupts, RCU callbacks and, behind a shield, tasks go.
pub(super) fn placement(request: &Request) -> Vec<String> {
    let domain = if request.shield { "domain," } else { "" };
    vec![
        format!("irqaffinity={}", request.nrt),
        format!("rcu_nocbs={}", request.rt),
        // Without "domain" tasks still share the CPUs; managed interrupts leave them all the same.
        format!("isolcpus={domain}managed_irq,{}", request.rt),
    ]
}
