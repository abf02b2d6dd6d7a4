// SPDX-License-Identifier: GPL-2.0-only
//! What clap has to say about the words of a command line, and its exit status.

pub use artis_run::exit::*;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::process::ExitCode;

/// Prints what clap has to say and gives the exit status: help and version are success.
pub fn parse_error(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        // It quotes arguments.
        say_text!("{}", error.render());
    } else {
        // A closed pipe (`artis --help | head -1`) is not an error.
        let _ = error.print();
    }
    if error.use_stderr() {
        ExitCode::from(USAGE)
    } else {
        ExitCode::SUCCESS
    }
}

/// The words with a value such as `-5us` joined to its option, where clap took it for an option of
/// its own: then the option's parser says what is allowed.
pub fn joined(words: &[OsString], error: &clap::Error) -> Option<Vec<OsString>> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument || !is_negative(unknown) {
        return None;
    }
    let mut texts = words.iter().map(|word| word.to_str().unwrap_or_default());
    let at = texts.position(|word| word.starts_with(unknown))?;
    let before = words.get(at.checked_sub(1)?)?.to_str()?;
    let between = match (before.strip_prefix("--"), before.strip_prefix('-')) {
        (Some(long), _) if !long.is_empty() && !long.contains('=') => "=",
        (None, Some(short)) if short.chars().count() == 1 => "",
        _ => return None,
    };
    let mut joined = words.to_vec();
    let value = joined.remove(at);
    joined[at - 1].push(between);
    joined[at - 1].push(value);
    Some(joined)
}

fn is_negative(word: &str) -> bool {
    let digits = word.strip_prefix('-');
    digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
}
