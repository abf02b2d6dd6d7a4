// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs are hardware threads of one core.
//!
//! Source: `Documentation/admin-guide/cputopology.rst`.

use super::{CpuList, Root, Unreadable};

/// The file that lists the hardware threads of a CPU's core.
pub fn siblings_file(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
}

/// The other CPUs that share this one's core.
///
/// # Errors
/// When the file is there and cannot be read or understood.
pub fn siblings(root: &Root, cpu: u32) -> Result<CpuList, Unreadable> {
    let Some(text) = root.read(siblings_file(cpu))? else {
        return Ok(CpuList::new());
    };
    let all = CpuList::from_kernel(&text)
        .map_err(|error| root.malformed(siblings_file(cpu), error.to_string()))?;
    Ok(&all - &CpuList::from_iter([cpu]))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn a_cpu_is_not_its_own_sibling() {
        let file = "sys/devices/system/cpu/cpu2/topology/thread_siblings_list";
        let (_folder, root) = canned(&[(file, "2,6\n")]);
        assert_eq!(siblings(&root, 2).unwrap().to_string(), "6");
        assert!(siblings(&root, 3).unwrap().is_empty());
        let (_folder, root) = canned(&[(file, "two\n")]);
        assert!(siblings(&root, 2).is_err());
    }
}
