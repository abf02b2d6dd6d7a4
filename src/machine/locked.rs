// SPDX-License-Identifier: GPL-2.0-only
//! How much memory of this process is locked.

use super::{Root, Unreadable};

/// The file.
pub const FILE: &str = "/proc/self/status";

/// Locked memory, KiB (`VmLck`); none where the kernel does not show it.
///
/// # Errors
/// When the file exists and cannot be read.
pub fn locked_kib(root: &Root) -> Result<Option<u64>, Unreadable> {
    let Some(status) = root.read(FILE)? else {
        return Ok(None);
    };
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    Ok(line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn the_line_is_found() {
        let text = "VmSize:\t   12 kB\nVmLck:\t  4096 kB\n";
        let (_folder, root) = canned(&[(FILE, text)]);
        assert_eq!(locked_kib(&root).unwrap(), Some(4096));
        let (_folder, root) = canned(&[]);
        assert_eq!(locked_kib(&root).unwrap(), None);
    }
}
