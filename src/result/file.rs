// SPDX-License-Identifier: GPL-2.0-only
//! Result files on disk: read with the place of the damage. How they are written stands in
//! [`super::target`].

pub use super::target::{Target, rescue, to_json};

use super::Document;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What can go wrong with a result file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
