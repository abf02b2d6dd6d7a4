// SPDX-License-Identifier: GPL-2.0-only
//! The form in which the kernel takes an initramfs: a "newc" cpio archive, uncompressed. Unpacking
//! would cost an emulated CPU more time than copying does.

use super::Entry;
use crate::Error;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Writes the entries, which are in the order of their paths: each folder before its content.
pub(super) fn write(entries: &BTreeMap<PathBuf, Entry>, out: &File) -> Result<(), Error> {
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let archive = Path::new("initramfs");
    for (inode, (path, entry)) in (1u32..).zip(entries) {
        let host = match entry {
            Entry::Copy(host, _) => host,
            _ => archive,
        };
        write_entry(&mut out, path, entry, inode).map_err(Error::io("copy", host))?;
    }
    cpio::newc::trailer(&mut out)
        .and_then(|out| out.flush())
        .map_err(Error::io("write", archive))
}

fn write_entry(out: &mut dyn Write, path: &Path, entry: &Entry, inode: u32) -> io::Result<()> {
    const FOLDER: u32 = 0o040_000;
    const FILE: u32 = 0o100_000;
    const LINK: u32 = 0o120_000;
    let (mode, mut content): (u32, Box<dyn io::Read>) = match entry {
        Entry::Folder => (FOLDER | 0o755, Box::new(io::empty())),
        Entry::Link(target) => (
            LINK | 0o777,
            Box::new(io::Cursor::new(target.as_os_str().as_bytes())),
        ),
        Entry::Text(text, mode) => (FILE | mode, Box::new(io::Cursor::new(text))),
        Entry::Copy(host, mode) => (FILE | mode, Box::new(File::open(host)?)),
    };
    let size = match entry {
        Entry::Folder => 0,
        Entry::Link(target) => target.as_os_str().len() as u64,
        Entry::Text(text, _) => text.len() as u64,
        Entry::Copy(host, _) => fs::metadata(host)?.len(),
    };
    let size = u32::try_from(size).map_err(|_| io::Error::other("larger than 4 GiB"))?;
    // The archive's paths are relative to its root.
    let name = path.strip_prefix("/").unwrap_or(path);
    let name = name
        .to_str()
        .ok_or_else(|| io::Error::other("its guest path is not UTF-8"))?;
    let mut entry = cpio::newc::Builder::new(name)
        .ino(inode)
        .mode(mode)
        .write(out, size);
    let copied = io::copy(&mut content, &mut entry)?;
    if copied != u64::from(size) {
        return Err(io::Error::other("it changed while it was read"));
    }
    entry.finish()?;
    Ok(())
}
