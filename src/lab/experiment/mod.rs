// SPDX-License-Identifier: GPL-2.0-only
//! Experiments: kernels, schedulers, loads and seeds in a file; a table out of it.
//!
//! Owns what an experiment is ([`plan`]), what a guest is told and what it hands back ([`sample`]),
//! the half that runs there ([`guest`]; in the program `artis-guest`), the store of samples that makes an interrupted experiment go on where it
//! was ([`store`]), who runs what is missing ([`run`]) and how samples become rows
//! ([`rows`]). One sample is one guest, booted for it alone: nothing that ran before can be
//! in it.

pub mod guest;
pub mod plan;
pub mod rows;
pub mod run;
pub mod sample;
pub mod store;

pub use sample::{
    Done, EXECUTION_TIME, EXECUTION_TIME_UNLOADED, KERNEL_LATENCY, Measure, Sample, Task,
    USER_LATENCY,
};
