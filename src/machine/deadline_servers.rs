// SPDX-License-Identifier: GPL-2.0-only
//! The deadline servers: each gives some 5 % of a CPU to tasks of a lower class, so that real-time
//! tasks cannot starve them.
//!
//! Kernels from 6.12 on have them instead of RT throttling, and show them in debugfs.
//! Source: `Documentation/scheduler/sched-deadline.rst` and `kernel/sched/debug.c`.

use super::debugfs::{self, Access};
use super::{CpuList, Root, Unreadable};
use std::collections::BTreeMap;

/// The one for tasks of a BPF scheduler, from 7.0 on.
pub const EXT_SERVER: &str = "ext_server";

/// One server for normal tasks, one for tasks of a BPF scheduler.
pub const SERVERS: [&str; 2] = ["fair_server", EXT_SERVER];

/// Where debugfs is mounted.
pub const DEBUGFS: &str = debugfs::FOLDER;

/// The file of a server's runtime in each period, nanoseconds; 0 is off.
pub fn runtime_file(server: &str, cpu: u32) -> String {
    format!("{DEBUGFS}/sched/{server}/cpu{cpu}/runtime")
}

/// The runtime of a server on a CPU, nanoseconds; none where this kernel does not have it, or
/// does not show it.
///
/// # Errors
/// When the file exists and cannot be read or understood.
pub fn runtime_ns(root: &Root, server: &str, cpu: u32) -> Result<Option<u64>, Unreadable> {
    root.number(runtime_file(server, cpu))
}

/// The servers that are on, and on which of these CPUs; none where they cannot be seen.
///
/// # Errors
/// When a file can be opened and not be read or understood.
pub fn on(
    root: &Root,
    cpus: &CpuList,
) -> Result<Option<BTreeMap<&'static str, CpuList>>, Unreadable> {
    if Access::of(root) != Access::Open {
        return Ok(None);
    }
    let mut on: BTreeMap<&str, CpuList> = BTreeMap::new();
    for cpu in cpus.iter() {
        for server in SERVERS {
            if runtime_ns(root, server, cpu)?.is_some_and(|ns| ns > 0) {
                on.entry(server).or_default().insert(cpu);
            }
        }
    }
    Ok(Some(on))
}

/// The kernel has them; false where it has none, or does not show it.
pub fn exist(root: &Root) -> bool {
    root.exists(format!("{DEBUGFS}/sched/{}", SERVERS[0]))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn runtimes_are_read() {
        let (_folder, root) = canned(&[(
            "sys/kernel/debug/sched/fair_server/cpu1/runtime",
            "50000000\n",
        )]);
        assert!(exist(&root));
        assert_eq!(
            runtime_ns(&root, "fair_server", 1).unwrap(),
            Some(50_000_000)
        );
        assert_eq!(runtime_ns(&root, "ext_server", 1).unwrap(), None);
        let on = on(&root, &"0-3".parse().unwrap()).unwrap().unwrap();
        let cpus: Vec<String> = on.values().map(CpuList::to_string).collect();
        assert_eq!((on.len(), cpus), (1, vec!["1".to_owned()]));
    }
}
