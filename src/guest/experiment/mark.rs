// SPDX-License-Identifier: GPL-2.0-only
//! Marks that a guest makes for the engine that reports its accesses of memory.

use super::Measure;
use std::thread::sleep;
use std::time::Duration;

/// How long modelled caches fill before their misses count: some millions of instructions of each
/// CPU.
const FILLING: Duration = Duration::from_millis(100);

/// Before what is measured: accesses begin, and count after a moment.
pub fn begin(measure: Measure) {
    if measure == Measure::Caches {
        mark();
        sleep(FILLING);
        mark();
    }
}

/// After it.
pub fn end(measure: Measure) {
    if measure == Measure::Caches {
        mark();
    }
}

/// Makes one: an instruction that changes nothing, and that the engine knows (`xchg bx, bx`).
/// Elsewhere nobody notices.
#[cfg(target_arch = "x86_64")]
fn mark() {
    // SAFETY: exchanges a register with itself.
    unsafe { std::arch::asm!("xchg bx, bx", options(nomem, nostack, preserves_flags)) };
}

/// Guests are x86-64.
#[cfg(not(target_arch = "x86_64"))]
fn mark() {}
