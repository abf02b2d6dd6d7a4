// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs that are looked at often: a bit for each, and one more for each word that has any.

/// A set of CPUs below a number that is fixed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    words: Vec<u64>,
    /// A bit for each word that is not 0: a search for the first takes two steps up to 4,096 CPUs.
    any: Vec<u64>,
}

impl Mask {
    /// No CPU, of so many.
    pub fn new(cpus: u32) -> Self {
        let words = (cpus as usize).div_ceil(64);
        Self {
            words: vec![0; words],
            any: vec![0; words.div_ceil(64)],
        }
    }

    /// All of them.
    pub fn full(cpus: u32) -> Self {
        let mut mask = Self::new(cpus);
        (0..cpus).for_each(|cpu| mask.insert(cpu));
        mask
    }

    pub fn insert(&mut self, cpu: u32) {
        let word = cpu as usize / 64;
        self.words[word] |= 1 << (cpu % 64);
        self.any[word / 64] |= 1 << (word % 64);
    }

    pub fn remove(&mut self, cpu: u32) {
        let word = cpu as usize / 64;
        self.words[word] &= !(1 << (cpu % 64));
        if self.words[word] == 0 {
            self.any[word / 64] &= !(1 << (word % 64));
        }
    }

    pub fn contains(&self, cpu: u32) -> bool {
        let word = self.words.get(cpu as usize / 64);
        word.is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// Those that are in both.
    pub fn both(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for (at, (own, others)) in both.words.iter_mut().zip(&other.words).enumerate() {
            *own &= others;
            if *own == 0 {
                both.any[at / 64] &= !(1 << (at % 64));
            }
        }
        both
    }

    /// How many.
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.any.iter().all(|word| *word == 0)
    }

    /// The first that is in both.
    pub fn first_of_both(&self, other: &Self) -> Option<u32> {
        self.both_from(other, 0, self.words.len())
    }

    /// The first that is in both, of those from `first` to before `end`.
    pub fn first_within(&self, other: &Self, first: u32, end: u32) -> Option<u32> {
        let (from, to) = (first as usize / 64, (end as usize).div_ceil(64));
        for word in from..to.min(self.words.len()) {
            let mut bits = self.words[word] & other.words[word];
            let base = word as u32 * 64;
            if first > base {
                bits &= u64::MAX << (first - base);
            }
            if end < base + 64 {
                bits &= (1 << (end - base)) - 1;
            }
            if bits != 0 {
                return Some(base + bits.trailing_zeros());
            }
        }
        None
    }

    fn both_from(&self, other: &Self, from: usize, to: usize) -> Option<u32> {
        for (at, (own, others)) in self.any.iter().zip(&other.any).enumerate() {
            let mut words = own & others;
            while words != 0 {
                let word = at * 64 + words.trailing_zeros() as usize;
                words &= words - 1;
                let bits = self.words[word] & other.words[word];
                if bits != 0 && (from..to).contains(&word) {
                    return Some(word as u32 * 64 + bits.trailing_zeros());
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_both_is_found() {
        let (mut a, mut b) = (Mask::new(4096), Mask::new(4096));
        for cpu in [3, 64, 700, 4000] {
            a.insert(cpu);
        }
        for cpu in [5, 700, 4000, 4095] {
            b.insert(cpu);
        }
        assert_eq!(a.first_of_both(&b), Some(700));
        assert_eq!(a.first_within(&b, 701, 4096), Some(4000));
        assert_eq!(a.first_within(&b, 701, 4000), None);
        assert_eq!(a.first_within(&b, 640, 704), Some(700));
        a.remove(700);
        assert_eq!(a.first_of_both(&b), Some(4000));
        assert_eq!((a.len(), a.contains(64), a.contains(700)), (3, true, false));
        a.remove(4000);
        assert_eq!(a.first_of_both(&b), None);
        assert_eq!(Mask::full(70).len(), 70);
    }
}
