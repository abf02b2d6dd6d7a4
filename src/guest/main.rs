// SPDX-License-Identifier: GPL-2.0-only
//! `artis-guest`: the program that the lab starts inside its guests.
//!
//! A guest's figures repeat to the byte as long as the guest is the same to the byte. So this
//! program must be the same whoever builds it, and must not change when artis changes elsewhere:
//! (a) It is built from the guest's half and the layers below, never from the rest of artis. (b) It
//! holds no path of the machine that built it: see `scripts/rustc` and `build.rs`. (c) It has no
//! command line for people: `artis` starts it and chooses its words.

// The shared modules hold more than a guest needs; what main does not reach is not compiled.
#![allow(dead_code, unused_imports)]

mod command;
#[path = "lib.rs"]
mod guest;

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
