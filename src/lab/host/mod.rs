// SPDX-License-Identifier: GPL-2.0-only
//! What the lab uses of the machine that it runs on: a cache folder, temporary folders, programs,
//! the rate of its clock, and published schedulers, which it builds for guests.

pub mod cache;
pub mod crates;
pub mod scratch;
pub mod tool;
pub mod tsc;
