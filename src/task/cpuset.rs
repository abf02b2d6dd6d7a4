// SPDX-License-Identifier: GPL-2.0-only
//! The CPUs that the cgroup of a task leaves to it.

use artis_machine::cpusets::{self, Hold, SHIELD};
use artis_machine::{CpuList, Root, cgroup};
use std::fmt::Display;

/// The CPUs of the cpuset of a task (`self` or its number), and the file that says so.
pub fn of(root: &Root, task: &str) -> Option<(String, CpuList)> {
    let (mount, cgroup, name) = match cgroup::v1_path(root, task, "cpuset") {
        Some(cgroup) => ("/sys/fs/cgroup/cpuset", cgroup, "cpuset.effective_cpus"),
        None => (
            "/sys/fs/cgroup",
            cgroup::v2_path(root, task)?,
            "cpuset.cpus.effective",
        ),
    };
    // A group without the controller has the CPUs of the nearest parent that has it.
    let mut group = cgroup.trim_end_matches('/');
    loop {
        let file = format!("{mount}{group}/{name}");
        if let Some(text) = root.hint(&file) {
            return Some((file, CpuList::from_kernel(&text).ok()?));
        }
        group = group.rsplit_once('/')?.0;
    }
}

/// How a task gets CPUs that its cpuset excludes: who has them, and what to type.
pub fn way_in(root: &Root, cpus: &CpuList, who: impl Display) -> String {
    let groups = cpusets::groups(root).unwrap_or_default();
    let owner = groups
        .into_iter()
        .find(|group| group.hold == Hold::Partition && cpus.is_subset(&group.cpus))
        .map(|group| group.path);
    let shield = super::shield::has(root, cpus).then(|| SHIELD.to_owned());
    let cpus = cpus.in_words();
    match shield.or(owner) {
        Some(group) => format!(
            "put the task into the group that has {cpus}: `echo {who} | sudo tee {group}/cgroup.procs`"
        ),
        None => format!("add {cpus} to the cpuset of the group and of its parents"),
    }
}
