// SPDX-License-Identifier: GPL-2.0-only
//! What the running kernel lists: its functions, and whether its variables, too.
//!
//! Source: `/proc/kallsyms`.

use artis_explain::functions::Functions;
use std::fs;

/// A variable of every kernel of this architecture.
const VARIABLE: &str = "__irq_regs";

/// What it lists.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// None where the kernel hides addresses.
    pub functions: Functions,
    /// Whether it lists variables (`CONFIG_KALLSYMS_ALL`): BPF programs may name what it lists.
    pub lists_variables: bool,
}

impl Symbols {
    /// Those of the running kernel.
    pub fn of_kernel() -> Self {
        Self::parse(&fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut names = text
            .lines()
            .map(|line| line.split_ascii_whitespace().nth(2));
        Self {
            functions: Functions::parse(text),
            lists_variables: names.any(|name| name == Some(VARIABLE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_listed_whether_its_address_is_shown_or_not() {
        let lists = |text| Symbols::parse(text).lists_variables;
        assert!(lists("10 T one\n0 D __irq_regs\n"));
        assert!(lists("30 d __irq_regs\n"));
        assert!(!lists("10 T set_irq_regs\n30 d data\n"));
    }
}
