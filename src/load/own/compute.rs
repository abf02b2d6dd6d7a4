// SPDX-License-Identifier: GPL-2.0-only
//! Batch computing: integer work in user mode that never enters the kernel by itself.

use super::Error;
use super::counters::Counters;
use std::convert::Infallible;
use std::hint::black_box;

/// Steps in a unit of work: a few microseconds on today's machines, a few tens in an emulator.
/// Short compared with every period that artis schedules, long compared with counting.
const STEPS: u32 = 1000;

/// One unit of integer work: the same number of steps for every load, on every machine.
///
/// `state` is the result of the unit before, so that the compiler can neither drop nor move a unit.
/// The steps are Marsaglia's xorshift64 ("Xorshift RNGs", 2003): each needs the result of the step
/// before.
pub fn unit(state: u64) -> u64 {
    let mut x = black_box(state);
    for _ in 0..STEPS {
        x = step(x);
    }
    black_box(x)
}

/// One step.
#[inline(always)]
pub(super) fn step(mut x: u64) -> u64 {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    x
}

/// Any start except 0, where xorshift would stay.
pub const START: u64 = 0x9e37_79b9_7f4a_7c15;

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    let mut state = START;
    loop {
        state = unit(state);
        counters.add_done(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_does_its_work() {
        let first = unit(START);
        assert_ne!(first, START);
        assert_ne!(unit(first), first);
        assert_eq!(unit(START), first, "a unit is the same work each time");
    }
}
