// SPDX-License-Identifier: GPL-2.0-only
//! artis on real kernels, the newest normal one and the newest `-rt` one, in QEMU.
//!
//! The emulator's times mean nothing, so nothing here judges a latency: what is judged is what
//! happened, how often, and that it ended well. Kernels are fetched on the first run.

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

/// Runs each test on this kernel.
macro_rules! on_kernel {
    ($flavour:ident, $kernel:literal: $($test:ident),* $(,)?) => {
        mod $flavour { $( #[test] fn $test() { super::$test($kernel) } )* }
    };
}

mod admitted;
mod caches;
mod claims;
mod decide;
mod explain;
mod gpio;
mod guest;
mod guest_program;
mod machine;
mod machines;
mod monitoring;
mod pages;
mod partition;
mod rights;
mod rtc;
mod rtla;
mod sched;
mod shared;
mod split;
mod starved;
