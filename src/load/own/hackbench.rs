// SPDX-License-Identifier: GPL-2.0-only
//! hackbench of rt-tests, the same small round again and again: a group of threads that send
//! each other messages over sockets. A round is the unit, so that a run of any length can be
//! compared.

use super::Error;
use super::counters::Counters;
use crate::hackbench::PROGRAM;
use std::convert::Infallible;
use std::process::{Command, Stdio};

/// One group of 4 senders and 4 receivers, 25 messages between each pair: 400 messages. It uses
/// threads: with processes, such a short round would mostly create them, as `fork` does. A round
/// takes about 0.02 s on an idle emulated CPU, and about 1 s beside ten computing tasks.
const ARGUMENTS: [&str; 7] = ["-T", "-g", "1", "-f", "4", "-l", "25"];

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    loop {
        let status = Command::new(PROGRAM)
            .args(ARGUMENTS)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        match status {
            Ok(status) if status.success() => counters.add_done(1),
            Ok(status) => return Err(failed(status.to_string())),
            Err(error) => return Err(failed(error.to_string())),
        }
    }
}

fn failed(reason: String) -> Error {
    Error::ProgramFailed {
        program: command_line(),
        reason,
    }
}

/// The command of a round.
pub(super) fn command_line() -> String {
    format!("{PROGRAM} {}", ARGUMENTS.join(" "))
}
