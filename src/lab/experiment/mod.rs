// SPDX-License-Identifier: GPL-2.0-only
//! Experiments: kernels, schedulers, loads and seeds in a file; a table out of it.
//!
//! Owns what an experiment is ([`plan`], `loads`), the samples in the cache, by which an
//! interrupted experiment continues ([`store`]), who runs what is missing ([`run`], `workers`,
//! [`missing`]), samples on their way between machines ([`part`]) and how samples become rows
//! ([`rows`]). The work in a guest is in [`artis_guest::experiment`]. One
//! sample is one guest, booted for it alone: nothing that ran before can be in it. The format of
//! the file and how samples are cached: `docs/experiments.md`.

pub mod caches;
mod loads;
pub mod missing;
mod needs;
pub mod part;
pub mod plan;
pub mod rows;
pub mod run;
pub mod store;
#[cfg(test)]
mod tests;
mod workers;
