// SPDX-License-Identifier: GPL-2.0-only
//! Measuring: latency, execution time and its variation, OS noise, throughput, short commands and
//! messages.
//!
//! One file for each quantity. Owns the threads that measure; decides nothing about loads and
//! prints nothing. A measuring thread allocates nothing, locks nothing and logs nothing once it has
//! started: what it needs is made before, and what it found is read afterwards or through atomics.

pub mod alone;
pub mod audit;
pub mod clock;
pub mod commands;
pub mod completion;
pub mod costs;
pub mod dma_latency;
pub mod exec;
pub mod host;
pub mod inversion;
pub mod jitter;
pub mod latency;
pub mod leaks;
pub mod live;
pub mod memory;
pub mod messages;
pub mod program;
pub mod reference;
pub mod routine;
pub mod thread;
pub mod threads;
pub mod throughput;
pub mod tracing;
