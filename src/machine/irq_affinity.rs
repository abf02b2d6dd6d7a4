// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs each interrupt may go to, where it goes, and whether that can be changed.
//!
//! [`super::interrupts`] reads how often it occurs.
//!
//! Source: `Documentation/core-api/irq/irq-affinity.rst`, `kernel/irq/proc.c`, and
//! `kernel/irq/debugfs.c` for managed ones.

use super::deadline_servers::DEBUGFS;
use super::{CpuList, Root, Unreadable};
use std::os::unix::fs::PermissionsExt;

/// The mask that an interrupt gets when its driver requests it.
pub const DEFAULT_FILE: &str = "/proc/irq/default_smp_affinity";

/// The files of [`file`], in words.
pub const FILES: &str = "/proc/irq/*/smp_affinity_list";

const FOLDER: &str = "/proc/irq";

/// One interrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Irq {
    pub number: u32,
    /// The drivers that handle it; empty when no driver uses it.
    pub handlers: Vec<String>,
    /// CPUs that it may go to.
    pub allowed: CpuList,
    /// CPUs that its controller sends it to. Empty for an interrupt of every CPU, such as a
    /// timer's, or one that is switched off; none where this kernel does not show it.
    pub effective: Option<CpuList>,
    /// Whether the kernel places it itself (managed); none where debugfs does not show it.
    pub managed: Option<bool>,
    /// Whether its CPUs can be changed. Kernels from 6.9 on do not let root write the file of an
    /// interrupt that is managed, or that its controller cannot move. On older kernels without
    /// debugfs, only an attempt shows it.
    pub movable: bool,
}

impl Irq {
    /// The CPUs that handle it, as far as the kernel shows them.
    pub fn taken_by(&self) -> &CpuList {
        self.effective.as_ref().unwrap_or(&self.allowed)
    }
}

/// The file with the list of CPUs that an interrupt may go to.
pub fn file(irq: u32) -> String {
    format!("{FOLDER}/{irq}/smp_affinity_list")
}

/// The file with the CPUs that it really goes to.
pub fn effective_file(irq: u32) -> String {
    format!("{FOLDER}/{irq}/effective_affinity_list")
}

/// All interrupts that have an affinity, by number.
///
/// # Errors
/// When a file exists and cannot be read or understood.
pub fn read(root: &Root) -> Result<Vec<Irq>, Unreadable> {
    let names = root.names(FOLDER)?;
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    let mut irqs = Vec::new();
    for number in numbers {
        irqs.extend(one(root, number)?);
    }
    Ok(irqs)
}

/// The interrupt of this number; none when it has no affinity: it may be freed meanwhile, and a
/// kernel for one CPU has no such files.
///
/// # Errors
/// As [`read`].
pub fn one(root: &Root, number: u32) -> Result<Option<Irq>, Unreadable> {
    let file = file(number);
    let Some(allowed) = root.cpus(&file)? else {
        return Ok(None);
    };
    let managed = root
        .hint(format!("{DEBUGFS}/irq/irqs/{number}"))
        .map(|text| text.contains("IRQD_AFFINITY_MANAGED"));
    let writable =
        std::fs::metadata(root.path(file)).is_ok_and(|data| data.permissions().mode() & 0o200 != 0);
    Ok(Some(Irq {
        number,
        handlers: handlers(root, number),
        allowed,
        effective: root.cpus(effective_file(number))?,
        managed,
        movable: writable && managed != Some(true),
    }))
}

/// The mask that later interrupts get.
///
/// # Errors
/// When the file exists and cannot be read or understood.
pub fn default(root: &Root) -> Result<Option<CpuList>, Unreadable> {
    root.mask(DEFAULT_FILE)
}

/// The drivers that handle it. Where sysfs is hidden, each has a folder with its name.
fn handlers(root: &Root, irq: u32) -> Vec<String> {
    let actions = root.hint(format!("/sys/kernel/irq/{irq}/actions"));
    if let Some(actions) = actions.filter(|actions| !actions.is_empty()) {
        return actions.split(',').map(str::to_owned).collect();
    }
    let Ok(entries) = std::fs::read_dir(root.path(format!("{FOLDER}/{irq}"))) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn interrupts_are_read_by_number() {
        let (_folder, root) = canned(&[
            ("proc/irq/default_smp_affinity", "f\n"),
            ("proc/irq/24/smp_affinity_list", "0-3\n"),
            ("proc/irq/24/effective_affinity_list", "2\n"),
            ("proc/irq/24/virtio0-config/x", ""),
            ("proc/irq/9/smp_affinity_list", "1\n"),
            ("proc/irq/9/effective_affinity_list", "\n"),
            ("proc/irq/10/spurious", ""),
            ("proc/irq/30/smp_affinity_list", "2-3\n"),
            ("sys/kernel/irq/30/actions", "disk-req.0,disk-req.1\n"),
            (
                "sys/kernel/debug/irq/irqs/30",
                "dstate: IRQD_AFFINITY_MANAGED\n",
            ),
        ]);
        let managed = root.path("/proc/irq/9/smp_affinity_list");
        std::fs::set_permissions(managed, std::fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(default(&root).unwrap().unwrap().to_string(), "0-3");
        let irqs = read(&root).unwrap();
        assert_eq!(irqs.len(), 3);
        assert_eq!((irqs[0].number, irqs[0].movable), (9, false));
        assert!(irqs[0].taken_by().is_empty());
        assert_eq!((irqs[1].number, irqs[1].movable), (24, true));
        assert_eq!((irqs[1].managed, irqs[2].managed), (None, Some(true)));
        assert_eq!((irqs[2].number, irqs[2].movable), (30, false));
        assert_eq!(irqs[2].taken_by().to_string(), "2-3");
        assert_eq!(irqs[2].handlers, ["disk-req.0", "disk-req.1"]);
        assert_eq!(irqs[1].handlers, ["virtio0-config"]);
        assert_eq!(irqs[1].taken_by().to_string(), "2");
    }

    #[test]
    fn a_machine_without_them_has_none() {
        let (_folder, root) = canned(&[]);
        assert_eq!(read(&root).unwrap(), []);
        assert_eq!(default(&root).unwrap(), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-f,\\- x]{0,20}") {
            let (_folder, root) = canned(&[
                ("proc/irq/default_smp_affinity", &text),
                ("proc/irq/1/smp_affinity_list", &text),
            ]);
            let _ = (default(&root), read(&root));
        }
    }
}
