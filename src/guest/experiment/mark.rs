// SPDX-License-Identifier: GPL-2.0-only
//! Marks that a guest makes for the engine that reports its accesses of memory.

/// Makes one: an instruction that changes nothing, and that the engine knows (`xchg bx, bx`).
/// Elsewhere nobody notices.
#[cfg(target_arch = "x86_64")]
pub fn mark() {
    // SAFETY: exchanges a register with itself.
    unsafe { std::arch::asm!("xchg bx, bx", options(nomem, nostack, preserves_flags)) };
}

/// Guests are x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub fn mark() {}
