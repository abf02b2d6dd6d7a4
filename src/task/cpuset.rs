// SPDX-License-Identifier: GPL-2.0-only
//! The CPUs that the cgroup of a task leaves to it.

use artis_machine::{CpuList, Root, cgroup};

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
