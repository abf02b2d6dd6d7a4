// SPDX-License-Identifier: GPL-2.0-only
//! The weights and the limits that CPU cgroups have.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst` ("CPU") and
//! `Documentation/scheduler/sched-bwc.rst`.

use super::Root;
use super::cgroup::v1_path;

/// The weight of a cgroup that nobody gave one: of version 2, and of version 1.
const DEFAULT_WEIGHTS: [&str; 2] = ["100", "1024"];

/// Cgroups, by their paths in the hierarchy that has the `cpu` controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuShares {
    /// Those with a limit on CPU time.
    pub limited: Vec<String>,
    /// Those with a weight that is not the default.
    pub weighted: Vec<String>,
}

impl CpuShares {
    /// Looks at all cgroups. A cgroup that goes meanwhile, or cannot be read, is left out.
    pub fn read(root: &Root) -> Self {
        let hierarchy = match v1_path(root, "self", "cpu") {
            Some(_) => "/sys/fs/cgroup/cpu",
            None => "/sys/fs/cgroup",
        };
        let mut shares = Self::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let names = root
                .names(format!("{hierarchy}{folder}"))
                .unwrap_or_default();
            for name in names.iter().rev() {
                let path = format!("{folder}/{name}");
                // Only a cgroup is a folder with this file.
                if root.exists(format!("{hierarchy}{path}/cgroup.procs")) {
                    folders.push(path);
                }
            }
            if !folder.is_empty() {
                shares.look(root, &format!("{hierarchy}{folder}"), folder);
            }
        }
        shares
    }

    fn look(&mut self, root: &Root, folder: &str, path: String) {
        let file = |name: &str| root.hint(format!("{folder}/{name}"));
        let limited = file("cpu.max").is_some_and(|limit| !limit.starts_with("max"))
            || file("cpu.cfs_quota_us").is_some_and(|quota| !quota.starts_with('-'));
        let weight = file("cpu.weight").or_else(|| file("cpu.shares"));
        if weight.is_some_and(|weight| !DEFAULT_WEIGHTS.contains(&weight.as_str())) {
            self.weighted.push(path.clone());
        }
        if limited {
            self.limited.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn limits_and_weights_are_found_at_every_depth() {
        let (_folder, root) = canned(&[
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cgroup.procs", "1\n"),
            ("sys/fs/cgroup/a/cgroup.procs", ""),
            ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/cpu.weight", "300\n"),
            ("sys/fs/cgroup/a/b/cgroup.procs", ""),
            ("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.weight", "100\n"),
            ("sys/fs/cgroup/c/cgroup.procs", ""),
            ("sys/fs/cgroup/c/cpu.max", "1000 100000\n"),
        ]);
        let shares = CpuShares::read(&root);
        assert_eq!(shares.limited, ["/a/b", "/c"]);
        assert_eq!(shares.weighted, ["/a"]);
    }

    #[test]
    fn version_1_has_files_of_its_own() {
        let (_folder, root) = canned(&[
            ("proc/self/cgroup", "2:cpu,cpuacct:/\n0::/\n"),
            ("sys/fs/cgroup/cpu/a/cgroup.procs", ""),
            ("sys/fs/cgroup/cpu/a/cpu.shares", "1024\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/b/cgroup.procs", ""),
            ("sys/fs/cgroup/cpu/b/cpu.shares", "2048\n"),
            ("sys/fs/cgroup/cpu/b/cpu.cfs_quota_us", "20000\n"),
        ]);
        let shares = CpuShares::read(&root);
        assert_eq!(
            (shares.limited.as_slice(), shares.weighted.as_slice()),
            (["/b".to_owned()].as_slice(), ["/b".to_owned()].as_slice())
        );
    }

    #[test]
    fn a_machine_without_cgroups_has_none() {
        let (_folder, root) = canned(&[]);
        assert_eq!(CpuShares::read(&root), CpuShares::default());
    }
}
