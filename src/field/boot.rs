// SPDX-License-Identifier: GPL-2.0-only
//! What a machine was booted with: a part of the name of each configuration, so that runs of two
//! kernels are never pooled.

use artis_result::Machine;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Boot arguments that change latencies (`Documentation/admin-guide/kernel-parameters.txt`). All
/// others say where the machine's disks and consoles are, which is nobody's business.
const ARGUMENTS: [&str; 39] = [
    "acpi_irq_nobalance",
    "amd_pstate",
    "audit",
    "clocksource",
    "cpufreq.default_governor",
    "cpuidle.governor",
    "cpuidle.off",
    "hpet",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "maxcpus",
    "mce",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "nr_cpus",
    "numa_balancing",
    "preempt",
    "processor.max_cstate",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "rcupdate.rcu_expedited",
    "rcupdate.rcu_normal_after_boot",
    "rcutree.kthread_prio",
    "skew_tick",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "watchdog",
    "workqueue.power_efficient",
    "workqueue.unbound_cpus",
];

/// A kernel and how it was booted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boot {
    /// As `uname -r` prints it; in a file to hand on, without what its builder wrote into it.
    pub kernel: String,
    /// Preemption model.
    pub preemption: String,
    /// Those boot arguments that change latencies, in the order of their names.
    pub arguments: Vec<String>,
}

impl Boot {
    pub fn of(machine: &Machine) -> Self {
        Self {
            kernel: machine.kernel.clone(),
            preemption: machine.preemption.clone(),
            arguments: arguments(&machine.cmdline),
        }
    }
}

impl fmt::Display for Boot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.kernel, self.preemption)?;
        match self.arguments.is_empty() {
            true => Ok(()),
            false => write!(out, " {}", self.arguments.join(" ")),
        }
    }
}

/// The known ones of a kernel's command line. What follows `--` is for the first process.
fn arguments(cmdline: &str) -> Vec<String> {
    let words = cmdline.split_whitespace().take_while(|word| *word != "--");
    let known = words.filter(|word| {
        let name = word.split('=').next().unwrap_or_default();
        ARGUMENTS.contains(&name.replace('-', "_").as_str())
    });
    let mut all: Vec<String> = known.map(str::to_owned).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_arguments_that_change_latencies_are_kept() {
        let cmdline = "BOOT_IMAGE=/vmlinuz root=UUID=4f-aa ip=10.0.0.7::::myhost isolcpus=1 \
                       nohz_full=1 quiet mitigations=off -- isolcpus=9 --user bob";
        assert_eq!(
            arguments(cmdline),
            ["isolcpus=1", "mitigations=off", "nohz_full=1"]
        );
    }

    #[test]
    fn another_kernel_model_or_argument_is_another_boot() {
        let of = |kernel: &str, preemption: &str, cmdline: &str| {
            let mut machine = Machine::of_kernel(kernel.to_owned());
            machine.preemption = preemption.to_owned();
            machine.cmdline = cmdline.to_owned();
            Boot::of(&machine)
        };
        let plain = of("6.18", "lazy", "root=/dev/sda1");
        assert_eq!(plain, of("6.18", "lazy", "root=/dev/sdb2 quiet"));
        for other in [
            of("6.19", "lazy", ""),
            of("6.18", "PREEMPT_RT", ""),
            of("6.18", "lazy", "isolcpus=1"),
        ] {
            assert_ne!(plain, other);
        }
        let isolated = of("6.18", "lazy", "quiet isolcpus=1");
        assert_eq!(isolated.to_string(), "6.18 (lazy) isolcpus=1");
    }
}
