// SPDX-License-Identifier: GPL-2.0-only
//! How every command prints: to standard output, with errors that say so.

use serde::Serialize;
use std::io::{self, StdoutLock, Write};

/// Standard output, this process's own until dropped. Its errors name it.
pub struct Output(StdoutLock<'static>);

/// Opens standard output.
pub fn stdout() -> Output {
    Output(io::stdout().lock())
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

/// The error with its place and the next step; a closed pipe stays recognisable by its kind.
fn named(error: io::Error) -> io::Error {
    let next = match error.kind() {
        io::ErrorKind::StorageFull => "; free space where it goes, or send it elsewhere",
        _ => "",
    };
    io::Error::new(
        error.kind(),
        format!("cannot write to standard output: {error}{next}"),
    )
}

/// Prints a document for a program to read.
///
/// # Errors
/// When `out` cannot be written; a closed pipe stays recognisable as such.
pub fn print_json(out: &mut dyn Write, document: &impl Serialize) -> anyhow::Result<()> {
    // Not serialised straight to `out`: that would wrap the I/O error in one of JSON.
    let text = serde_json::to_string_pretty(document)?;
    writeln!(out, "{text}")?;
    Ok(())
}
