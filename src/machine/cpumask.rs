// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs in the kernel's mask format: hexadecimal, commas between groups of 32 bits,
//! CPU 0 in the last digit, as in `ff,fffffffe`.
//!
//! Source: `bitmap_string()` in `lib/vsprintf.c` and `bitmap_parse()` in `lib/bitmap-str.c`.

use super::CpuList;
use super::cpulist::CPUS_MAX;

/// Hexadecimal digits between two commas.
const GROUP_DIGITS: usize = 8;
const WORD_DIGITS: usize = 16;

/// The set that a mask describes; none when the text is no mask.
pub fn parse(text: &str) -> Option<CpuList> {
    let mut groups = text.trim().trim_start_matches("0x").split(',');
    let mut digits = groups.next()?.to_owned();
    for group in groups {
        if group.is_empty() || group.len() > GROUP_DIGITS {
            return None;
        }
        digits.push_str(&format!("{group:0>GROUP_DIGITS$}"));
    }
    if digits.is_empty() {
        return None;
    }
    let mut words = vec![0_u64; digits.len().div_ceil(WORD_DIGITS)];
    for (place, digit) in digits.chars().rev().enumerate() {
        let bits = u64::from(digit.to_digit(16)?);
        words[place / WORD_DIGITS] |= bits << (place % WORD_DIGITS * 4);
    }
    let last = words.iter().rposition(|word| *word != 0).unwrap_or(0);
    (last < (CPUS_MAX / u64::BITS) as usize).then(|| CpuList::from_words(&words))
}

/// The set as a mask with as many digits as `like` has, or more where they are needed: a kernel
/// prints each mask as wide as its CPUs are many.
pub fn format(cpus: &CpuList, like: &str) -> String {
    let width = like.chars().filter(char::is_ascii_hexdigit).count();
    let all: String = cpus
        .words()
        .iter()
        .rev()
        .map(|word| format!("{word:0WORD_DIGITS$x}"))
        .collect();
    let digits = format!("{:0>1$}", all.trim_start_matches('0'), width.max(1));
    let first = digits.len() % GROUP_DIGITS;
    let mut groups: Vec<&str> = Vec::new();
    if first > 0 {
        groups.push(&digits[..first]);
    }
    let mut at = first;
    while at < digits.len() {
        groups.push(&digits[at..at + GROUP_DIGITS]);
        at += GROUP_DIGITS;
    }
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> String {
        parse(text).unwrap().to_string()
    }

    #[test]
    fn masks_of_all_widths_are_read() {
        assert_eq!(list("f"), "0-3");
        assert_eq!(list("0"), "");
        assert_eq!(list("ff,fffffffe\n"), "1-39");
        assert_eq!(list("80000000,00000000"), "63");
        assert_eq!(list("1,00000000,00000000"), "64");
    }

    #[test]
    fn what_is_no_mask_is_none() {
        for text in ["", ",", "g", "1,,0", "1,000000000", "-1", "0-3,5"] {
            assert_eq!(parse(text), None, "{text}");
        }
        // CPU 8192 is beyond what any kernel knows.
        assert_eq!(parse(&format!("1{}", ",00000000".repeat(256))), None);
    }

    #[test]
    fn the_width_is_the_kernels_own() {
        let some: CpuList = "0-2".parse().unwrap();
        assert_eq!(format(&some, "f"), "7");
        assert_eq!(format(&some, "ff,ffffffff"), "00,00000007");
        assert_eq!(format(&CpuList::new(), ""), "0");
        assert_eq!(format(&"32".parse().unwrap(), "f"), "1,00000000");
    }

    proptest! {
        #[test]
        fn any_text_is_a_mask_or_none(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn every_set_survives(cpus in proptest::collection::btree_set(0..CPUS_MAX, 0..40), like in "[0-9a-f,]{0,40}") {
            let cpus = CpuList::from_iter(cpus);
            prop_assert_eq!(parse(&format(&cpus, &like)), Some(cpus));
        }
    }
}
