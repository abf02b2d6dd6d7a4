// SPDX-License-Identifier: GPL-2.0-only
//! On which CPUs unbound workqueues run: work of the kernel that is bound to no CPU.
//!
//! Source: `Documentation/core-api/workqueue.rst`.

use super::{CpuList, Root, Unreadable};
use serde::Serialize;
use std::collections::BTreeMap;

/// The folder of the masks.
pub const FOLDER: &str = "/sys/devices/virtual/workqueue";

/// The masks of unbound workqueues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Workqueues {
    /// CPUs for all unbound workqueues together.
    pub cpus: CpuList,
    /// CPUs of those that sysfs shows one by one, such as `writeback`; a subset of `cpus`.
    pub own: BTreeMap<String, CpuList>,
}

/// The file with the CPUs of all unbound workqueues, or of one of them.
pub fn file(workqueue: Option<&str>) -> String {
    match workqueue {
        Some(name) => format!("{FOLDER}/{name}/cpumask"),
        None => format!("{FOLDER}/cpumask"),
    }
}

/// Reads the masks; none where the kernel does not show them.
///
/// # Errors
/// When a file exists and cannot be read or understood.
pub fn read(root: &Root) -> Result<Option<Workqueues>, Unreadable> {
    let Some(cpus) = root.mask(file(None))? else {
        return Ok(None);
    };
    let mut own = BTreeMap::new();
    for name in root.names(FOLDER)? {
        if let Some(cpus) = root.mask(file(Some(&name)))? {
            own.insert(name, cpus);
        }
    }
    Ok(Some(Workqueues { cpus, own }))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn the_masks_are_read() {
        let folder = "sys/devices/virtual/workqueue";
        let (all, one) = (
            format!("{folder}/cpumask"),
            format!("{folder}/writeback/cpumask"),
        );
        let power = format!("{folder}/power/control");
        let (_folder, root) = canned(&[(&all, "f\n"), (&one, "1\n"), (&power, "auto\n")]);
        let read_all = read(&root).unwrap().unwrap();
        assert_eq!(read_all.cpus.to_string(), "0-3");
        assert_eq!(read_all.own.len(), 1);
        assert_eq!(read_all.own["writeback"].to_string(), "0");
        let (_folder, root) = canned(&[(&all, "0-3\n")]);
        assert!(read(&root).is_err());
        let (_folder, root) = canned(&[]);
        assert_eq!(read(&root).unwrap(), None);
    }
}
