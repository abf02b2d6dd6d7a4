// SPDX-License-Identifier: GPL-2.0-only
//! `artis-guest`: the half of the lab that runs inside a guest, and nothing else.
//!
//! A guest's figures repeat to the byte as long as the guest is the same to the byte, so this
//! program must be the same whoever builds it, and must not change when artis changes elsewhere.
//! (a) It uses the crates of the lower layers and nothing of artis itself; of them, only the functions
//! that it calls are compiled, and they are compiled here (see `scripts/rustc`). (b) No path of the
//! building machine is in it. (c) It has no command line for people: its words come from [`lab`]'s other
//! half, in `artis`.
//!
//! Never grows a feature of its own: what it does stands in the crates that it shares with artis.

// The shared modules hold more than a guest needs; what main does not reach is not compiled.
#![allow(dead_code, unused_imports)]

mod command;
mod lab;

use artis_load as load;
use artis_machine as machine;
use artis_measure as measure;
use artis_partition as partition;
use artis_result as result;
use artis_sched as sched;
use artis_task as task;
use artis_trace as trace;

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
