// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs each interrupt may go to, and whether that can be changed.
//!
//! Source: `Documentation/core-api/irq/irq-affinity.rst` and `kernel/irq/proc.c`.

use super::{CpuList, Root, Unreadable, cpumask};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

/// The mask that an interrupt gets when its driver asks for it.
pub const DEFAULT_FILE: &str = "/proc/irq/default_smp_affinity";

const FOLDER: &str = "/proc/irq";

/// One interrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Irq {
    pub number: u32,
    /// The drivers that handle it; none: nobody has asked for it.
    pub handlers: Vec<String>,
    /// Where it may go.
    pub allowed: CpuList,
    /// Where it goes; none where this kernel does not tell.
    pub effective: Option<CpuList>,
    /// Kernels from 6.9 on do not let root write the file of an interrupt that the kernel itself
    /// places ("managed"), or that cannot move. Before, only trying tells.
    pub settable: bool,
}

impl Irq {
    /// The CPUs that take it, as far as can be told.
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
/// When a file is there and cannot be read or understood.
pub fn read(root: &Root) -> Result<Vec<Irq>, Unreadable> {
    let mut irqs = Vec::new();
    for number in numbers(root)? {
        // An interrupt may be freed meanwhile, and a kernel for one CPU has no such files.
        let Some(allowed) = list(root, &file(number))? else {
            continue;
        };
        irqs.push(Irq {
            number,
            handlers: handlers(root, number),
            allowed,
            effective: list(root, &effective_file(number))?
                // A controller that does not say where it delivers shows no CPU.
                .filter(|cpus| !cpus.is_empty()),
            settable: std::fs::metadata(root.path(file(number)))
                .is_ok_and(|data| data.permissions().mode() & 0o200 != 0),
        });
    }
    Ok(irqs)
}

/// The mask of interrupts to come.
///
/// # Errors
/// When the file is there and cannot be read or understood.
pub fn default(root: &Root) -> Result<Option<CpuList>, Unreadable> {
    let Some(text) = root.read(DEFAULT_FILE)? else {
        return Ok(None);
    };
    let mask = cpumask::parse(&text).map(Some);
    mask.map_err(|error| root.malformed(DEFAULT_FILE, error.to_string()))
}

fn numbers(root: &Root) -> Result<Vec<u32>, Unreadable> {
    let path = root.path(FOLDER);
    let entries = match std::fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Unreadable { path, source }),
    };
    let mut numbers: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn list(root: &Root, file: &str) -> Result<Option<CpuList>, Unreadable> {
    let Some(text) = root.read(file)? else {
        return Ok(None);
    };
    CpuList::from_kernel(&text)
        .map(Some)
        .map_err(|error| root.malformed(file, error.to_string()))
}

/// Each handler has a folder of its name.
fn handlers(root: &Root, irq: u32) -> Vec<String> {
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
        ]);
        let managed = root.path("/proc/irq/9/smp_affinity_list");
        std::fs::set_permissions(managed, std::fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(default(&root).unwrap().unwrap().to_string(), "0-3");
        let irqs = read(&root).unwrap();
        assert_eq!(irqs.len(), 2);
        assert_eq!((irqs[0].number, irqs[0].settable), (9, false));
        assert_eq!(irqs[0].taken_by().to_string(), "1");
        assert_eq!((irqs[1].number, irqs[1].settable), (24, true));
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
