// SPDX-License-Identifier: GPL-2.0-only
//! Whether the machine is a virtual machine, and of which hypervisor.
//!
//! Source: `Documentation/ABI/stable/sysfs-hypervisor-xen`; the DMI strings that the vendors set;
//! the `hypervisor` CPU flag (CPUID leaf 1, ECX bit 31), which every hypervisor of x86 sets on
//! purpose; and the signature in CPUID leaf 0x4000_0000, which lscpu and systemd-detect-virt read
//! too.

use super::Root;

/// Words in DMI strings, and the name of the hypervisor.
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

/// The twelve bytes with which hypervisors name themselves in CPUID.
const SIGNATURES: [(&[u8; 12], &str); 10] = [
    (b"KVMKVMKVM\0\0\0", "kvm"),
    (b"Linux KVM Hv", "kvm"),
    (b"TCGTCGTCGTCG", "qemu"),
    (b"VMwareVMware", "vmware"),
    (b"VBoxVBoxVBox", "virtualbox"),
    (b"XenVMMXenVMM", "xen"),
    (b"Microsoft Hv", "hyper-v"),
    (b"bhyve bhyve ", "bhyve"),
    (b"ACRNACRNACRN", "acrn"),
    (b"QNXQVMBSQG\0\0", "qnx"),
];

const XEN_FILE: &str = "/sys/hypervisor/type";
const ARM_FILE: &str = "/proc/device-tree/hypervisor/compatible";
pub const CPU_FILE: &str = "/proc/cpuinfo";
const DMI_FOLDER: &str = "/sys/class/dmi/id";

/// A hypervisor or an emulator, and where its name was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hypervisor {
    /// `unknown`: there is one, and it does not give its name.
    pub name: String,
    pub from: &'static str,
}

/// Name of the hypervisor or emulator, as [`hypervisor`] finds it.
pub fn virtualisation(root: &Root) -> Option<String> {
    hypervisor(root).map(|hypervisor| hypervisor.name)
}

/// The hypervisor or emulator; none where nothing points to one.
pub fn hypervisor(root: &Root) -> Option<Hypervisor> {
    if let Some(name) = root.hint(XEN_FILE) {
        let from = XEN_FILE;
        return Some(Hypervisor { name, from });
    }
    let found = |name: &str, from| {
        let name = name.to_owned();
        Some(Hypervisor { name, from })
    };
    if root.exists(ARM_FILE) {
        return found("kvm", ARM_FILE);
    }
    let flagged = root
        .hint(CPU_FILE)
        .is_some_and(|text| has_flag(&text, "hypervisor"));
    if let Some(name) = dmi(root, flagged) {
        return found(name, DMI_FOLDER);
    }
    if !flagged {
        return None;
    }
    // The instruction asks the CPU that it runs on, which is not that of a canned machine.
    let signature = (*root == Root::default()).then(signature).flatten();
    match signature.and_then(named) {
        Some(name) => found(name, "CPUID leaf 0x40000000"),
        None => found("unknown", CPU_FILE),
    }
}

fn dmi(root: &Root, flagged: bool) -> Option<&'static str> {
    let dmi: Vec<String> = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"]
        .iter()
        .filter_map(|name| root.hint(format!("{DMI_FOLDER}/{name}")))
        .collect();
    let known = VENDORS.iter().find(|(words, name)| {
        // These two vendors sell real machines as well: there the CPU flag decides.
        let sells_hardware = matches!(*name, "hyper-v" | "google");
        (flagged || !sells_hardware) && dmi.iter().any(|text| text.contains(words))
    });
    known.map(|(_, name)| *name)
}

fn named(signature: [u8; 12]) -> Option<&'static str> {
    let known = SIGNATURES.iter().find(|(bytes, _)| **bytes == signature);
    known.map(|(_, name)| *name)
}

/// What the hypervisor below this CPU calls itself. Call it only where the CPU has the flag:
/// without a hypervisor the leaf means nothing.
#[cfg(target_arch = "x86_64")]
fn signature() -> Option<[u8; 12]> {
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let mut bytes = [0; 12];
    for (part, register) in bytes
        .chunks_exact_mut(4)
        .zip([leaf.ebx, leaf.ecx, leaf.edx])
    {
        part.copy_from_slice(&register.to_le_bytes());
    }
    Some(bytes)
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Option<[u8; 12]> {
    None
}

/// Is `flag` among the CPU's?
pub(crate) fn has_flag(cpuinfo: &str, flag: &str) -> bool {
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
    fn a_signature_names_the_hypervisor() {
        assert_eq!(named(*b"KVMKVMKVM\0\0\0"), Some("kvm"));
        assert_eq!(named(*b"TCGTCGTCGTCG"), Some("qemu"));
        assert_eq!(named([0; 12]), None);
    }

    #[test]
    fn the_source_is_the_file_that_gave_the_name() {
        let dmi = ("sys/class/dmi/id/sys_vendor", "QEMU\n");
        for (files, from) in [
            (&[FLAGGED, dmi][..], DMI_FOLDER),
            (&[FLAGGED], CPU_FILE),
            (&[("sys/hypervisor/type", "xen\n")], XEN_FILE),
        ] {
            let (_folder, root) = canned(files);
            assert_eq!(hypervisor(&root).unwrap().from, from);
        }
    }

    #[test]
    fn each_source_is_understood() {
        // One row a line.
        #[rustfmt::skip]
        let rows = [
            (vec![("sys/hypervisor/type", "xen\n")], "xen"),
            (vec![FLAGGED, ("sys/class/dmi/id/sys_vendor", "QEMU\n")], "qemu"),
            (vec![FLAGGED, ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n")], "hyper-v"),
            (vec![FLAGGED], "unknown"),
            (vec![("proc/device-tree/hypervisor/compatible", "linux,kvm")], "kvm"),
        ];
        for (files, name) in rows {
            assert_eq!(seen(&files).as_deref(), Some(name));
        }
    }
}
