// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs in the kernel's mask format: `ff,ffffffff`, the highest CPUs first.
//!
//! Owns parsing and printing; [`CpuList`] is the set. Source: `bitmap_parse()` in
//! `lib/bitmap-str.c` and `bitmap_string()` in `lib/vsprintf.c`.

use super::CpuList;
use super::cpulist::CPUS_MAX;

/// Bits of one item between commas.
const ITEM_BITS: u32 = 32;
const ITEM_DIGITS: usize = 8;
const WORD_DIGITS: usize = 16;

/// A text is no CPU mask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a CPU mask such as ff,ffffffff")]
pub struct ParseError(String);

/// Parses what the kernel prints. An empty text is the empty set.
///
/// # Errors
/// When an item is no hexadecimal number of at most 32 bits, or a CPU is beyond
/// [`CPUS_MAX`].
pub fn parse(text: &str) -> Result<CpuList, ParseError> {
    let text = text.trim();
    let error = || ParseError(text.to_owned());
    let mut words = vec![0_u64; (CPUS_MAX / u64::BITS) as usize];
    if text.is_empty() {
        return Ok(CpuList::new());
    }
    for (index, item) in text.rsplit(',').enumerate() {
        // u32::from_str_radix would accept a sign.
        if !item.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(error());
        }
        let bits = u32::from_str_radix(item, 16).map_err(|_| error())?;
        match words.get_mut(index / 2) {
            Some(word) => *word |= u64::from(bits) << (index as u32 % 2 * ITEM_BITS),
            // The kernel pads masks to the size it was built for.
            None if bits == 0 => {}
            None => return Err(error()),
        }
    }
    Ok(CpuList::from_words(&words))
}

/// The set as a mask with as many digits as `like` has, or more where they are needed. A kernel
/// prints all its masks with the width of its number of CPUs.
pub fn format(cpus: &CpuList, like: &str) -> String {
    let width = like.chars().filter(char::is_ascii_hexdigit).count();
    let all: String = cpus
        .words()
        .iter()
        .rev()
        .map(|word| format!("{word:0WORD_DIGITS$x}"))
        .collect();
    let digits = format!("{:0>1$}", all.trim_start_matches('0'), width.max(1));
    let first = digits.len() % ITEM_DIGITS;
    let mut groups: Vec<&str> = Vec::new();
    if first > 0 {
        groups.push(&digits[..first]);
    }
    let mut at = first;
    while at < digits.len() {
        groups.push(&digits[at..at + ITEM_DIGITS]);
        at += ITEM_DIGITS;
    }
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn masks_are_read() {
        let cpus = |text| parse(text).unwrap().to_string();
        assert_eq!(cpus("3\n"), "0-1");
        assert_eq!(cpus("00000000,00000005"), "0,2");
        assert_eq!(cpus("f0,00000000,80000001"), "0,31,68-71");
        assert_eq!(cpus(""), "");
        for text in ["x", "1,,1", "1ffffffff", "+1", "0x3"] {
            assert!(parse(text).is_err(), "{text}");
        }
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
        fn every_set_comes_back(
            cpus in proptest::collection::btree_set(0..CPUS_MAX, 0..20),
            like in "[0-9a-f,]{0,40}",
        ) {
            let set: CpuList = cpus.iter().copied().collect();
            prop_assert_eq!(parse(&format(&set, &like)).unwrap(), set);
        }

        #[test]
        fn any_text_is_a_mask_or_refused(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
