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
    // From kernel 5.8 on; older kernels pass these words to init, as environment variables.
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

/// What only boot arguments can set permanently: where interrupts, RCU callbacks and, with a
/// shield, tasks run.
pub(super) fn placement(request: &Request) -> Vec<String> {
    let domain = if request.shield { "domain," } else { "" };
    vec![
        format!("irqaffinity={}", request.nrt),
        request.callbacks_argument.clone(),
        // Without "domain", tasks still share the CPUs, and only managed interrupts leave them.
        format!("isolcpus={domain}managed_irq,{}", request.rt),
    ]
}
