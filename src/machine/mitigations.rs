// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel does against the CPU's own security holes.
//!
//! Source: `Documentation/admin-guide/hw-vuln/index.rst`.

use super::{Root, Unreadable};
use std::collections::BTreeMap;

/// One file a hole.
pub const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Each hole of this CPU, and what is done about it. Those it does not have are left out.
///
/// # Errors
/// When a file is there and cannot be read.
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
    fn only_what_the_cpu_has_is_told() {
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
