// SPDX-License-Identifier: GPL-2.0-only
//! The recorder itself, driven directly: what it costs in memory.

use crate::common::{again, count};
use artis::result::Distribution;

/// Memory of this process that is in RAM, bytes.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let resident: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    resident * 4096
}

/// A fresh recorder after so many values between 0 and 1 ms, and the memory it takes.
fn record(values: u64) -> (Distribution, u64) {
    let before = resident_bytes();
    let mut distribution = Distribution::prefaulted(false);
    // A multiplicative congruential generator (Park and Miller): the same values every time.
    let mut state = 1_u64;
    for _ in 0..values {
        state = state * 48_271 % 2_147_483_647;
        distribution.record((state % 1_000_000).cast_signed());
    }
    assert_eq!(distribution.count(), values);
    let taken = resident_bytes().saturating_sub(before);
    (distribution, taken)
}

#[test]
fn many_samples_take_no_more_memory_than_few() {
    // What other tests freed would be taken again, and seem to cost nothing.
    let path = concat!(
        module_path!(),
        "::many_samples_take_no_more_memory_than_few"
    );
    if again::ran_alone(path) {
        return;
    }
    // What code and tables the first one brings into memory is not its own.
    let _first = record(1000);
    let (_few, few) = record(100_000);
    let (_many, many) = record(count(10_000_000, 100_000_000));
    println!("few samples: {few} bytes, many samples: {many} bytes");
    assert!(many.abs_diff(few) <= 1 << 20, "{few} and {many} bytes");
    assert!(few > 0, "the recorder is in memory");
}
