// SPDX-License-Identifier: GPL-2.0-only
//! The control groups of a task, and whether they allow real-time scheduling.
//!
//! Source: `Documentation/admin-guide/cgroup-v1/cgroups.rst`, `cgroup-v2.rst`, and
//! `Documentation/scheduler/sched-rt-group.rst`.

use super::boot_arguments::{self, BootArguments};
use super::build_config::BuildConfig;
use super::{CpuList, Root, Unreadable};
use serde::Serialize;

/// The file that lists the CPUs of isolated cpuset partitions (cgroup v2).
pub const ISOLATED_FILE: &str = "/sys/fs/cgroup/cpuset.cpus.isolated";

/// The budget of a group, in a kernel with real-time group scheduling on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "version", rename_all = "snake_case")]
pub enum RtGroup {
    /// Each group has a budget, in a file.
    V1 { file: String, budget_us: i64 },
    /// Only the root group has a budget, and no file shows it.
    V2 { cgroup: String },
}

impl RtGroup {
    /// Whether tasks of the group can become real-time tasks.
    pub fn has_budget(&self) -> bool {
        match self {
            Self::V1 { budget_us, .. } => *budget_us != 0,
            Self::V2 { cgroup } => cgroup == "/",
        }
    }
}

/// The group of a task (`self` or its number) in the version 1 hierarchy of a controller.
pub fn v1_path(root: &Root, task: &str, controller: &str) -> Option<String> {
    path(root, task, |controllers| {
        controllers.split(',').any(|name| name == controller)
    })
}

/// The group of a task in the version 2 hierarchy.
pub fn v2_path(root: &Root, task: &str) -> Option<String> {
    path(root, task, str::is_empty)
}

/// The lines of `/proc/TASK/cgroup` are ID:CONTROLLERS:PATH.
fn path(root: &Root, task: &str, hierarchy: impl Fn(&str) -> bool) -> Option<String> {
    let groups = root.hint(format!("/proc/{task}/cgroup"))?;
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        hierarchy(controllers).then(|| path.to_owned())
    })
}

/// Real-time group scheduling as it applies to a task; none where the kernel does not have it on,
/// or no file shows it.
pub fn rt_group(root: &Root, task: &str) -> Option<RtGroup> {
    if let Some(cgroup) = v1_path(root, task, "cpu") {
        let file = format!("/sys/fs/cgroup/cpu{cgroup}/cpu.rt_runtime_us");
        let budget_us = root.hint(&file)?.parse().ok()?;
        return Some(RtGroup::V1 { file, budget_us });
    }
    let cgroup = v2_path(root, task)?;
    let release = root.hint("/proc/sys/kernel/osrelease")?;
    let config = BuildConfig::read(root, &release)?;
    let cmdline = root.hint(boot_arguments::FILE).unwrap_or_default();
    let on = match BootArguments::parse(&cmdline).value("rt_group_sched") {
        Some("0") => false,
        Some("1") => true,
        _ => !config.is_set("CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED"),
    };
    (on && config.is_set("CONFIG_RT_GROUP_SCHED")).then_some(RtGroup::V2 { cgroup })
}

/// CPUs that cpuset partitions took out of the scheduler's domains; none where the kernel does
/// not show them.
///
/// # Errors
/// When the file exists and cannot be read or understood.
pub fn isolated(root: &Root) -> Result<Option<CpuList>, Unreadable> {
    root.cpus(ISOLATED_FILE)
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn version_1_has_a_budget_in_a_file() {
        let (_folder, root) = canned(&[
            ("proc/self/cgroup", "3:cpuset:/\n1:cpu,cpuacct:/a\n0::/\n"),
            ("sys/fs/cgroup/cpu/a/cpu.rt_runtime_us", "0\n"),
        ]);
        assert_eq!(v1_path(&root, "self", "cpuset").as_deref(), Some("/"));
        let group = rt_group(&root, "self").unwrap();
        assert!(!group.has_budget(), "{group:?}");
    }

    #[test]
    fn version_2_has_a_budget_in_the_root_group_when_it_is_on() {
        let on = |cmdline: &str, config: &str| {
            let (_folder, root) = canned(&[
                ("proc/self/cgroup", "0::/user.slice\n"),
                ("proc/sys/kernel/osrelease", "1\n"),
                ("proc/cmdline", cmdline),
                ("boot/config-1", config),
            ]);
            rt_group(&root, "self")
        };
        let built = "CONFIG_RT_GROUP_SCHED=y\n";
        assert!(!on("", built).unwrap().has_budget());
        assert_eq!(on("rt_group_sched=0", built), None);
        assert_eq!(on("rt_group_sched=1", ""), None);
        let off = "CONFIG_RT_GROUP_SCHED=y\nCONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n";
        assert_eq!(on("", off), None);
        assert!(on("rt_group_sched=1", off).is_some());
    }

    #[test]
    fn isolated_partitions_are_read() {
        let (_folder, root) = canned(&[(ISOLATED_FILE, "2-3\n")]);
        assert_eq!(isolated(&root).unwrap().unwrap().to_string(), "2-3");
        let (_folder, root) = canned(&[(ISOLATED_FILE, "two\n")]);
        assert!(isolated(&root).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([0-9:,a-z/]{0,12}\n?){0,4}") {
            let (_folder, root) = canned(&[("proc/self/cgroup", &text)]);
            v1_path(&root, "self", "cpu");
            v2_path(&root, "self");
        }
    }
}
