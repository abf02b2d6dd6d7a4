// SPDX-License-Identifier: GPL-2.0-only
//! How CPUs are arranged: hardware threads in cores, cores in packages, shared caches and memory
//! nodes, and cores of different kinds.
//!
//! Source: `Documentation/admin-guide/cputopology.rst`,
//! `Documentation/ABI/testing/sysfs-devices-system-cpu` (cache, cpu_capacity),
//! `Documentation/ABI/stable/sysfs-devices-node`.

use super::{CpuList, Root, Unreadable};
use serde::Serialize;
use std::collections::BTreeMap;

/// The folder of memory nodes.
pub const NODES: &str = "/sys/devices/system/node";

/// The kinds of hybrid x86 CPUs: the folder of their counters, and Intel's name.
const KINDS: [(&str, &str); 2] = [("cpu_core", "performance"), ("cpu_atom", "efficient")];

/// Groups of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// Hardware threads of each core.
    pub cores: Vec<CpuList>,
    pub packages: Vec<CpuList>,
    /// CPUs that share each second-level cache.
    pub l2: Vec<CpuList>,
    /// CPUs that share each third-level cache.
    pub l3: Vec<CpuList>,
    /// CPUs of each memory node.
    pub nodes: BTreeMap<u32, CpuList>,
    /// CPUs of each kind, where there are several.
    pub kinds: BTreeMap<String, CpuList>,
}

/// The file that lists the hardware threads of a CPU's core.
pub fn siblings_file(cpu: u32) -> String {
    cpu_file(cpu, "topology/thread_siblings_list")
}

/// The other CPUs that share this one's core.
///
/// # Errors
/// When the file exists and cannot be read or understood.
pub fn siblings(root: &Root, cpu: u32) -> Result<CpuList, Unreadable> {
    let all = root.cpus(siblings_file(cpu))?.unwrap_or_default();
    Ok(&all - &CpuList::from_iter([cpu]))
}

/// Reads how these CPUs are arranged. What the machine does not show is left out.
///
/// # Errors
/// When a file exists and cannot be read or understood.
pub fn read(root: &Root, cpus: &CpuList) -> Result<Topology, Unreadable> {
    let by_file = |file: &dyn Fn(u32) -> String| groups(cpus, |cpu| root.cpus(file(cpu)));
    // The file's name since 5.9, and below the older one.
    let mut packages = by_file(&|cpu| cpu_file(cpu, "topology/package_cpus_list"))?;
    if packages.is_empty() {
        packages = by_file(&|cpu| cpu_file(cpu, "topology/core_siblings_list"))?;
    }
    Ok(Topology {
        cores: by_file(&siblings_file)?,
        packages,
        l2: groups(cpus, |cpu| cache(root, cpu, 2))?,
        l3: groups(cpus, |cpu| cache(root, cpu, 3))?,
        nodes: nodes(root)?,
        kinds: kinds(root, cpus)?,
    })
}

fn cpu_file(cpu: u32, name: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/{name}")
}

/// The groups that these CPUs are in. Only one CPU of each group is read, for speed.
fn groups(
    cpus: &CpuList,
    group_of: impl Fn(u32) -> Result<Option<CpuList>, Unreadable>,
) -> Result<Vec<CpuList>, Unreadable> {
    let mut found = Vec::new();
    let mut rest = cpus.clone();
    while let Some(cpu) = rest.first() {
        // A kernel that leaves a CPU out of its own group must not make this loop endless.
        rest = &rest - &CpuList::from_iter([cpu]);
        if let Some(group) = group_of(cpu)?.filter(|group| !group.is_empty()) {
            rest = &rest - &group;
            found.push(group);
        }
    }
    Ok(found)
}

/// The CPUs that share a CPU's cache of this level; none where it has none.
fn cache(root: &Root, cpu: u32, level: u32) -> Result<Option<CpuList>, Unreadable> {
    for index in 0.. {
        let folder = cpu_file(cpu, &format!("cache/index{index}"));
        match root.number::<u32>(format!("{folder}/level"))? {
            Some(own) if own == level => return root.cpus(format!("{folder}/shared_cpu_list")),
            Some(_) => {}
            None => break,
        }
    }
    Ok(None)
}

fn nodes(root: &Root) -> Result<BTreeMap<u32, CpuList>, Unreadable> {
    let mut nodes = BTreeMap::new();
    for name in root.names(NODES)? {
        let number = name.strip_prefix("node").and_then(|text| text.parse().ok());
        if let Some(number) = number {
            let cpus = root.cpus(format!("{NODES}/{name}/cpulist"))?;
            nodes.insert(number, cpus.unwrap_or_default());
        }
    }
    Ok(nodes)
}

fn kinds(root: &Root, cpus: &CpuList) -> Result<BTreeMap<String, CpuList>, Unreadable> {
    let mut kinds: BTreeMap<String, CpuList> = BTreeMap::new();
    for (folder, name) in KINDS {
        if let Some(cpus) = root.cpus(format!("/sys/devices/{folder}/cpus"))? {
            kinds.insert(name.to_owned(), cpus);
        }
    }
    if kinds.is_empty() {
        for cpu in cpus.iter() {
            if let Some(capacity) = root.number::<u32>(cpu_file(cpu, "cpu_capacity"))? {
                kinds
                    .entry(format!("capacity {capacity}"))
                    .or_default()
                    .insert(cpu);
            }
        }
    }
    Ok(if kinds.len() > 1 {
        kinds
    } else {
        BTreeMap::new()
    })
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn a_cpu_is_not_its_own_sibling() {
        let file = "sys/devices/system/cpu/cpu2/topology/thread_siblings_list";
        let (_folder, root) = canned(&[(file, "2,6\n")]);
        assert_eq!(siblings(&root, 2).unwrap().to_string(), "6");
        assert!(siblings(&root, 3).unwrap().is_empty());
        let (_folder, root) = canned(&[(file, "two\n")]);
        assert!(siblings(&root, 2).is_err());
    }

    fn words(groups: &[CpuList]) -> Vec<String> {
        groups.iter().map(CpuList::to_string).collect()
    }

    #[test]
    fn groups_are_read_once_each() {
        let cpu = "sys/devices/system/cpu";
        let (_folder, root) = canned(&[
            (
                &format!("{cpu}/cpu0/topology/thread_siblings_list"),
                "0,2\n",
            ),
            (
                &format!("{cpu}/cpu1/topology/thread_siblings_list"),
                "1,3\n",
            ),
            (
                &format!("{cpu}/cpu2/topology/thread_siblings_list"),
                "never read",
            ),
            (&format!("{cpu}/cpu0/topology/core_siblings_list"), "0-3\n"),
            (&format!("{cpu}/cpu0/cache/index0/level"), "1\n"),
            (&format!("{cpu}/cpu0/cache/index1/level"), "3\n"),
            (&format!("{cpu}/cpu0/cache/index1/shared_cpu_list"), "0-3\n"),
            (&format!("{cpu}/cpu0/cpu_capacity"), "1024\n"),
            (&format!("{cpu}/cpu3/cpu_capacity"), "446\n"),
            ("sys/devices/system/node/node0/cpulist", "0-3\n"),
            ("sys/devices/system/node/online", "0\n"),
        ]);
        let topology = read(&root, &"0-3".parse().unwrap()).unwrap();
        assert_eq!(words(&topology.cores), ["0,2", "1,3"]);
        assert_eq!(words(&topology.packages), ["0-3"]);
        assert_eq!(words(&topology.l3), ["0-3"]);
        assert!(topology.l2.is_empty());
        assert_eq!(topology.nodes[&0].to_string(), "0-3");
        assert_eq!(topology.kinds["capacity 446"].to_string(), "3");
    }

    #[test]
    fn kinds_of_hybrid_cpus_have_names_and_a_single_kind_is_left_out() {
        let (_folder, root) = canned(&[
            ("sys/devices/cpu_core/cpus", "0-3\n"),
            ("sys/devices/cpu_atom/cpus", "4-7\n"),
        ]);
        let all = "0-7".parse().unwrap();
        assert_eq!(kinds(&root, &all).unwrap()["efficient"].to_string(), "4-7");
        let (_folder, root) = canned(&[("sys/devices/system/cpu/cpu0/cpu_capacity", "1024\n")]);
        assert!(kinds(&root, &all).unwrap().is_empty());
    }
}
