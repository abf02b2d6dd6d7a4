// SPDX-License-Identifier: GPL-2.0-only
//! Programs that change settings of the machine by themselves, and so may revert what others set.
//!
//! Recognised by the names of their threads. Their settings are read from their files.

use super::tasks::Task;
use super::{CpuList, Root};
use serde::Serialize;

/// A program that was found running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Manager {
    pub name: &'static str,
    pub pid: i32,
    /// Its profile or policy, where a file has it.
    pub set_to: Option<String>,
    /// The file with the profile or policy.
    pub set_in: Option<&'static str>,
}

/// Names of their threads; the kernel cuts names after 15 bytes.
const KNOWN: [&str; 10] = [
    "auto-cpufreq",
    "irqbalance",
    "kubelet",
    "numad",
    "power-profiles-",
    "stalld",
    "thermald",
    "tlp",
    "tuned",
    "tuned-ppd",
];

const TUNED_PROFILE: &str = "/etc/tuned/active_profile";
const KUBELET_STATE: &str = "/var/lib/kubelet/cpu_manager_state";
/// The files with irqbalance's settings: Debian's and Fedora's.
const IRQBALANCE: [&str; 2] = ["/etc/default/irqbalance", "/etc/sysconfig/irqbalance"];

/// The managers among these tasks, in the order of their names.
pub fn running(root: &Root, tasks: &[Task]) -> Vec<Manager> {
    let find = |name: &'static str| {
        let named = |task: &&Task| task.pid == task.tid && task.name == name && !task.is_kernel;
        let pid = tasks.iter().find(named)?.pid;
        let (set_to, set_in) = setting(root, name).unzip();
        Some(Manager {
            name: full_name(name),
            pid,
            set_to,
            set_in,
        })
    };
    KNOWN.into_iter().filter_map(find).collect()
}

fn full_name(name: &'static str) -> &'static str {
    match name {
        "power-profiles-" => "power-profiles-daemon",
        name => name,
    }
}

fn setting(root: &Root, name: &str) -> Option<(String, &'static str)> {
    match name {
        "tuned" => Some((root.hint(TUNED_PROFILE)?, TUNED_PROFILE)),
        "kubelet" => {
            let state: serde_json::Value = serde_json::from_str(&root.hint(KUBELET_STATE)?).ok()?;
            let policy = state.get("policyName")?.as_str()?.to_owned();
            Some((policy, KUBELET_STATE))
        }
        "irqbalance" => IRQBALANCE
            .into_iter()
            .find_map(|file| Some((banned(&root.hint(file)?)?, file))),
        _ => None,
    }
}

/// The CPUs that irqbalance's settings keep free of interrupts.
fn banned(text: &str) -> Option<String> {
    let value = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("IRQBALANCE_BANNED_CPULIST="))
        .next_back()?
        .trim_matches(['"', '\'', ' ']);
    CpuList::from_kernel(value)
        .ok()
        .map(|cpus| cpus.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::super::tasks::Policy;
    use super::*;
    use proptest::prelude::*;

    fn task(tid: i32, name: &str) -> Task {
        Task {
            pid: tid,
            tid,
            name: name.to_owned(),
            is_kernel: false,
            is_bound: false,
            policy: Policy::Normal,
            priority: 0,
            nice: 0,
            cpu: 0,
        }
    }

    #[test]
    fn managers_are_found_with_their_settings() {
        let (_folder, root) = canned(&[
            ("etc/tuned/active_profile", "realtime\n"),
            (
                "var/lib/kubelet/cpu_manager_state",
                r#"{"policyName": "static"}"#,
            ),
            (
                "etc/default/irqbalance",
                "#X\nIRQBALANCE_BANNED_CPULIST=\"2-3\"\n",
            ),
        ]);
        let tasks = [
            task(7, "tuned"),
            task(8, "bash"),
            task(9, "irqbalance"),
            task(10, "kubelet"),
            task(11, "power-profiles-"),
        ];
        let found: Vec<(&str, Option<String>)> = running(&root, &tasks)
            .into_iter()
            .map(|manager| (manager.name, manager.set_to))
            .collect();
        let set = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [
                ("irqbalance", set("2-3")),
                ("kubelet", set("static")),
                ("power-profiles-daemon", None),
                ("tuned", set("realtime")),
            ]
        );
    }

    #[test]
    fn damaged_settings_are_none() {
        let (_folder, root) = canned(&[("var/lib/kubelet/cpu_manager_state", "{")]);
        assert_eq!(running(&root, &[task(1, "kubelet")])[0].set_to, None);
        assert_eq!(banned("IRQBALANCE_BANNED_CPULIST=x"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(IRQBALANCE_BANNED_CPULIST=|\"|[0-9,-]|\n|.){0,20}") {
            banned(&text);
        }
    }
}
