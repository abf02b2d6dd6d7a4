// SPDX-License-Identifier: GPL-2.0-only
//! The rate of this machine's time-stamp counter, which an emulator hands on to its guest as it is.

use std::time::{Duration, Instant};

/// How long the counter is watched. Two readings are exact to a microsecond.
const WATCHED: Duration = Duration::from_millis(20);
/// A reading is repeated so often, for one that nobody interrupted.
const TRIES: usize = 10;

/// Its rate in kHz, to some 0.01 %; none where the processor has no such counter.
pub fn khz() -> Option<u64> {
    let (begin, from) = reading()?;
    std::thread::sleep(WATCHED);
    let (end, to) = reading()?;
    let nanoseconds = u64::try_from((end - begin).as_nanos()).ok()?;
    let ticks = to.checked_sub(from)?.checked_mul(1_000_000)?;
    ticks.checked_div(nanoseconds)
}

/// A time and the counter's value then: of some tries the one that took the least time.
fn reading() -> Option<(Instant, u64)> {
    let tries = (0..TRIES).filter_map(|_| {
        let before = Instant::now();
        let ticks = ticks()?;
        Some((before.elapsed(), before, ticks))
    });
    let (_, at, ticks) = tries.min_by_key(|(took, ..)| *took)?;
    Some((at, ticks))
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> Option<u64> {
    // SAFETY: every x86-64 processor has the instruction, and it only reads.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn two_measurements_agree() {
        let [one, other] = [(); 2].map(|()| khz().unwrap());
        // No processor counts in less than 100 MHz or more than 10 GHz.
        assert!((100_000..10_000_000).contains(&one), "{one}");
        assert!(one.abs_diff(other) < one / 100, "{one}, {other}");
    }
}
