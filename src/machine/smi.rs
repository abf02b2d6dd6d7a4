// SPDX-License-Identifier: GPL-2.0-only
//! System management interrupts: the firmware stops all CPUs, and the kernel does not see it.
//!
//! Intel's CPUs count them in a register. Source: Intel SDM volume 4, `MSR_SMI_COUNT` (34H);
//! msr(4).

use super::{Root, Unreadable};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

/// `MSR_SMI_COUNT`.
const REGISTER: u64 = 0x34;

/// The registers of a CPU.
pub fn file(cpu: u32) -> String {
    format!("/dev/cpu/{cpu}/msr")
}

/// How many occurred since boot; none where the CPU does not count them, or the kernel does not
/// show its registers (module `msr`).
///
/// # Errors
/// When the registers exist and may not be read.
pub fn count(root: &Root, cpu: u32) -> Result<Option<u64>, Unreadable> {
    let counts = root
        .hint("/proc/cpuinfo")
        .is_some_and(|text| text.contains("GenuineIntel"));
    if !counts {
        return Ok(None);
    }
    let path = root.path(file(cpu));
    let mut bytes = [0; 8];
    let read = std::fs::File::open(&path)
        .and_then(|registers| registers.read_exact_at(&mut bytes, REGISTER));
    match read {
        // The upper half is reserved.
        Ok(()) => Ok(Some(u64::from_le_bytes(bytes) & u64::from(u32::MAX))),
        // EIO: virtual CPUs do not have the register.
        Err(error)
            if error.kind() == ErrorKind::NotFound
                || [libc::EIO, libc::ENXIO]
                    .map(Some)
                    .contains(&error.raw_os_error()) =>
        {
            Ok(None)
        }
        Err(source) => Err(Unreadable { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn the_register_is_read_on_intels_cpus() {
        let registers = ("dev/cpu/1/msr", "");
        let intel = ("proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
        let (_folder, root) = canned(&[registers, intel]);
        let mut bytes = vec![0xff; 0x34];
        bytes.extend([7, 1, 0, 0, 9, 9, 9, 9, 5]);
        std::fs::write(root.path("dev/cpu/1/msr"), bytes).unwrap();
        assert_eq!(count(&root, 1).unwrap(), Some(0x107));
        assert_eq!(count(&root, 0).unwrap(), None);
        let (_folder, root) = canned(&[registers]);
        assert_eq!(count(&root, 1).unwrap(), None);
        let (_folder, root) = canned(&[registers, intel]);
        assert!(count(&root, 1).is_err());
    }
}
