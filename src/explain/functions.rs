// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's functions by address.
//!
//! Source: `/proc/kallsyms`, lines "address type name \[module\]". It shows zeros to those who may
//! not see addresses.

use std::collections::BTreeMap;
use std::ops::Range;

/// Functions, of modules too, by the address at which each begins.
#[derive(Clone, Debug, Default)]
pub struct Functions(BTreeMap<u64, Box<str>>);

impl Functions {
    /// Reads the text of `/proc/kallsyms`. Lines that name no function, or hide its address, are
    /// left out; of several names of one address the first is kept.
    pub fn parse(text: &str) -> Self {
        let mut by_address = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let address = words
                .next()
                .and_then(|word| u64::from_str_radix(word, 16).ok());
            let kind = words.next().unwrap_or_default();
            let (Some(address), Some(name)) = (address, words.next()) else {
                continue;
            };
            if address != 0 && matches!(kind, "t" | "T" | "w" | "W") {
                by_address.entry(address).or_insert_with(|| name.into());
            }
        }
        Self(by_address)
    }

    /// Whether there are none: the list hid its addresses, or is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The function in which `address` lies; none before the first.
    pub fn name(&self, address: u64) -> Option<&str> {
        let (_, name) = self.0.range(..=address).next_back()?;
        Some(name)
    }

    /// From where to where the function `name` reaches: to the begin of the next one.
    pub fn range(&self, name: &str) -> Option<Range<u64>> {
        let begin = self.address(name)?;
        let (end, _) = self.0.range(begin + 1..).next()?;
        Some(begin..*end)
    }

    /// Where the function `name` begins.
    pub fn address(&self, name: &str) -> Option<u64> {
        let found = self.0.iter().find(|(_, one)| ***one == *name);
        found.map(|(address, _)| *address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let functions = Functions::parse(
            "10 T one\n20 t two\n20 t alias\n30 d data\n40 w weak [module]\n50 A absolute\nx y\n",
        );
        assert_eq!(functions.name(0x1f), Some("one"));
        assert_eq!(functions.name(0x35), Some("two"));
        assert_eq!(functions.name(0x55), Some("weak"));
        assert_eq!(functions.name(0x5), None);
        assert_eq!(functions.address("two"), Some(0x20));
        assert_eq!(functions.address("data"), None);
        assert_eq!(functions.range("two"), Some(0x20..0x40));
        assert_eq!(functions.range("weak"), None);
        assert!(Functions::parse("0 T hidden\n").is_empty());
    }
}
