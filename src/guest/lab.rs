// SPDX-License-Identifier: GPL-2.0-only
//! Of the lab, what is in a guest; the same files as in artis.

#[path = "../lab/demo/mod.rs"]
pub mod demo;
#[path = "../lab/error.rs"]
mod error;
#[path = "experiment.rs"]
pub mod experiment;
#[path = "../lab/engine/bochs/frames.rs"]
mod frames;
#[path = "../lab/engine/bochs/ports.rs"]
pub mod ports;
#[path = "../lab/protocol.rs"]
mod protocol;
#[path = "../lab/scheduler.rs"]
mod scheduler;

pub use error::Error;
