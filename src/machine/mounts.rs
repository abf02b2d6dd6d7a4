// SPDX-License-Identifier: GPL-2.0-only
//! Whether file systems of the kernel can be written to.
//!
//! Source: proc_pid_mounts(5).

use super::{Root, Unreadable};

/// The file.
pub const FILE: &str = "/proc/self/mounts";

/// Whether the file system that is mounted at exactly this place is writable; none when none is
/// mounted there.
///
/// # Errors
/// When the file exists and cannot be read.
pub fn writable(root: &Root, place: &str) -> Result<Option<bool>, Unreadable> {
    Ok(root.read(FILE)?.and_then(|text| parse(&text, place)))
}

/// Lines of `DEVICE PLACE TYPE OPTIONS 0 0`. A later mount hides an earlier one.
fn parse(text: &str, place: &str) -> Option<bool> {
    let mut options = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let here = words.next()? == place;
        words.nth(1).filter(|_| here)
    });
    let last = options.next_back()?;
    Some(last.split(',').all(|option| option != "ro"))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_mount_counts() {
        let text = "sysfs /sys sysfs rw,nosuid 0 0\nsysfs /sys sysfs ro,nosuid 0 0\n\
                    proc /proc proc rw,relatime 0 0\nx /system y ro 0 0\n";
        let (_folder, root) = canned(&[("proc/self/mounts", text)]);
        assert_eq!(writable(&root, "/sys").unwrap(), Some(false));
        assert_eq!(writable(&root, "/proc").unwrap(), Some(true));
        assert_eq!(writable(&root, "/dev").unwrap(), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(/sys| |ro|,|\n|.){0,20}") {
            parse(&text, "/sys");
        }
    }
}
