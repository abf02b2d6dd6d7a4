// SPDX-License-Identifier: GPL-2.0-only
//! Why a command could not be started, as a shell says it.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;

/// Exit status of a shell and of env(1) when a command exists and cannot be run.
const NOT_EXECUTABLE: u8 = 126;
/// Exit status of a shell and of env(1) when there is no such command.
const NOT_FOUND: u8 = 127;

/// Exit status and reason of a command that could not be run.
pub fn not_started(program: &OsStr, error: &std::io::Error) -> (u8, String) {
    let is_path = program.as_encoded_bytes().contains(&b'/');
    match error.kind() {
        ErrorKind::NotFound if is_path && Path::new(program).exists() => (
            NOT_FOUND,
            format!(
                "{error}; the file is there, but not the interpreter it names; see `file {}`",
                program.display()
            ),
        ),
        ErrorKind::NotFound if is_path => (NOT_FOUND, format!("{error}; check the path")),
        ErrorKind::NotFound | ErrorKind::PermissionDenied if !is_path && !in_path(program) => (
            NOT_FOUND,
            "there is no such command; it is in no folder of PATH, so give its path or install it"
                .to_owned(),
        ),
        ErrorKind::PermissionDenied => (
            NOT_EXECUTABLE,
            format!("{error}; is it a program? `chmod +x` makes a file executable"),
        ),
        _ => (NOT_EXECUTABLE, error.to_string()),
    }
}

/// Whether a folder of `PATH` holds the command. `execvp` does not say: it answers EACCES, too,
/// when one of the folders may not be searched.
fn in_path(program: &OsStr) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}
