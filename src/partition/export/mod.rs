// SPDX-License-Identifier: GPL-2.0-only
//! A plan in the format of another tool, which then keeps it in force permanently.
//!
//! Pure: text from a plan. A comment in each export lists the changes that the tool cannot make.

mod cmdline;
mod kubernetes;
mod systemd;
mod tuned;

use super::change::{Change, Kind, Target};
use super::plan::{Plan, Request};
use std::collections::BTreeSet;

/// The tool that keeps it in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Tuned,
    Systemd,
    Cmdline,
    Kubernetes,
}

/// Can the tool make this kind of change?
type Covers = fn(Kind) -> bool;

/// The plan for this tool. `request` is what the plan was made for.
pub fn render(tool: Tool, plan: &Plan, request: &Request) -> String {
    let (text, covers) = match tool {
        Tool::Tuned => tuned::render(plan, request),
        Tool::Systemd => systemd::render(plan, request),
        Tool::Cmdline => cmdline::render(plan, request),
        Tool::Kubernetes => kubernetes::render(plan, request),
    };
    text + &missing(plan, covers)
}

/// Comments that list the planned changes that the tool cannot make.
fn missing(plan: &Plan, covers: Covers) -> String {
    let others: BTreeSet<Kind> = plan
        .changes
        .iter()
        .map(|change| change.kind)
        .filter(|kind| !covers(*kind))
        .collect();
    if others.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = others.iter().map(|kind| kind.id()).collect();
    format!(
        "# Not here, and done by artis partition apply at run time:\n#   {}\n",
        names.join("\n#   ")
    )
}

/// The changes of files below this folder, as (path without the folder, value).
fn files<'a>(plan: &'a Plan, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a Change)> {
    plan.changes.iter().filter_map(move |change| {
        let Target::File { path, .. } = &change.target else {
            return None;
        };
        // The number of an interrupt and a group that artis makes are valid for this boot only.
        let lasting = !matches!(change.kind, Kind::IrqAffinity | Kind::CpusetShield);
        Some((path.strip_prefix(folder)?, change)).filter(|_| lasting)
    })
}

/// `kernel.timer_migration` and so on, with their values.
fn sysctls(plan: &Plan) -> impl Iterator<Item = (String, &str)> {
    files(plan, "/proc/sys/").map(|(path, change)| (path.replace('/', "."), change.new.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::request;
    use super::*;

    fn change(kind: Kind, target: Target, new: &str) -> Change {
        Change {
            kind,
            what: "kauditd".to_owned(),
            target,
            old: String::new(),
            new: new.to_owned(),
            detour: None,
            reason: String::new(),
        }
    }

    fn plan() -> Plan {
        let file = |kind, path: &str, new: &str| change(kind, Target::file(path), new);
        let thread = Target::Affinity {
            tid: 7,
            start_ticks: 1,
        };
        Plan {
            changes: vec![
                file(
                    Kind::TimerMigration,
                    "/proc/sys/kernel/timer_migration",
                    "0",
                ),
                file(
                    Kind::WatchdogCpumask,
                    "/proc/sys/kernel/watchdog_cpumask",
                    "0-2",
                ),
                file(
                    Kind::DefaultIrqAffinity,
                    "/proc/irq/default_smp_affinity",
                    "7",
                ),
                file(Kind::IrqAffinity, "/proc/irq/24/smp_affinity_list", "0-2"),
                file(
                    Kind::WorkqueueMask,
                    "/sys/devices/virtual/workqueue/cpumask",
                    "7",
                ),
                file(
                    Kind::Governor,
                    "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
                    "performance",
                ),
                change(Kind::KthreadAffinity, thread, "0-2"),
            ],
            ..Plan::default()
        }
    }

    fn rendered(tool: Tool) -> String {
        render(tool, &plan(), &request())
    }

    #[test]
    fn a_command_line_is_one_line_of_words() {
        let text = rendered(Tool::Cmdline);
        let words = text.lines().find(|line| !line.starts_with('#')).unwrap();
        for word in [
            "irqaffinity=0-2",
            "rcu_nocbs=3",
            "isolcpus=managed_irq,3",
            "workqueue.unbound_cpus=0-2",
            "sysctl.kernel.timer_migration=0",
            "cpufreq.default_governor=performance",
        ] {
            assert!(words.split(' ').any(|one| one == word), "{word}: {words}");
        }
        assert!(text.contains("#   kthread-affinity"), "{text}");
        let shielded = Request {
            shield: true,
            ..request()
        };
        let text = render(Tool::Cmdline, &plan(), &shielded);
        assert!(text.contains("isolcpus=domain,managed_irq,3"), "{text}");
    }

    #[test]
    fn systemd_gets_files_in_its_formats() {
        let text = rendered(Tool::Systemd);
        assert!(text.contains("kernel.watchdog_cpumask = 0-2\n"), "{text}");
        let line = "w /sys/devices/virtual/workqueue/cpumask - - - - 7\n";
        assert!(text.contains(line), "{text}");
        assert!(!text.contains("/proc/irq/24"), "{text}");
        assert!(!text.contains("AllowedCPUs"), "{text}");
        let shielded = Request {
            shield: true,
            ..request()
        };
        let text = render(Tool::Systemd, &plan(), &shielded);
        assert!(text.contains("AllowedCPUs=0-2"), "{text}");
    }

    #[test]
    fn tuned_gets_a_profile() {
        let text = rendered(Tool::Tuned);
        for line in [
            "[sysctl]",
            "kernel.timer_migration=0",
            "[sysfs]",
            "/sys/devices/virtual/workqueue/cpumask=7",
            "group.artis_kthreads=0:*:*:7:^\\[(kauditd)\\]",
            "cmdline_artis=irqaffinity=0-2 rcu_nocbs=3 isolcpus=managed_irq,3",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
    }

    #[test]
    fn the_kubelet_reserves_the_other_cpus() {
        let text = rendered(Tool::Kubernetes);
        assert!(text.contains("reservedSystemCPUs: \"0-2\""), "{text}");
        assert!(text.contains("cpuManagerPolicy: static"), "{text}");
        assert!(text.contains("#   timer-migration"), "{text}");
    }
}
