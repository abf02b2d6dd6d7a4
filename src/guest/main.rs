// SPDX-License-Identifier: GPL-2.0-only
//! `artis-guest`: the half of the lab that runs inside a guest, and nothing else.
//!
//! A guest's figures repeat to the byte as long as the guest is the same to the byte, so this
//! program must be the same whoever builds it, and must not change when artis changes elsewhere.
//! (a) It does not use the library: the modules it needs are compiled into it once more, by their
//! paths, so that no other code takes part in what the optimiser and the linker do. (b) No path of
//! the building machine is in it: see `scripts/rustc` and `build.rs`. (c) It has no command line for
//! people: its words come from [`lab`]'s other half, in `artis`.
//!
//! Never grows a feature of its own: what it does stands in the modules that it shares with artis.

// The shared modules hold more than a guest needs; what main does not reach is not compiled.
#![allow(dead_code, unused_imports)]

mod command;
mod lab;

#[path = "../load/mod.rs"]
mod load;
#[path = "../machine/mod.rs"]
mod machine;
#[path = "../measure/mod.rs"]
mod measure;
#[path = "../partition/mod.rs"]
mod partition;
#[path = "../result/mod.rs"]
mod result;
#[path = "../sched/mod.rs"]
mod sched;
#[path = "../task/mod.rs"]
mod task;
#[path = "../trace/mod.rs"]
mod trace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match command::run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("artis-guest: {error:#}");
            ExitCode::FAILURE
        }
    }
}
