// SPDX-License-Identifier: GPL-2.0-only
//! artis on the machine that runs the tests: what its commands print, write and refuse. No virtual
//! machine is started, no latency and no speed is judged.

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

mod admit;
mod check;
mod cluster;
mod compare;
mod decide;
mod explain;
mod field;
mod files;
mod help;
mod imports;
mod install;
mod leaks;
mod load;
mod machines;
mod measure;
mod monitoring;
mod output;
mod pages;
mod partition_export;
mod poor_inputs;
mod report;
mod result;
mod rights;
mod run;
mod scenario;
mod sched;
mod schema;
mod simulate;
mod split;
mod summary;
mod terminal;
mod watching;
