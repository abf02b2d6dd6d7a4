// SPDX-License-Identifier: GPL-2.0-only
//! What the machine is: CPUs, kernel, and what a process may do.
//!
//! Reads only, and only below a movable [`Root`], so canned `/proc` and `/sys` trees test
//! it. Never changes anything and never decides what a finding means for a command.

pub mod cpulist;
pub mod cpus;
pub mod kernel;
pub mod privilege;
pub mod root;
pub mod virtualisation;

pub use cpulist::CpuList;
pub use root::{Root, Unreadable};
