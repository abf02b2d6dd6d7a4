// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel does against the CPU's own security holes.
//!
//! Source: `Documentation/admin-guide/hw-vuln/index.rst`.

use super::{Root, Unreadable};
use std::collections::BTreeMap;

/// It has one file for each security hole.
pub const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Each security hole of this CPU, and the kernel's mitigation. Holes that the CPU does not have
/// are left out.
///
/// # Errors
/// When a file exists and cannot be read.
pub fn read(root: &Root) -> Result<BTreeMap<String, String>, Unreadable> {
    let mut holes = BTreeMap::new();
    for name in root.names(FOLDER)? {
        let state = root.read(format!("{FOLDER}/{name}"))?.unwrap_or_default();
        if !state.is_empty() && state != "Not affected" {
            holes.insert(name, state);
        }
    }
    Ok(holes)
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn only_holes_of_this_cpu_are_listed() {
        let file = |name| format!("sys/devices/system/cpu/vulnerabilities/{name}");
        let (_folder, root) = canned(&[
            (&file("meltdown"), "Mitigation: PTI\n"),
            (&file("l1tf"), "Not affected\n"),
            (&file("mds"), "Vulnerable\n"),
        ]);
        let holes = read(&root).unwrap();
        assert_eq!(holes.keys().collect::<Vec<_>>(), ["mds", "meltdown"]);
    }
}
