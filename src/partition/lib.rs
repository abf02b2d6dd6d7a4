// SPDX-License-Identifier: GPL-2.0-only
//! Changes the machine so that RT CPUs belong to real-time tasks, and puts it back.
//!
//! [`plan`] reads and decides, one file a family of changes; [`transaction`] makes changes and
//! takes them back; [`host`] is where the machine is written to, and [`journal`] what outlives the
//! process that did. Every change is a place, what stood there and what shall stand there;
//! nothing is written before the journal that undoes it is on disk.
//!
//! Owners are `artis partition` and `artis sched`. What `artis measure` asks of the machine
//! (`/dev/cpu_dma_latency`, the clock's periodic interrupt) hangs on files it has open, and the kernel
//! itself takes it back when they close, however the process ends.

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
pub mod shield;
mod timers;
pub mod transaction;
mod workqueues;
