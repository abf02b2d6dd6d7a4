// SPDX-License-Identifier: GPL-2.0-only
//! How every command prints a document.

use serde::Serialize;
use std::io::Write;

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
