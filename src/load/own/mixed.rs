// SPDX-License-Identifier: GPL-2.0-only
//! Integer work that enters the kernel now and then: some computing, then one system call and one
//! page fault. Most programs that neither only compute nor only do input and output are like this.

use super::counters::Counters;
use super::faults::Region;
use super::{Error, compute};
use std::convert::Infallible;

/// Units of work between two entries into the kernel. In an emulator some ten milliseconds: long
/// enough that a scheduler may move the task, short enough for some ten entries a second.
const UNITS_BETWEEN: u32 = 1000;

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    let region = Region::map(1)?;
    let mut state = compute::START;
    loop {
        for _ in 0..UNITS_BETWEEN {
            state = compute::unit(state);
            counters.add_done(1);
        }
        region.give_back()?; // the system call
        region.touch(); // the page fault
    }
}
