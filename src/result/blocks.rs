// SPDX-License-Identifier: GPL-2.0-only
//! Block maxima: the largest value of each stretch of time, and when it was. They are what
//! extreme-value statistics need and a histogram has lost: whether the extremes came alone, in
//! clusters or with a trend.
//!
//! The memory is fixed. When a run outgrows it, neighbours are joined and every block becomes
//! twice as long. [`BlockMaxima::record`] neither allocates nor locks, so a measuring thread may
//! call it.

use super::amount::check_seconds;
use serde::{Deserialize, Serialize};

/// The most blocks of a series.
pub const BLOCKS_MAX: usize = 1024;
/// The length of a block at first: ten seconds give a hundred.
const FIRST_NS: u64 = 100_000_000;
const SECOND_NS: f64 = 1e9;

/// A block in which something was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// How many values.
    pub count: u64,
    /// The largest.
    pub max: i64,
    /// When that was, seconds after the start.
    pub max_at_s: f64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    count: u64,
    max: i64,
    at_ns: u64,
}

const EMPTY: Slot = Slot {
    count: 0,
    max: i64::MIN,
    at_ns: 0,
};

/// Collects block maxima while something is measured.
#[derive(Clone, Debug)]
pub struct BlockMaxima {
    block_ns: u64,
    slots: Vec<Slot>,
}

impl Default for BlockMaxima {
    fn default() -> Self {
        Self::new()
    }
}

impl BlockMaxima {
    /// No values yet; all its memory is there and touched.
    pub fn new() -> Self {
        Self {
            block_ns: FIRST_NS,
            slots: vec![EMPTY; BLOCKS_MAX],
        }
    }

    /// Adds a value that was seen so long after the start.
    pub fn record(&mut self, value: i64, after_ns: u64) {
        let mut at = after_ns / self.block_ns;
        while at >= BLOCKS_MAX as u64 {
            self.join_neighbours();
            at = after_ns / self.block_ns;
        }
        // Below BLOCKS_MAX.
        let slot = &mut self.slots[at as usize];
        slot.count += 1;
        if value > slot.max {
            slot.max = value;
            slot.at_ns = after_ns;
        }
    }

    fn join_neighbours(&mut self) {
        self.block_ns = self.block_ns.saturating_mul(2);
        for at in 0..BLOCKS_MAX / 2 {
            let (one, other) = (self.slots[2 * at], self.slots[2 * at + 1]);
            let larger = if other.max > one.max { other } else { one };
            self.slots[at] = Slot {
                count: one.count + other.count,
                ..larger
            };
        }
        self.slots[BLOCKS_MAX / 2..].fill(EMPTY);
    }

    /// For the result; none without a value.
    pub fn blocks(&self) -> Option<Blocks> {
        let used = self.slots.iter().filter(|slot| slot.count > 0);
        let all: Vec<Block> = used
            .map(|slot| Block {
                count: slot.count,
                max: slot.max,
                max_at_s: slot.at_ns as f64 / SECOND_NS,
            })
            .collect();
        (!all.is_empty()).then_some(Blocks {
            seconds: self.block_ns as f64 / SECOND_NS,
            all,
        })
    }
}

/// The block maxima of a series, in the order of time. Blocks without a value are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Blocks {
    /// The length of a block.
    pub seconds: f64,
    pub all: Vec<Block>,
}

/// As in the file: columns.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    seconds: f64,
    count: Vec<u64>,
    max: Vec<i64>,
    max_at_s: Vec<f64>,
}

impl From<Blocks> for Stored {
    fn from(blocks: Blocks) -> Self {
        let all = &blocks.all;
        Self {
            seconds: blocks.seconds,
            count: all.iter().map(|block| block.count).collect(),
            max: all.iter().map(|block| block.max).collect(),
            max_at_s: all.iter().map(|block| block.max_at_s).collect(),
        }
    }
}

impl TryFrom<Stored> for Blocks {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let Stored {
            seconds,
            count,
            max,
            max_at_s,
        } = stored;
        let wrong = |what: &str| Err(format!("its block maxima are damaged: {what}"));
        if seconds.is_nan() || seconds <= 0.0 {
            return wrong("a block has no length");
        }
        check_seconds(seconds)?;
        if count.len() != max.len() || max.len() != max_at_s.len() {
            return wrong("count, max and max_at_s have not the same length");
        }
        if count.len() > BLOCKS_MAX {
            return wrong("there are too many");
        }
        if count.contains(&0) {
            return wrong("there is one without a value");
        }
        max_at_s.iter().copied().try_for_each(check_seconds)?;
        if max_at_s.windows(2).any(|pair| pair[0] > pair[1]) {
            return wrong("they are not in the order of time");
        }
        let columns = count.into_iter().zip(max).zip(max_at_s);
        Ok(Self {
            seconds,
            all: columns
                .map(|((count, max), max_at_s)| Block {
                    count,
                    max,
                    max_at_s,
                })
                .collect(),
        })
    }
}

impl Blocks {
    /// Refuses what contradicts a series of so many values with this maximum.
    pub(super) fn check(&self, count: u64, max: Option<i64>) -> Result<(), &'static str> {
        let sum = self
            .all
            .iter()
            .try_fold(0, |sum: u64, one| sum.checked_add(one.count));
        if sum.is_none_or(|sum| sum > count) {
            return Err("its block maxima are of more values than it has");
        }
        let largest = self.all.iter().map(|one| one.max).max();
        if largest.zip(max).is_some_and(|(largest, max)| largest > max) {
            return Err("a block maximum is above its maximum");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_however_long_the_run(
            values in prop::collection::vec((any::<i32>(), 0..5_000_000_000_000_u64), 1..200),
        ) {
            let mut maxima = BlockMaxima::new();
            let mut values = values;
            values.sort_by_key(|(_, at)| *at);
            for (value, at) in &values {
                maxima.record(i64::from(*value), *at);
            }
            let blocks = maxima.blocks().unwrap();
            prop_assert!(blocks.all.len() <= BLOCKS_MAX);
            let count: u64 = blocks.all.iter().map(|one| one.count).sum();
            prop_assert_eq!(count, values.len() as u64);
            for block in &blocks.all {
                let index = (block.max_at_s / blocks.seconds).floor();
                let in_it = values.iter().filter(|(_, at)| {
                    (*at as f64 / 1e9 / blocks.seconds).floor() == index
                });
                let largest = in_it.map(|(value, _)| i64::from(*value)).max();
                prop_assert_eq!(largest, Some(block.max));
            }
            let text = serde_json::to_string(&blocks).unwrap();
            prop_assert_eq!(serde_json::from_str::<Blocks>(&text).unwrap(), blocks);
        }
    }

    #[test]
    fn blocks_double_when_the_run_outgrows_them() {
        let mut maxima = BlockMaxima::new();
        for second in 0..104 {
            maxima.record(second, second.unsigned_abs() * 1_000_000_000);
        }
        let blocks = maxima.blocks().unwrap();
        assert_eq!((blocks.seconds, blocks.all.len()), (0.2, 104));
        assert!(BlockMaxima::new().blocks().is_none());
    }

    #[test]
    fn damage_is_refused() {
        let read = |text: &str| {
            serde_json::from_str::<Blocks>(text)
                .unwrap_err()
                .to_string()
        };
        let text = r#"{"seconds": 1, "count": [1, 2], "max": [5, 6], "max_at_s": [0.5, 1.5]}"#;
        assert!(serde_json::from_str::<Blocks>(text).is_ok());
        assert!(read(&text.replace("[1, 2]", "[1]")).contains("same length"));
        assert!(read(&text.replace("[1, 2]", "[1, 0]")).contains("without a value"));
        assert!(read(&text.replace("0.5", "2.5")).contains("order of time"));
        assert!(read(&text.replace("\"seconds\": 1", "\"seconds\": 0")).contains("no length"));
        assert!(read(&text.replace("0.5", "-1")).contains("36 years"));
        let blocks: Blocks = serde_json::from_str(text).unwrap();
        assert!(blocks.check(2, Some(6)).is_err() && blocks.check(3, Some(5)).is_err());
        assert!(blocks.check(3, Some(6)).is_ok());
    }
}
