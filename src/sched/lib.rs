// SPDX-License-Identifier: GPL-2.0-only
//! The asymmetric real-time scheduler: what it needs, how it is loaded, watched and ended.
//!
//! Owns the BPF program in `bpf/` and everything that drives it. It never decides anything
//! about a task: all rules are in `bpf/policy.h`, for Rust in [`policy`].
//! Theory: Piel, Marquet, Soula, Dekeyser, "Real-Time Systems for Multi-Processor
//! Architectures".

#![deny(clippy::print_stderr)]

pub mod beset;
mod bpf;
pub use bpf::COUNTERS;
pub mod caches;
mod calls;
pub mod control;
pub mod detector;
pub mod ending;
pub mod policy;
pub mod program;
pub mod prospect;
pub mod records;
pub mod require;
pub mod runtime;
pub mod service;
mod serving;
pub mod status;
pub mod urgent;
pub mod watch;
