// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs in the kernel's list format: `0-3,5,8-15:2/4`.
//!
//! Owns parsing, printing and set arithmetic. Does not know which CPUs a machine has.
//! Source: the kernel's `Documentation/admin-guide/kernel-parameters.rst`, "cpu lists".

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};
use std::str::FromStr;

/// CPU numbers end below this: the largest `CONFIG_NR_CPUS` of any kernel (x86 `MAXSMP`).
pub const CPUS_MAX: u32 = 8192;

const WORD_BITS: u32 = u64::BITS;

/// A set of CPU numbers.
///
/// [`FromStr`] is for what a person typed and refuses an empty list; [`CpuList::from_kernel`]
/// and serde accept one, because the kernel prints an empty list as nothing.
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CpuList {
    /// Bit `n % 64` of word `n / 64` is CPU `n`. The last word is never 0, so that equal
    /// sets have equal words.
    words: Vec<u64>,
}

/// Why a text is no CPU list. Each one is a sentence that quotes the offending piece.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("the CPU list is empty; write CPU numbers such as 1 or 1-3,5")]
    Empty,
    #[error("the CPU list {0:?} has an empty item; write CPU numbers such as 1 or 1-3,5")]
    EmptyItem(String),
    #[error("{0:?} is not a CPU number; write CPU numbers such as 1 or 1-3,5")]
    NotANumber(String),
    #[error("the CPU range {0:?} is reversed; write the smaller number first")]
    Reversed(String),
    #[error("CPU {0} is beyond the largest number a kernel knows ({last})", last = CPUS_MAX - 1)]
    TooLarge(String),
    #[error(
        "{0:?} is not of the form FIRST-LAST:USED/GROUP with USED between 1 and GROUP, \
         such as 0-15:2/4 for the first two of each four"
    )]
    BadGroup(String),
}

impl CpuList {
    /// The set without any CPU.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses what the kernel prints, where nothing (or `(null)`, the kernel's way to print an
    /// unallocated mask) is the empty set.
    ///
    /// # Errors
    /// [`ParseError`] when the text is no CPU list.
    pub fn from_kernel(text: &str) -> Result<Self, ParseError> {
        match text.trim() {
            "" | "(null)" => Ok(Self::new()),
            list => list.parse(),
        }
    }

    /// Adds one CPU.
    ///
    /// # Panics
    /// When `cpu` is not below [`CPUS_MAX`].
    pub fn insert(&mut self, cpu: u32) {
        assert!(cpu < CPUS_MAX, "no kernel has a CPU {cpu}");
        let word = (cpu / WORD_BITS) as usize;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % WORD_BITS);
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.words
            .get((cpu / WORD_BITS) as usize)
            .is_some_and(|word| word >> (cpu % WORD_BITS) & 1 == 1)
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// The CPU numbers, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.words).flat_map(|(index, &word)| {
            (0..WORD_BITS)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| index * WORD_BITS + bit)
        })
    }

    /// The smallest CPU number.
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The largest CPU number.
    pub fn last(&self) -> Option<u32> {
        let word = self.words.last()?;
        let index = self.words.len() as u32 - 1;
        Some(index * WORD_BITS + word.ilog2())
    }

    pub fn is_subset(&self, of: &Self) -> bool {
        (self - of).is_empty()
    }

    /// As the subject of a sentence: `CPU 1`, `CPUs 1-3`.
    pub fn in_words(&self) -> String {
        let name = if self.len() == 1 { "CPU" } else { "CPUs" };
        format!("{name} {self}")
    }

    /// With its verb: `CPU 1 is`, `CPUs 1-3 are`.
    pub fn in_words_are(&self) -> String {
        let verb = if self.len() == 1 { "is" } else { "are" };
        format!("{} {verb}", self.in_words())
    }

    /// The set as the kernel's bit mask: bit `n % 64` of word `n / 64` is CPU `n`, no more
    /// words than needed.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The set that [`CpuList::words`] describes. Bits from [`CPUS_MAX`] on are dropped.
    pub fn from_words(words: &[u64]) -> Self {
        let kept = words.len().min((CPUS_MAX / WORD_BITS) as usize);
        Self::normal(words[..kept].to_vec())
    }

    fn normal(mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Self { words }
    }

    /// Combines two sets word by word; the shorter one is filled up with zeros.
    fn combine(&self, other: &Self, operation: impl Fn(u64, u64) -> u64) -> Self {
        let word = |set: &Self, index| set.words.get(index).copied().unwrap_or(0);
        let longest = self.words.len().max(other.words.len());
        Self::normal(
            (0..longest)
                .map(|index| operation(word(self, index), word(other, index)))
                .collect(),
        )
    }

    /// Adds one item: `N`, `N-M` or `N-M:USED/GROUP`.
    fn insert_item(&mut self, item: &str) -> Result<(), ParseError> {
        let (range, group) = match item.split_once(':') {
            Some((range, group)) => (range, Some(group)),
            None => (item, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (number(first, item)?, number(last, item)?),
            // The kernel wants a range before a group too.
            None if group.is_some() => return Err(ParseError::BadGroup(item.to_owned())),
            None => {
                let cpu = number(range, item)?;
                (cpu, cpu)
            }
        };
        if last < first {
            return Err(ParseError::Reversed(item.to_owned()));
        }
        let (used, length) = match group {
            None => (1, 1),
            Some(group) => group_of(group).ok_or_else(|| ParseError::BadGroup(item.to_owned()))?,
        };
        for cpu in (first..=last).filter(|cpu| (cpu - first) % length < used) {
            self.insert(cpu);
        }
        Ok(())
    }
}

/// A CPU number; `item` is what an error quotes when the number itself is missing.
fn number(text: &str, item: &str) -> Result<u32, ParseError> {
    // u32::from_str would accept a sign.
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let quoted = if text.is_empty() { item } else { text };
        return Err(ParseError::NotANumber(quoted.to_owned()));
    }
    match text.parse() {
        Ok(cpu) if cpu < CPUS_MAX => Ok(cpu),
        _ => Err(ParseError::TooLarge(text.to_owned())),
    }
}

/// `USED/GROUP`, with 1 <= USED <= GROUP.
fn group_of(text: &str) -> Option<(u32, u32)> {
    let (used, length) = text.split_once('/')?;
    let (used, length) = (number(used, text).ok()?, number(length, text).ok()?);
    (1..=length).contains(&used).then_some((used, length))
}

impl FromStr for CpuList {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ParseError::Empty);
        }
        let mut list = Self::new();
        for item in text.split(',') {
            match item.trim() {
                "" => return Err(ParseError::EmptyItem(text.to_owned())),
                item => list.insert_item(item)?,
            }
        }
        Ok(list)
    }
}

/// The shortest list of numbers and ranges, as the kernel prints it.
impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            if first == last {
                write!(f, "{separator}{first}")?;
            } else {
                write!(f, "{separator}{first}-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuList({self})")
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> Self {
        list.to_string()
    }
}

impl TryFrom<String> for CpuList {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        Self::from_kernel(&text)
    }
}

impl FromIterator<u32> for CpuList {
    /// # Panics
    /// When a number is not below [`CPUS_MAX`].
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut list = Self::new();
        for cpu in cpus {
            list.insert(cpu);
        }
        list
    }
}

impl BitOr for &CpuList {
    type Output = CpuList;

    fn bitor(self, other: Self) -> CpuList {
        self.combine(other, |a, b| a | b)
    }
}

impl BitAnd for &CpuList {
    type Output = CpuList;

    fn bitand(self, other: Self) -> CpuList {
        self.combine(other, |a, b| a & b)
    }
}

impl Sub for &CpuList {
    type Output = CpuList;

    fn sub(self, other: Self) -> CpuList {
        self.combine(other, |a, b| a & !b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn cpus(text: &str) -> Vec<u32> {
        text.parse::<CpuList>().unwrap().iter().collect()
    }

    #[test]
    fn parses_what_the_kernel_documents() {
        assert_eq!(cpus("1"), [1]);
        assert_eq!(cpus("0-3,5"), [0, 1, 2, 3, 5]);
        assert_eq!(cpus(" 5, 1-2 \n"), [1, 2, 5]);
        assert_eq!(cpus("8-15:2/4"), [8, 9, 12, 13]);
        assert_eq!(cpus("0-6:1/3,6"), [0, 3, 6]);
        assert_eq!(cpus("63-64,8191"), [63, 64, 8191]);
    }

    #[test]
    fn refuses_in_sentences_that_quote_the_offending_piece() {
        for (text, words) in [
            ("", "empty"),
            ("  ", "empty"),
            ("1,,2", "\"1,,2\" has an empty item"),
            ("1,", "\"1,\" has an empty item"),
            ("x", "\"x\" is not a CPU number"),
            ("1-x", "\"x\" is not a CPU number"),
            ("-1", "\"-1\" is not a CPU number"),
            ("+1", "\"+1\" is not a CPU number"),
            ("1-", "\"1-\" is not a CPU number"),
            ("3-1", "\"3-1\" is reversed"),
            ("8192", "CPU 8192 is beyond"),
            (
                "0-99999999999999999999",
                "CPU 99999999999999999999 is beyond",
            ),
            ("4:1/2", "FIRST-LAST:USED/GROUP"),
            ("0-7:3/2", "FIRST-LAST:USED/GROUP"),
            ("0-7:0/2", "FIRST-LAST:USED/GROUP"),
            ("0-7:1/0", "FIRST-LAST:USED/GROUP"),
            ("0-7:1", "FIRST-LAST:USED/GROUP"),
        ] {
            let error = text.parse::<CpuList>().unwrap_err().to_string();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }

    #[test]
    fn lists_are_subjects_of_sentences() {
        let list = |text: &str| text.parse::<CpuList>().unwrap();
        assert_eq!(list("7").in_words(), "CPU 7");
        assert_eq!(list("1-3").in_words_are(), "CPUs 1-3 are");
    }

    #[test]
    fn the_kernels_empty_lists_are_empty_sets() {
        assert!(CpuList::from_kernel("\n").unwrap().is_empty());
        assert!(CpuList::from_kernel("(null)\n").unwrap().is_empty());
        assert!(CpuList::from_kernel("none").is_err());
    }

    #[test]
    fn json_is_the_list_as_a_string() {
        let list: CpuList = "0-3,5".parse().unwrap();
        assert_eq!(serde_json::to_string(&list).unwrap(), "\"0-3,5\"");
        let empty: CpuList = serde_json::from_str("\"\"").unwrap();
        assert!(empty.is_empty());
        assert!(serde_json::from_str::<CpuList>("\"x\"").is_err());
    }

    fn sets() -> impl Strategy<Value = BTreeSet<u32>> {
        // Dense numbers make ranges, sparse ones reach the last word.
        proptest::collection::btree_set(prop_oneof![3 => 0..200u32, 1 => 0..CPUS_MAX], 0..80)
    }

    fn list(set: &BTreeSet<u32>) -> CpuList {
        set.iter().copied().collect()
    }

    proptest! {
        #[test]
        fn printing_and_parsing_give_the_same_set(set in sets()) {
            let list = list(&set);
            let printed = list.to_string();
            prop_assert_eq!(CpuList::from_kernel(&printed).unwrap(), list);
        }

        #[test]
        fn printed_ranges_never_touch(set in sets()) {
            let printed = list(&set).to_string();
            let runs = set.iter().filter(|cpu| cpu.checked_sub(1).is_none_or(|c| !set.contains(&c)));
            let items = printed.split(',').filter(|item| !item.is_empty());
            prop_assert_eq!(items.count(), runs.count());
        }

        #[test]
        fn the_set_behaves_as_a_set(a in sets(), b in sets(), cpu in 0..CPUS_MAX) {
            let (left, right) = (list(&a), list(&b));
            prop_assert_eq!(&left | &right, list(&(&a | &b)));
            prop_assert_eq!(&left & &right, list(&(&a & &b)));
            prop_assert_eq!(&left - &right, list(&(&a - &b)));
            prop_assert_eq!(left.is_subset(&right), a.is_subset(&b));
            prop_assert_eq!(left.contains(cpu), a.contains(&cpu));
            prop_assert_eq!(left.len(), a.len());
            prop_assert_eq!(left.is_empty(), a.is_empty());
            prop_assert_eq!(left.first(), a.first().copied());
            prop_assert_eq!(left.last(), a.last().copied());
            prop_assert_eq!(CpuList::from_words(left.words()), left);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9x,:/ -]{0,20}") {
            let _ = text.parse::<CpuList>();
        }
    }
}
