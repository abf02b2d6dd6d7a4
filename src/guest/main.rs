// SPDX-License-Identifier: GPL-2.0-only
//! `artis-guest`: the program that the lab starts inside its guests.
//!
//! A guest's figures repeat to the byte as long as the guest is the same to the byte. So the same
//! sources give the same program in any folder: it holds no path of the machine that built it
//! (`scripts/rustc`). It uses the guest's half and the layers below, never the rest of artis; the
//! scheduler is a program of its own, `artis-guest-sched`. It has no command line for people:
//! `artis` starts it and chooses its words.

mod command;

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
