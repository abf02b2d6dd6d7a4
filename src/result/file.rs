// SPDX-License-Identifier: GPL-2.0-only
//! Result files on disk: read with the place of the damage. How they are written stands in
//! [`super::target`].

pub use super::target::{Target, rescue, to_json};

use super::claims::{self, Conflict};
use super::{Document, damage, standard};
use serde::de::DeserializeOwned;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// More is no result: it would take the machine's memory.
const READ_BYTES_MAX: u64 = 512 << 20;

/// What can go wrong with a result file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is an output of the same command, or was read already and is no file.
    #[error(transparent)]
    Conflict(#[from] Conflict),
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
    /// It is one of artis's files, and holds no single result.
    #[error(
        "{0}:1: this is an experiment (artis.experiment/1), not a single result; to see it, type: \
         artis compare {0}", path.display()
    )]
    Experiment { path: PathBuf },
}

/// Reads the text of `path`; `-` is standard input. Only regular files and pipes are read, and a
/// limited number of bytes.
///
/// # Errors
/// [`Error::Read`] and [`Error::Conflict`].
pub fn read_text(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let (there, file) = open(path).map_err(failed)?;
    claims::reads(path, &there)?;
    let mut content = Vec::new();
    file.take(READ_BYTES_MAX + 1)
        .read_to_end(&mut content)
        .and_then(|_| within_limit(content.len() as u64))
        .map_err(failed)?;
    Ok(content)
}

/// The size of a regular file, bytes; what is none has no end.
///
/// # Errors
/// [`Error::Read`].
pub fn regular(path: &Path) -> Result<u64, Error> {
    let there = fs::metadata(path).and_then(|there| match there.is_file() {
        true => Ok(there.len()),
        false => Err(no_regular_file(&there)),
    });
    there.map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

/// Opens what can be read to its end, and says what it is.
fn open(path: &Path) -> io::Result<(Metadata, File)> {
    let place = standard::resolve_input(path);
    if let standard::Path::Stream(0) = place {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let there = input.metadata()?;
        let kind = there.file_type();
        let is_terminal = io::IsTerminal::is_terminal(&input);
        let is_empty = kind.is_char_device() && is_null(&there);
        if !(there.is_file() || kind.is_fifo() || kind.is_socket() || is_terminal || is_empty) {
            return Err(no_regular_file(&there));
        }
        return Ok((there, input));
    }
    let there = fs::metadata(path)?;
    let is_pipe = matches!(place, standard::Path::Stream(_)) && there.file_type().is_fifo();
    if !there.is_file() && !is_pipe {
        return Err(no_regular_file(&there));
    }
    within_limit(there.len())?;
    Ok((there, File::open(path)?))
}

fn is_null(there: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == there.rdev())
}

fn within_limit(bytes: u64) -> io::Result<()> {
    match bytes <= READ_BYTES_MAX {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "it is larger than {} MiB, which is the most that artis reads",
            READ_BYTES_MAX >> 20
        ))),
    }
}

fn no_regular_file(there: &Metadata) -> io::Error {
    let kind = there.file_type();
    io::Error::other(if kind.is_dir() {
        "it is no regular file but a folder; name a file in it"
    } else if kind.is_fifo() {
        "it is no regular file but a named pipe; read it as standard input: - <PIPE"
    } else if kind.is_socket() {
        "it is no regular file but a socket; name a file"
    } else {
        "it is no regular file but a device; name a file"
    })
}

/// Reads a result file.
///
/// # Errors
/// [`Error::Read`] and [`Error::Damaged`].
pub fn read(path: &Path) -> Result<Document, Error> {
    parse(path, &read_text(path)?)
}

/// Understands the content of the result file at `path`.
///
/// # Errors
/// [`Error::Damaged`].
pub fn parse(path: &Path, content: &[u8]) -> Result<Document, Error> {
    if schema(content).as_deref() == Some(super::experiment::SCHEMA) {
        return Err(Error::Experiment {
            path: path.to_owned(),
        });
    }
    let document: Document = parse_as(path, content)?;
    // What has a line of its own was refused with it; this is about the document as a whole.
    document.check().map_err(|reason| {
        let text = String::from_utf8_lossy(content);
        let line = text.lines().position(|line| line.contains("\"series\""));
        Error::Damaged {
            path: path.to_owned(),
            line: line.map_or(1, |at| at + 1),
            column: 1,
            reason,
        }
    })?;
    Ok(document)
}

/// The name that a JSON file gives its format, also one that is damaged further on.
pub fn schema(content: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }

    let content = without_mark(content);
    let whole: Option<Head> = serde_json::from_slice(content).ok();
    whole.map(|head| head.schema).or_else(|| {
        let head = String::from_utf8_lossy(&content[..content.len().min(SCHEMA_BYTES)]);
        let (_, rest) = head.split_once("\"schema\"")?;
        let (_, rest) = rest.trim_start().strip_prefix(':')?.split_once('"')?;
        Some(rest.split_once('"')?.0.to_owned())
    })
}

/// The name stands so near to the beginning.
const SCHEMA_BYTES: usize = 4096;

/// The content behind a byte order mark, which some editors write.
fn without_mark(content: &[u8]) -> &[u8] {
    content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content)
}

/// Understands the content of one of artis's files, at `path`.
///
/// # Errors
/// [`Error::Damaged`].
pub fn parse_as<T: DeserializeOwned>(path: &Path, content: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(without_mark(content)).map_err(|error| damaged(path, &error))
}

/// What the parser found wrong with the file at `path`, in words.
pub fn damaged(path: &Path, error: &serde_json::Error) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        // An empty file ends in line 0.
        line: error.line().max(1),
        column: error.column().max(1),
        reason: damage::reason(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distribution, Kind, Series, Setup, Unit};

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        let target = Target::open(&path).unwrap();
        assert!(!path.exists());
        drop(target);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut document = Document::new(Setup::default());
        document.series.push(series());
        let target = Target::open(&path).unwrap();
        target.write_document(&document).unwrap();
        assert_eq!(read(&path).unwrap(), document);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_is_reported_and_leaves_nothing() {
        let target = Target::open(Path::new("/dev/full")).unwrap();
        let error = target.write(b"x").unwrap_err();
        assert!(error.to_string().contains("cannot write /dev/full"));
    }

    #[test]
    fn a_missing_folder_is_reported_before_the_run() {
        let error = Target::open(Path::new("/no/such/folder/file")).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder/file"));
    }

    #[test]
    fn damage_is_reported_with_its_place() {
        let place = Path::new("some.json");
        let message = |text: &str| parse(place, text.as_bytes()).unwrap_err().to_string();
        assert!(message("{\n \"schema\": 5}").starts_with("some.json:2:"));
        let other = message(r#"{"schema": "artis.check/1"}"#);
        assert!(other.contains("artis.result/1"), "{other}");
        assert!(message("").starts_with("some.json:1:1: the file ends"));
    }

    fn series() -> Series {
        Series::new("count", Kind::Count, Unit::Count, Distribution::new())
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        let mut document = Document::new(Setup::default());
        document.seconds = Some(10.0);
        document.series.push(series());
        let whole = serde_json::to_string_pretty(&document).unwrap();
        let refused = |from: &str, to: &str| {
            assert!(whole.contains(from), "{from} in {whole}");
            let text = whole.replacen(from, to, 1);
            let error = parse(Path::new("some.json"), text.as_bytes()).unwrap_err();
            let Error::Damaged { line, reason, .. } = error else {
                panic!("{error}");
            };
            (text.lines().nth(line - 1).unwrap().to_owned(), reason)
        };
        for seconds in ["-1", "1e308", "-1e-9"] {
            let (line, reason) = refused("10.0", seconds);
            assert!(line.contains("\"seconds\""), "{line}");
            assert!(
                reason.contains("36 years") && reason.len() < 120,
                "{reason}"
            );
        }
        let list = &whole[whole.find("\"series\": [").unwrap()..];
        let one = &list["\"series\": [".len()..list.rfind(']').unwrap()];
        let (line, reason) = refused(one, "");
        assert!(line.contains("\"series\""), "{line}");
        assert!(reason.contains("neither a series nor a load"), "{reason}");
        let (line, reason) = refused(one, &format!("{}, {one}", one.trim_end()));
        assert!(line.contains(['}', ']']), "{line}");
        assert!(reason.contains("second series \"count\""), "{reason}");
    }

    #[test]
    fn an_experiment_is_sent_to_the_command_that_reads_it() {
        let content = br#"{"schema": "artis.experiment/1", "rows": []}"#;
        let message = parse(Path::new("table1.json"), content)
            .unwrap_err()
            .to_string();
        assert!(
            message.ends_with("type: artis compare table1.json"),
            "{message}"
        );
    }

    #[test]
    fn a_document_cut_at_any_place_is_refused() {
        let mut document = Document::new(Setup::default());
        document.series.push(series());
        let whole = serde_json::to_string_pretty(&document).unwrap();
        for end in 0..whole.len() {
            let cut = &whole.as_bytes()[..end];
            let message = parse(Path::new("some.json"), cut).unwrap_err().to_string();
            assert!(
                message.starts_with("some.json:") && message.contains("ends in the middle"),
                "{message}"
            );
        }
    }
}
