// SPDX-License-Identifier: GPL-2.0-only
//! The program of a command that the user gave: found, or refused in words, before anything is
//! started.

use artis_load::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file of the program that this command begins with, as a shell finds it.
///
/// # Errors
/// [`Error::ProgramFailed`] says what is wrong with the name, and what to do.
pub fn find(words: &[OsString]) -> Result<PathBuf, Error> {
    let program = words.first().map_or(Path::new(""), Path::new);
    which::which(program).map_err(|_| Error::ProgramFailed {
        program: match program.to_str() {
            Some("") => "''".to_owned(),
            _ => program.display().to_string(),
        },
        reason: format!("could not be started: {}", why_not(program)),
    })
}

/// Why this program cannot be run, and what to do.
fn why_not(program: &Path) -> &'static str {
    if program.as_os_str().is_empty() {
        "its name is empty; name a program after `--`"
    } else if program.components().count() == 1 && program.file_name().is_some() {
        "no folder in PATH has it; check its name, or name its file, such as ./program"
    } else if program.is_dir() {
        "it is a folder; name a program in it"
    } else if program.exists() {
        "it is not an executable file; make it one with `chmod +x`, or name another"
    } else {
        "there is no such file; check its name"
    }
}

/// A command as one types it.
pub fn in_words(words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
