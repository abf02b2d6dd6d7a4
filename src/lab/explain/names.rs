// SPDX-License-Identifier: GPL-2.0-only
//! What is at an address of a guest's kernel.
//!
//! A guest of the lab's deterministic engine puts the kernel where it was linked to, without KASLR,
//! so the functions of every guest with this kernel are at the same addresses; but not those of
//! modules and BPF programs.

use artis_explain::functions::Functions;
use std::str::FromStr;
use syscalls::x86_64::Sysno;

/// Where the kernel puts modules and compiled BPF programs, which the list of another guest has
/// elsewhere or not at all.
const MODULES: u64 = 0xffff_ffff_c000_0000;

/// The function in which `address` lies.
pub(super) fn name(functions: &Functions, address: u64) -> Option<&str> {
    match address {
        MODULES.. => Some("a BPF program"),
        _ => functions.name(address),
    }
}

/// The number of the system call `name`.
pub(super) fn call(name: &str) -> Option<u32> {
    let name = match name {
        "newstat" | "newfstat" | "newlstat" | "newuname" => &name[3..],
        other => other,
    };
    Sysno::from_str(name).ok().map(|call| call.id() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_guest_has_elsewhere_is_a_program() {
        let list = "ffffffff81000000 T first\nffffffffc0001000 t inside [module]\n";
        let functions = Functions::parse(list);
        assert_eq!(name(&functions, 0xffff_ffff_8100_00ff), Some("first"));
        let inside = name(&functions, 0xffff_ffff_c000_1000);
        assert_eq!(inside, Some("a BPF program"));
        assert_eq!(name(&functions, 0x1000), None);
    }
}
