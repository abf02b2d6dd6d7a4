// SPDX-License-Identifier: GPL-2.0-only
//! Makes tasks RT0, RT1+ or Linux tasks, and says why the kernel refuses.
//!
//! Owns the mapping of the paper's classes to scheduling policies and affinity, its order, and
//! the threads of a process; also keeps huge pages, which delay real-time threads,
//! out of a process. Never starts a command and never loads the scheduler.
//! Source: piel-artis, sections 2.1 (the classes) and 2.4 (the helper program).

pub mod class;
pub mod cpuset;
pub mod diagnose;
pub mod huge_pages;
pub mod kind;
pub mod memory;
pub mod protected;
pub mod scheduler;
pub mod shield;
pub mod starter;
pub mod syscall;
pub mod threads;

pub use class::Class;
