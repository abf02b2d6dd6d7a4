// SPDX-License-Identifier: GPL-2.0-only
//! artis: real-time and high-performance work on the same multi-core Linux machine.
//!
//! Each layer is a package of its own in a folder beside this file, and its `Cargo.toml` says what
//! it may use: the compiler refuses everything else. From below: `machine` and `result` use no
//! other layer; `task`, `partition`, `load`, `measure`, `sched` and `recorder` act on the
//! machine; `service` is `sched` with a configuration file; `guest` is the lab's half inside a
//! guest, `lab` its half outside; `admit`, `check`, `decide` and `explain` are pure; `report`
//! writes what people read, and `run` runs what commands measure. This package is the command line
//! over all of them.

#[macro_use]
extern crate artis_run;

pub mod cli;

pub use artis_admit as admit;
pub use artis_check as check;
pub use artis_decide as decide;
pub use artis_explain as explain;
pub use artis_guest as guest;
pub use artis_lab as lab;
pub use artis_load as load;
pub use artis_machine as machine;
pub use artis_measure as measure;
pub use artis_partition as partition;
pub use artis_recorder as recorder;
pub use artis_report as report;
pub use artis_result as result;
pub use artis_sched as sched;
pub use artis_service as service;
pub use artis_sim as sim;
pub use artis_task as task;
