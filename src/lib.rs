// SPDX-License-Identifier: GPL-2.0-only
//! artis: real-time and high-performance work on the same multi-core Linux machine.
//!
//! Layers, arrows only downward: `cli` (one file a subcommand) uses `check`, `report`, `lab`,
//! `sched`, `measure` and `load`, which use `decide`, `partition`, `task`, `machine` and `result`;
//! `partition` changes threads with the system calls of `task`. Nothing below `cli` prints a result
//! or ends the process.
//!
//! A second program, `artis-guest` (`src/guest`), runs inside the lab's guests. Its parts, and what
//! both sides agree on, are [`guest`], which uses the layers below `lab` and never `lab` itself.

pub mod check;
pub mod cli;
pub mod decide;
#[path = "guest/lib.rs"]
pub mod guest;
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
