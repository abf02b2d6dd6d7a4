// SPDX-License-Identifier: GPL-2.0-only
//! hackbench of rt-tests: groups of tasks that send each other messages over sockets.

use super::{Error, program};
use std::path::PathBuf;

/// The name of the program.
pub const PROGRAM: &str = "hackbench";

/// The path of the program.
///
/// # Errors
/// [`Error::MissingProgram`].
pub fn find() -> Result<PathBuf, Error> {
    program::find("hackbench", PROGRAM, "rt-tests")
}

/// Its arguments for `groups` groups of `pairs` senders and as many receivers, all of them
/// processes; each sender sends `messages` messages to each receiver of its group.
pub fn arguments(groups: usize, pairs: usize, messages: usize) -> Vec<String> {
    [("-g", groups), ("-f", pairs), ("-l", messages)]
        .iter()
        .flat_map(|(letter, number)| [(*letter).to_owned(), number.to_string()])
        .collect()
}
