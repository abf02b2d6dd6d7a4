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
pub use artis_load as load;
pub use artis_machine as machine;
pub use artis_measure as measure;
pub use artis_partition as partition;
pub mod report;
pub use artis_result as result;
pub use artis_sched as sched;
pub use artis_task as task;
pub use artis_trace as trace;
