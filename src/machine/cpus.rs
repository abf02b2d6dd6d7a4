// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs the machine has, and which ones its boot arguments set apart.
//!
//! Source: the kernel's `Documentation/ABI/testing/sysfs-devices-system-cpu`.

use super::boot_arguments::{self, BootArguments};
use super::cpulist::{CpuList, ParseError};
use super::{Root, Unreadable};
use serde::Serialize;

/// The CPU sets of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cpus {
    /// CPUs that run tasks now.
    pub online: CpuList,
    /// CPUs that can come online: the kernel's per-CPU arrays have room for them.
    pub possible: CpuList,
    /// CPUs taken out of the scheduler's domains, as the kernel shows them: by `isolcpus=`, and on
    /// some kernels by an isolated cpuset partition.
    pub isolated: CpuList,
    /// CPUs that `isolcpus=` took out of them.
    pub isolated_at_boot: CpuList,
    /// CPUs whose tick stops while one task runs (`nohz_full=`).
    pub nohz_full: CpuList,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("{0} does not exist; is /sys mounted?")]
    Absent(String),
    #[error("could not understand {file}")]
    Malformed { file: String, source: ParseError },
}

impl Cpus {
    /// Reads the machine's CPU sets.
    ///
    /// # Errors
    /// When `online` or `possible` is absent, or any of the files cannot be read or parsed.
    pub fn read(root: &Root) -> Result<Self, Error> {
        let online = required(root, "online")?;
        let possible = required(root, "possible")?;
        // Kernels built without the feature do not have the file.
        let isolated = optional(root, "isolated")?;
        Ok(Self {
            online,
            isolated_at_boot: isolated_at_boot(root, &possible, isolated.as_ref()),
            possible,
            isolated: isolated.unwrap_or_default(),
            nohz_full: optional(root, "nohz_full")?.unwrap_or_default(),
        })
    }
}

/// What the boot argument asked for and the kernel took; a kernel that does not show its boot
/// arguments isolates nothing that could be blamed on them.
fn isolated_at_boot(root: &Root, possible: &CpuList, shown: Option<&CpuList>) -> CpuList {
    let cmdline = root.hint(boot_arguments::FILE).unwrap_or_default();
    let isolcpus = BootArguments::parse(&cmdline).isolcpus(possible);
    let asked = isolcpus.ok().flatten().map(|isolcpus| isolcpus.domain());
    match (asked, shown) {
        (Some(asked), Some(shown)) => &asked & shown,
        (Some(asked), None) => asked,
        (None, _) => CpuList::new(),
    }
}

fn file(name: &str) -> String {
    format!("/sys/devices/system/cpu/{name}")
}

fn optional(root: &Root, name: &str) -> Result<Option<CpuList>, Error> {
    let file = file(name);
    let Some(text) = root.read(&file)? else {
        return Ok(None);
    };
    match CpuList::from_kernel(&text) {
        Ok(list) => Ok(Some(list)),
        Err(source) => Err(Error::Malformed { file, source }),
    }
}

fn required(root: &Root, name: &str) -> Result<CpuList, Error> {
    optional(root, name)?.ok_or_else(|| Error::Absent(file(name)))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn reads_the_sets_and_takes_absent_features_as_empty() {
        let (_folder, root) = canned(&[
            ("sys/devices/system/cpu/online", "0-2,4\n"),
            ("sys/devices/system/cpu/possible", "0-7\n"),
            ("sys/devices/system/cpu/isolated", "\n"),
        ]);
        let cpus = Cpus::read(&root).unwrap();
        assert_eq!(cpus.online.to_string(), "0-2,4");
        assert_eq!(cpus.possible.to_string(), "0-7");
        assert!(cpus.isolated.is_empty());
        assert!(cpus.nohz_full.is_empty());
    }

    #[test]
    fn what_the_boot_argument_isolates_is_not_what_a_partition_does() {
        for (cmdline, shown, at_boot) in [
            ("isolcpus=domain,managed_irq,1", "1\n", "1"),
            ("isolcpus=managed_irq,1", "\n", ""),
            ("isolcpus=1-2", "1-3\n", "1-2"),
            ("quiet", "3\n", ""),
        ] {
            let (_folder, root) = canned(&[
                ("proc/cmdline", cmdline),
                ("sys/devices/system/cpu/online", "0-3\n"),
                ("sys/devices/system/cpu/possible", "0-3\n"),
                ("sys/devices/system/cpu/isolated", shown),
            ]);
            let cpus = Cpus::read(&root).unwrap();
            assert_eq!(cpus.isolated_at_boot.to_string(), at_boot, "{cmdline}");
        }
    }

    #[test]
    fn a_machine_without_sys_is_an_error_and_so_is_nonsense() {
        let (_folder, root) = canned(&[]);
        let error = Cpus::read(&root).unwrap_err().to_string();
        assert!(error.contains("online does not exist"), "{error}");
        let (_folder, root) = canned(&[("sys/devices/system/cpu/online", "many\n")]);
        assert!(matches!(
            Cpus::read(&root).unwrap_err(),
            Error::Malformed { .. }
        ));
    }

    #[test]
    fn this_machine_is_consistent() {
        let cpus = Cpus::read(&Root::default()).unwrap();
        assert!(!cpus.online.is_empty());
        assert!(cpus.online.is_subset(&cpus.possible));
    }
}
