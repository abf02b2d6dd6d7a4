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
pub use artis_guest as guest;
pub mod lab;
pub use artis_load as load;
pub use artis_machine as machine;
pub use artis_measure as measure;
pub use artis_partition as partition;
pub mod report;
pub use artis_result as result;
pub use artis_sched as sched;
pub use artis_task as task;
pub use artis_trace as trace;
