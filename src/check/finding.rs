// SPDX-License-Identifier: GPL-2.0-only
//! A finding and its parts.

use serde::Serialize;
use std::fmt;

/// How much a finding matters. The gravest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// No deadline is guaranteed.
    Breaks,
    /// Worst cases get longer.
    Worsens,
    /// Worth knowing; costs no latency by itself.
    Notice,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Breaks => "breaks",
            Self::Worsens => "worsens",
            Self::Notice => "notice",
        })
    }
}

/// One thing on a machine that speaks against real time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable name.
    pub id: &'static str,
    pub severity: Severity,
    /// What was seen, and where on the machine.
    pub seen: String,
    /// The file or call that shows it.
    pub evidence: String,
    /// Why it matters for latency.
    pub why: String,
    /// The literature or documentation that says so.
    pub source: &'static str,
    /// What to type or change to fix it; none where nothing helps.
    pub fix: Option<String>,
    /// The changes of `artis partition` that fix it; empty when none does.
    pub partition_fixes: &'static [&'static str],
}

/// The first few of many names.
pub(super) fn few<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 6;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    let rest = names.len().saturating_sub(SHOWN);
    let more = if rest > 0 {
        format!(" and {rest} more")
    } else {
        String::new()
    };
    shown.join(", ") + &more
}

/// A number with its noun.
pub(super) fn counted(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_go_with_their_numbers() {
        assert_eq!(counted(1, "irq", "irqs"), "1 irq");
        assert_eq!(counted(0, "irq", "irqs"), "0 irqs");
    }

    #[test]
    fn many_names_are_counted() {
        assert_eq!(few(&["a", "b"]), "a, b");
        assert_eq!(few(&["a"; 8]), "a, a, a, a, a, a and 2 more");
    }

    #[test]
    fn the_gravest_severity_is_the_first() {
        assert!(Severity::Breaks < Severity::Worsens && Severity::Worsens < Severity::Notice);
    }
}
