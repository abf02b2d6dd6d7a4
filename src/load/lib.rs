// SPDX-License-Identifier: GPL-2.0-only
//! Load: real processes that keep a machine busy in a known way and count what they did.
//!
//! [`own`]: loads that are artis's own code, started one process at a time, as in the demo and in
//! experiments. [`preset`]: all loads by name, for `--load`: those of [`own`] and those of other
//! programs, started together and checked to be at work. Neither decides where a load should
//! run, and neither judges the counts.
//!
//! The kinds follow what the papers ran beside their real-time task: the five of Piel et al.
//! (section 3), hackbench (Altenberg), process management and builds (Rowand, McKenney).

mod error;
pub mod hackbench;
pub mod own;
pub mod preset;
pub mod program;
pub mod seed;
pub mod sources;
pub mod supervised;
pub mod usage;

pub use error::Error;
