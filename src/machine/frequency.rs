// SPDX-License-Identifier: GPL-2.0-only
//! The governor that chooses the frequency of a CPU.
//!
//! Source: `Documentation/admin-guide/pm/cpufreq.rst`.

use super::{CpuList, Root, Unreadable};
use std::collections::BTreeMap;

/// The file that names a CPU's governor.
pub fn governor_file(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")
}

/// The governor: `performance`, `powersave`, `schedutil`, …; none where the kernel does not
/// change frequencies.
///
/// # Errors
/// When the file exists and cannot be read.
pub fn governor(root: &Root, cpu: u32) -> Result<Option<String>, Unreadable> {
    root.read(governor_file(cpu))
}

/// The governors in use, and on which of these CPUs.
///
/// # Errors
/// As [`governor`].
pub fn governors(root: &Root, cpus: &CpuList) -> Result<BTreeMap<String, CpuList>, Unreadable> {
    let mut all: BTreeMap<String, CpuList> = BTreeMap::new();
    for cpu in cpus.iter() {
        if let Some(name) = governor(root, cpu)? {
            all.entry(name).or_default().insert(cpu);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn each_cpu_has_its_own_governor() {
        let (_folder, root) = canned(&[(
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "schedutil\n",
        )]);
        assert_eq!(governor(&root, 0).unwrap(), None);
        assert_eq!(governor(&root, 1).unwrap().as_deref(), Some("schedutil"));
        let all = governors(&root, &"0-1".parse().unwrap()).unwrap();
        assert_eq!(all["schedutil"].to_string(), "1");
    }
}
