// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's functions by address, as `/proc/kallsyms` of a guest lists them.
//!
//! A guest of the lab's deterministic engine puts the kernel where it was linked to, without KASLR,
//! so the functions of every guest with this kernel are at the same addresses.

/// Where the kernel puts modules and compiled BPF programs, which the list of another guest does
/// not hold.
const MODULES: u64 = 0xffff_ffff_c000_0000;
const KERNEL: u64 = 0xffff_ffff_8000_0000;
/// What a compiled BPF program is called.
pub const BPF: &str = "a BPF program";

/// Functions, by address.
#[derive(Clone, Debug, Default)]
pub struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// Reads the text of `/proc/kallsyms`; lines that name no function are left out.
    pub fn parse(text: &str) -> Self {
        let mut all: Vec<(u64, String)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                let address = u64::from_str_radix(words.next()?, 16).ok()?;
                let kind = words.next()?;
                let name = words.next()?;
                let is_code = kind.eq_ignore_ascii_case("t") || kind.eq_ignore_ascii_case("w");
                let own = words.next().is_none();
                (is_code && own && address >= KERNEL).then(|| (address, name.to_owned()))
            })
            .collect();
        // Of several names of one address the first in the list is kept.
        all.sort_by_key(|(address, _)| *address);
        all.dedup_by_key(|(address, _)| *address);
        Self(all)
    }

    /// Whether there are none: the list hid its addresses, or is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The function in which `address` lies.
    pub fn name(&self, address: u64) -> Option<&str> {
        if address >= MODULES {
            return Some(BPF);
        }
        let after = self.0.partition_point(|(begin, _)| *begin <= address);
        let (_, name) = self.0.get(after.checked_sub(1)?)?;
        Some(name)
    }

    /// Where the function `name` begins.
    pub fn address(&self, name: &str) -> Option<u64> {
        let found = self.0.iter().find(|(_, one)| one == name);
        found.map(|(address, _)| *address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_names_and_names_addresses() {
        let symbols = Symbols::parse(
            "ffffffff81000000 T first\nffffffff81000100 t second\nffffffff81000100 t alias\n\
             ffffffff82000000 D data\nffffffffc0001000 t inside [module]\n0 A absolute\nnonsense\n",
        );
        assert_eq!(symbols.name(0xffff_ffff_8100_00ff), Some("first"));
        assert_eq!(symbols.name(0xffff_ffff_8100_0104), Some("second"));
        assert_eq!(symbols.name(0xffff_ffff_c000_1000), Some(BPF));
        assert_eq!(symbols.name(0x1000), None);
        assert_eq!(symbols.address("second"), Some(0xffff_ffff_8100_0100));
        assert!(Symbols::parse("0000000000000000 T hidden\n").is_empty());
    }
}
