// SPDX-License-Identifier: GPL-2.0-only
//! artis: real-time and high-performance work on the same multi-core Linux machine.
//!
//! Layers, arrows only downward: `cli` (one file a subcommand) uses `check`, `report`, `lab`,
//! `sched`, `measure` and `load`, which use `decide`, `partition`, `task`, `machine` and `result`;
//! `partition` changes threads with the system calls of `task`. Nothing below `cli` prints a result
//! or ends the process.
//!
//! A second program, `artis-guest` (`src/guest`), is the half of `lab` that runs inside guests. It
//! compiles the modules it needs for itself, so nothing that only artis uses is part of a guest.

pub mod check;
pub mod cli;
pub mod decide;
pub mod lab;
pub mod load;
pub mod machine;
pub mod measure;
pub mod partition;
pub mod report;
pub mod result;
pub mod sched;
pub mod task;
pub mod trace;
