// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs in the kernel's mask format: `ff,ffffffff`, the highest CPUs first.
//!
//! Owns parsing only; [`CpuList`] is the set. Source: `bitmap_parse()` in `lib/bitmap-str.c`.

use super::CpuList;
use super::cpulist::CPUS_MAX;

/// Bits of one item between commas.
const ITEM_BITS: u32 = 32;

/// A text is no CPU mask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a CPU mask such as ff,ffffffff")]
pub struct ParseError(String);

/// Parses what the kernel prints. Nothing is the empty set.
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

    proptest! {
        #[test]
        fn every_set_comes_back(cpus in proptest::collection::btree_set(0..CPUS_MAX, 0..20)) {
            let set: CpuList = cpus.iter().copied().collect();
            let items: Vec<String> = set
                .words()
                .iter()
                .rev()
                .map(|word| format!("{:08x},{:08x}", word >> ITEM_BITS, word & 0xffff_ffff))
                .collect();
            prop_assert_eq!(parse(&items.join(",")).unwrap(), set);
        }

        #[test]
        fn any_text_is_a_mask_or_refused(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
