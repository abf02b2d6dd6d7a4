// SPDX-License-Identifier: GPL-2.0-only
//! Of experiments, what is in a guest: one task, and its sample.

#[path = "../lab/experiment/guest.rs"]
pub mod guest;
#[path = "../lab/experiment/sample.rs"]
mod sample;

pub use sample::*;
