// SPDX-License-Identifier: GPL-2.0-only
//! The command that comes last on a command line, after `--`.

use crate::cli::exit::UsageError;
use crate::measure::program::in_words;
use std::ffi::OsString;

/// Refuses a command without `--` before it: then its first word is in `stray`. `start` is how the
/// right command line begins.
pub(super) fn refuse_stray(
    stray: &[OsString],
    command: &[OsString],
    start: &str,
) -> Result<(), UsageError> {
    let Some(first) = stray.first() else {
        return Ok(());
    };
    let all = [stray, command].concat();
    Err(UsageError(format!(
        "{first:?} is no option; a command comes last, after `--`: {start} -- {}",
        in_words(&all)
    )))
}
