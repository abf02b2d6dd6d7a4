// SPDX-License-Identifier: GPL-2.0-only
//! Fake tasks: a scenario run live. Each task is a process that follows its program with real
//! system calls, faults and sleeps, and with user work that was calibrated just before.
//!
//! Owns the processes ([`stage`]), what they share ([`arena`]), what one of them does ([`actor`])
//! and what is known of each afterwards ([`artis_scenario::Outcome`]). Neither reads files of
//! scenarios nor prints.
//! Everything that it makes goes away with it, also after `kill -9`: the processes live below a
//! [`artis_load::supervised`] one.
//!
//! Source: piel-artis, section 3.3: the tasks are fake, start at the same time, and behave the
//! same in every run; of each, the run time by the clock, the share of each processor and the
//! number of switches are collected.

mod actor;
mod arena;
mod calibrate;
mod channel;
mod error;
mod fit;
mod gather;
mod group;
mod stage;
mod sync;

pub use error::Error;
pub use fit::{INSTANCES_MAX, Unfit, fit};
pub use stage::{Progress, run};

#[cfg(test)]
mod tests;
