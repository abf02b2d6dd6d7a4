// SPDX-License-Identifier: GPL-2.0-only
//! A machine of somebody's own, measured again and again.
//!
//! Owns: the folder that a measurement goes on in ([`kept`]), which of its runs are clean
//! ([`clean`]), the worst latency of each run as a distribution ([`column`]), the file to hand on
//! with nothing personal in it ([`hand_on`], [`private`]), and many such files side by side
//! ([`join`]). Measures and prints nothing, and changes nothing but files in that folder.

pub mod boot;
pub mod clean;
pub mod column;
pub mod hand_on;
pub mod join;
pub mod kept;
mod mann_whitney;
pub mod private;
