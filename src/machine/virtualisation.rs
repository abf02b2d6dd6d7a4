// SPDX-License-Identifier: GPL-2.0-only
//! Whether the machine is a virtual one, and whose.
//!
//! Source: `Documentation/ABI/stable/sysfs-hypervisor-xen`, the DMI strings that the vendors
//! set, and the `hypervisor` CPU flag (CPUID leaf 1, ECX bit 31), which every hypervisor of x86
//! shows on purpose.

use super::Root;

/// What DMI strings say, and what that is called.
const VENDORS: [(&str, &str); 10] = [
    ("KVM", "kvm"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Microsoft Corporation", "hyper-v"),
    ("Amazon EC2", "amazon"),
    ("Google", "google"),
];

/// Name of the hypervisor or emulator; none where nothing gives one away. `unknown`: there is
/// one, and it does not tell its name.
pub fn virtualisation(root: &Root) -> Option<String> {
    if let Some(name) = root.hint("/sys/hypervisor/type") {
        return Some(name);
    }
    if root.exists("/proc/device-tree/hypervisor/compatible") {
        return Some("kvm".to_owned());
    }
    let flagged = root
        .hint("/proc/cpuinfo")
        .is_some_and(|text| has_flag(&text, "hypervisor"));
    let dmi: Vec<String> = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"]
        .iter()
        .filter_map(|name| root.hint(format!("/sys/class/dmi/id/{name}")))
        .collect();
    let known = VENDORS.iter().find(|(words, name)| {
        // Real machines come from these two as well: there the CPU flag decides.
        let sells_hardware = matches!(*name, "hyper-v" | "google");
        (flagged || !sells_hardware) && dmi.iter().any(|text| text.contains(words))
    });
    match known {
        Some((_, name)) => Some((*name).to_owned()),
        None => flagged.then(|| "unknown".to_owned()),
    }
}

/// Is `flag` among the CPU's?
fn has_flag(cpuinfo: &str, flag: &str) -> bool {
    cpuinfo
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|word| word == flag))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    const PLAIN: (&str, &str) = ("proc/cpuinfo", "flags\t\t: fpu tsc\n");
    const FLAGGED: (&str, &str) = ("proc/cpuinfo", "flags\t\t: fpu hypervisor tsc\n");

    fn seen(files: &[(&str, &str)]) -> Option<String> {
        let (_folder, root) = canned(files);
        virtualisation(&root)
    }

    #[test]
    fn a_real_machine_is_none() {
        assert_eq!(seen(&[PLAIN]), None);
        let surface = ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
        assert_eq!(seen(&[PLAIN, surface]), None);
    }

    #[test]
    fn each_sign_is_understood() {
        for (files, name) in [
            (vec![("sys/hypervisor/type", "xen\n")], "xen"),
            (
                vec![FLAGGED, ("sys/class/dmi/id/sys_vendor", "QEMU\n")],
                "qemu",
            ),
            (
                vec![
                    FLAGGED,
                    ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n"),
                ],
                "hyper-v",
            ),
            (vec![FLAGGED], "unknown"),
            (
                vec![("proc/device-tree/hypervisor/compatible", "linux,kvm")],
                "kvm",
            ),
        ] {
            assert_eq!(seen(&files).as_deref(), Some(name));
        }
    }
}
