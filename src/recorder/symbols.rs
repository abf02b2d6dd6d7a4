// SPDX-License-Identifier: GPL-2.0-only
//! Names of the kernel's functions by their addresses, and whether it lists its variables, too.
//!
//! Source: `/proc/kallsyms`, which shows zeros to those who may not see addresses.

use std::collections::BTreeMap;
use std::fs;

/// A variable of every kernel of this architecture.
const VARIABLE: &str = "__irq_regs";

/// The kernel's functions.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    by_address: BTreeMap<u64, Box<str>>,
    lists_variables: bool,
}

impl Symbols {
    /// Those of the running kernel; none where it hides them.
    pub fn of_kernel() -> Self {
        Self::parse(&fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// Lines "address type name [module]".
    fn parse(text: &str) -> Self {
        let mut by_address = BTreeMap::new();
        let mut lists_variables = false;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let address = words
                .next()
                .and_then(|word| u64::from_str_radix(word, 16).ok());
            let kind = words.next().unwrap_or_default();
            let (Some(address), Some(name)) = (address, words.next()) else {
                continue;
            };
            lists_variables |= name == VARIABLE;
            if address != 0 && matches!(kind, "t" | "T" | "w" | "W") {
                by_address.entry(address).or_insert_with(|| name.into());
            }
        }
        Self {
            by_address,
            lists_variables,
        }
    }

    /// Whether it lists variables (`CONFIG_KALLSYMS_ALL`): BPF programs may name what it lists.
    pub fn lists_variables(&self) -> bool {
        self.lists_variables
    }

    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// Where the function begins that has this name; none when it is not listed.
    pub fn address(&self, name: &str) -> Option<u64> {
        let found = self.by_address.iter().find(|(_, one)| ***one == *name);
        found.map(|(address, _)| *address)
    }

    /// The function that an address is in, or the address.
    pub fn name(&self, address: u64) -> String {
        let found = self.by_address.range(..=address).next_back();
        match found {
            Some((_, name)) => name.to_string(),
            None => format!("{address:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let symbols = Symbols::parse("10 T one\n20 t two\n20 t alias\n30 d data\nx y\n");
        assert_eq!(symbols.name(0x1f), "one");
        assert_eq!(symbols.name(0x35), "two");
        assert_eq!(symbols.name(0x5), "0x5");
        assert_eq!(symbols.address("two"), Some(0x20));
        assert_eq!(symbols.address("three"), None);
        assert!(Symbols::parse("0 T hidden\n").is_empty());
    }

    #[test]
    fn a_variable_is_listed_whether_its_address_is_shown_or_not() {
        assert!(Symbols::parse("10 T one\n0 D __irq_regs\n").lists_variables());
        assert!(Symbols::parse("30 d __irq_regs\n").lists_variables());
        assert!(!Symbols::parse("10 T set_irq_regs\n30 d data\n").lists_variables());
    }
}
