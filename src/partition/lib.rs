// SPDX-License-Identifier: GPL-2.0-only
//! Changes the machine so that RT CPUs belong to real-time tasks, and puts it back.
//!
//! [`plan`] reads the machine and decides, with one file for each family of changes. [`apply`]
//! makes a plan. [`transaction`] makes changes and reverts them. [`host`] is the only place that
//! writes to the machine, and [`journal`] outlives the process that wrote. A change is a place, its
//! old value and its new value. Nothing is written before the journal that can revert it is on
//! disk.
//!
//! Owners are `artis partition` and `artis sched`. `artis measure` needs no journal: what it
//! changes (`/dev/cpu_dma_latency`, the clock's periodic interrupt) belongs to files that it holds
//! open, and the kernel reverts it when they close, however the process ends.

pub mod apply;
pub mod change;
pub mod cycle;
pub mod export;
pub mod host;
mod irqbalance;
mod irqs;
pub mod journal;
mod kthreads;
pub mod plan;
mod power;
mod servers;
mod shield;
mod timers;
pub mod transaction;
mod workqueues;
