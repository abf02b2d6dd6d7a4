// SPDX-License-Identifier: GPL-2.0-only
//! A discrete-event simulator of scenarios.
//!
//! Owns time, CPUs and the kernel's classes. With artis every choice is the scheduler's: its BPF
//! program is compiled for this machine ([`ext`]), with its policy, and the simulator holds no copy
//! of a rule. Reads no file and prints nothing.
//!
//! What it leaves out: SMT, frequencies, caches other than by what a move costs, kernel threads,
//! softirqs, RCU, and interrupts of devices beside those of timers. The classes say at their heads
//! what they leave out ([`fair`], [`realtime`]).

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod act;
mod class;
pub mod costs;
mod cpu;
pub mod ext;
pub mod fair;
pub mod layout;
mod load;
mod mask;
mod objects;
mod queue;
pub mod realtime;
pub mod result;
mod run;
mod schedule;
mod sim;
mod step;
mod sys;
mod task;
mod trace;
mod wake;

pub use costs::Costs;
pub use layout::Layout;
pub use result::Outcome;
pub use sim::{Error, Scheduler, Setup, Sim};
pub use trace::{Run, Trace};

#[cfg(test)]
mod tests;
