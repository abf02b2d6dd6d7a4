// SPDX-License-Identifier: GPL-2.0-only
//! What the machine is: CPUs, kernel, and what a process may do.
//!
//! Reads only, and only below a movable [`Root`], so canned `/proc` and `/sys` trees test
//! it. Never changes anything and never decides what a finding means for a command.

pub mod clock_source;
pub mod cpu_times;
pub mod cpulist;
pub mod cpumask;
pub mod cpus;
pub mod deadline_servers;
pub mod frequency;
pub mod idle;
pub mod irq_affinity;
pub mod kernel;
pub mod kernel_threads;
pub mod locked;
pub mod privilege;
pub mod processes;
pub mod root;
pub mod topology;
pub mod virtualisation;

pub use cpulist::CpuList;
pub use root::{Root, Unreadable};
