// SPDX-License-Identifier: GPL-2.0-only
//! Result files on disk: written whole or not at all, read with the place of the damage.
//!
//! A measurement may take hours, so its file is opened and its space reserved before it
//! begins: a folder that is not there or a full disk is found out at once.

use super::Document;
use nix::fcntl::{FallocateFlags, fallocate};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Reserved before a measurement; a result of 50 series takes less.
const RESERVED_BYTES: i64 = 1 << 20;

/// What can go wrong with a result file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be written.
    #[error("cannot write {}; nothing was left there, name another file", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// It is no result file, or a damaged one. The text begins with file, line and column.
    #[error("{}:{}:{}: {reason}", path.display(), line, column)]
    Damaged {
        path: PathBuf,
        line: usize,
        column: usize,
        reason: String,
    },
}

/// Where a document will be written.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Stdout,
    /// A pipe or device, which can only be written as it is.
    Stream(File),
    /// Renamed to its final name when complete; gone when dropped before.
    Unfinished(NamedTempFile),
}

impl Target {
    /// Opens `path` (`-` is standard output) and reserves its space.
    ///
    /// # Errors
    /// [`Error::Write`] when the folder cannot be written to or the disk is full.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write {
            path: path.to_owned(),
            source,
        };
        let place = if path == Path::new("-") {
            Place::Stdout
        } else if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            Place::Stream(OpenOptions::new().write(true).open(path).map_err(failed)?)
        } else {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            let file = tempfile::Builder::new()
                .prefix(".artis-unfinished-")
                .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
                .tempfile_in(folder.unwrap_or(Path::new(".")))
                .map_err(failed)?;
            match fallocate(&file, FallocateFlags::empty(), 0, RESERVED_BYTES) {
                // Some file systems cannot reserve; the write at the end still tells.
                Ok(()) | Err(nix::errno::Errno::EOPNOTSUPP) => {}
                Err(errno) => return Err(failed(errno.into())),
            }
            Place::Unfinished(file)
        };
        Ok(Self {
            path: path.to_owned(),
            place,
        })
    }

    /// Writes the document as JSON.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_document(self, document: &impl Serialize) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(document).map_err(|error| Error::Write {
            path: self.path.clone(),
            source: error.into(),
        })?;
        text.push(b'\n');
        self.write(&text)
    }

    /// Writes `content` and gives the file its name.
    ///
    /// # Errors
    /// [`Error::Write`]; the file is then not there, or the older one of that name still is.
    pub fn write(self, content: &[u8]) -> Result<(), Error> {
        let path = self.path;
        let written = match self.place {
            Place::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(content).and_then(|()| out.flush())
            }
            Place::Stream(mut file) => file.write_all(content),
            Place::Unfinished(mut file) => file
                .write_all(content)
                .and_then(|()| file.as_file().set_len(content.len() as u64))
                .and_then(|()| file.as_file().sync_all())
                .and_then(|()| Ok(file.persist(&path).map(drop)?)),
        };
        written.map_err(|source| Error::Write { path, source })
    }
}

/// Reads the text of `path`; `-` is standard input.
///
/// # Errors
/// [`Error::Read`].
pub fn read_text(path: &Path) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut content).map(drop)
    } else {
        fs::read(path).map(|bytes| content = bytes)
    };
    read.map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(content)
}

/// Reads a result file.
///
/// # Errors
/// [`Error::Read`] and [`Error::Damaged`].
pub fn read(path: &Path) -> Result<Document, Error> {
    parse(path, &read_text(path)?)
}

/// Understands the content of a result file that stands, or stood, at `path`.
///
/// # Errors
/// [`Error::Damaged`].
pub fn parse(path: &Path, content: &[u8]) -> Result<Document, Error> {
    parse_as(path, content)
}

/// Understands the content of one of artis' files that stands, or stood, at `path`.
///
/// # Errors
/// [`Error::Damaged`].
pub fn parse_as<T: DeserializeOwned>(path: &Path, content: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(content).map_err(|error| {
        let text = error.to_string();
        // The place stands in front already.
        let reason = text
            .rsplit_once(" at line ")
            .map_or(text.as_str(), |(reason, _)| reason);
        Error::Damaged {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            reason: reason.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setup;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        let target = Target::open(&path).unwrap();
        assert!(!path.exists());
        drop(target);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let document = Document::new(Setup::default());
        let target = Target::open(&path).unwrap();
        target.write_document(&document).unwrap();
        assert_eq!(read(&path).unwrap(), document);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_is_told_and_leaves_nothing() {
        let target = Target::open(Path::new("/dev/full")).unwrap();
        let error = target.write(b"x").unwrap_err();
        assert!(error.to_string().contains("cannot write /dev/full"));
    }

    #[test]
    fn a_missing_folder_is_told_before_the_run() {
        let error = Target::open(Path::new("/no/such/folder/file")).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder/file"));
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let place = Path::new("some.json");
        let message = |text: &str| parse(place, text.as_bytes()).unwrap_err().to_string();
        assert!(message("{\n \"schema\": 5}").starts_with("some.json:2:"));
        let other = message(r#"{"schema": "artis.check/1"}"#);
        assert!(other.contains("artis.result/1"), "{other}");
        assert!(message("").contains("EOF"));
    }
}
