// SPDX-License-Identifier: GPL-2.0-only
//! Files that others find whole: everybody may read them, and nobody else may change them, whatever
//! the umask.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces a file. Nobody else may write it meanwhile.
///
/// # Errors
/// When it cannot be written; the old one is there then.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    // One that was killed may have left a half one.
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o644)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)
}
