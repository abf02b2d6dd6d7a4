// SPDX-License-Identifier: GPL-2.0-only
//! Where a result is written: a file that appears whole or not at all.
//!
//! A measurement may take hours. So its file is opened and its space is reserved before the
//! measurement begins: a missing folder or a full disk is found at once. When the file still cannot
//! be written at the end, its content goes to another folder, and the error names that file.

use super::claims::{self, Claim, Conflict};
use super::{standard, terminal};
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use serde::Serialize;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Reserved before a measurement; a result of 50 series takes less.
const RESERVED_BYTES: i64 = 1 << 20;

/// Files that only their owner may read.
const PRIVATE: u32 = 0o600;

/// What errors call standard output.
const STDOUT: &str = "standard output";

/// Why a file is not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is an input, or another output.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// It cannot be opened for writing.
    #[error("cannot write {}: {reason}", path.display())]
    Open { path: PathBuf, reason: String },
    /// It cannot be written, and its content is lost.
    #[error("cannot write {}; nothing was left there, name another file", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// It cannot be written, and its content is in another file.
    #[error("cannot write {}: {reason}; the result is in {}", path.display(), rescued.display())]
    Rescued {
        path: PathBuf,
        reason: String,
        rescued: PathBuf,
    },
}

/// Where a document will be written.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    place: Place,
    /// Nobody else reads or writes it meanwhile.
    _claim: Option<Claim>,
}

#[derive(Debug)]
enum Place {
    Stdout,
    /// A pipe or device, which can only be written as it is.
    Stream(File),
    /// Renamed to its final name when complete; removed when dropped before that.
    Unfinished {
        unfinished: NamedTempFile,
        becomes: PathBuf,
    },
}

impl Target {
    /// Opens `path` (`-` is standard output) and reserves its space. A link is followed: the file
    /// that it leads to is written. One of another user, who could not write there, is refused.
    ///
    /// # Errors
    /// [`Error::Conflict`], and [`Error::Open`] when the folder cannot be written to or the disk is
    /// full.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error| Error::Open {
            path: path.to_owned(),
            reason: reason(path, &error),
        };
        let file = match standard::resolve(path) {
            standard::Path::Stream(1) => {
                return Ok(Self {
                    path: PathBuf::from(STDOUT),
                    place: Place::Stdout,
                    _claim: Some(claims::prints()?),
                });
            }
            standard::Path::Stream(number) => {
                let claim = claims::writes_stream(path, number)?;
                return Ok(Self {
                    path: path.to_owned(),
                    place: Place::Stream(standard::writable(number).map_err(failed)?),
                    _claim: claim,
                });
            }
            standard::Path::File(file) => file,
        };
        // A link that is left is one that was not to be followed.
        let is_trap = |there: fs::Metadata| {
            let is_other = !there.is_file() && !there.is_dir();
            there.is_symlink() || is_other && standard::is_trap(&file, &file)
        };
        if fs::symlink_metadata(&file).is_ok_and(is_trap) {
            return Err(Error::Open {
                path: path.to_owned(),
                reason: format!(
                    "another user has put a link or a pipe at {}; remove it, or name another file",
                    file.display()
                ),
            });
        }
        if fs::metadata(&file).is_ok_and(|there| !there.is_file()) {
            let stream = OpenOptions::new().write(true).open(&file);
            return Ok(Self {
                path: path.to_owned(),
                place: Place::Stream(stream.map_err(failed)?),
                _claim: None,
            });
        }
        let claim = claims::writes(path, &file)?;
        let unfinished = named(".artis-unfinished-")
            .tempfile_in(folder(&file))
            .map_err(failed)?;
        match fallocate(&unfinished, FallocateFlags::empty(), 0, reservable()) {
            // Some file systems cannot reserve; a full disk then shows at the end.
            Ok(()) | Err(nix::errno::Errno::EOPNOTSUPP) => {}
            Err(errno) => return Err(failed(errno.into())),
        }
        Ok(Self {
            path: path.to_owned(),
            place: Place::Unfinished {
                unfinished,
                becomes: file,
            },
            _claim: Some(claim),
        })
    }

    /// Lets only this user read the file: it tells of other users' tasks.
    ///
    /// # Errors
    /// [`Error::Open`], as when the file system has no rights.
    pub fn private(self) -> Result<Self, Error> {
        if let Place::Unfinished { unfinished, .. } = &self.place {
            let made = unfinished
                .as_file()
                .set_permissions(Permissions::from_mode(PRIVATE));
            made.map_err(|error| Error::Open {
                path: self.path.clone(),
                reason: error.to_string(),
            })?;
        }
        Ok(self)
    }

    /// Whether it is standard output, which then has no room for a table.
    pub fn is_stdout(&self) -> bool {
        matches!(self.place, Place::Stdout)
    }

    /// Writes the document as JSON, elsewhere if it must.
    ///
    /// # Errors
    /// As [`write_or_rescue`](Self::write_or_rescue).
    pub fn write_document(self, document: &impl Serialize) -> Result<(), Error> {
        let text = to_json(document).map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })?;
        self.write_or_rescue(&text)
    }

    /// Writes `content` and gives the file its name.
    ///
    /// # Errors
    /// [`Error::Write`]; the file is then not there, or the older one of that name still is.
    pub fn write(self, content: &[u8]) -> Result<(), Error> {
        let path = self.path.clone();
        self.put(content)
            .map_err(|source| Error::Write { path, source })
    }

    /// Writes `content` as [`write`](Self::write) does. What cannot be written there is written
    /// beside it, or in a folder for temporary files: it took long to measure.
    ///
    /// # Errors
    /// [`Error::Rescued`], or [`Error::Write`] when no other folder took it either. A closed pipe
    /// is always the latter: its reader wants no more.
    pub fn write_or_rescue(self, content: &[u8]) -> Result<(), Error> {
        let path = self.path.clone();
        let beside = match &self.place {
            Place::Unfinished { becomes, .. } => Some(folder(becomes).to_owned()),
            Place::Stdout | Place::Stream(_) => None,
        };
        let Err(source) = self.put(content) else {
            return Ok(());
        };
        if source.kind() == ErrorKind::BrokenPipe {
            return Err(Error::Write { path, source });
        }
        match rescue(&path, beside, content) {
            Some(rescued) => Err(Error::Rescued {
                path,
                reason: source.to_string(),
                rescued,
            }),
            None => Err(Error::Write { path, source }),
        }
    }

    fn put(self, content: &[u8]) -> io::Result<()> {
        match self.place {
            Place::Stdout => standard::print(content),
            Place::Stream(mut file) => file.write_all(content),
            Place::Unfinished {
                mut unfinished,
                becomes,
            } => {
                unfinished.write_all(content)?;
                unfinished.as_file().set_len(content.len() as u64)?;
                unfinished.as_file().sync_all()?;
                Ok(unfinished.persist(&becomes).map(drop)?)
            }
        }
    }
}

/// A document as the text of its file.
///
/// # Errors
/// When it has a value that JSON has no form for.
pub fn to_json(document: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = terminal::json(&serde_json::to_string_pretty(document)?);
    text.push('\n');
    Ok(text.into_bytes())
}

/// Writes `content`, which `path` did not take, to a new file: in `beside`, or in a folder for
/// temporary files. Returns its path, or nothing when no folder took it.
pub fn rescue(path: &Path, beside: Option<PathBuf>, content: &[u8]) -> Option<PathBuf> {
    lift_size_limit();
    let part = |part: Option<&std::ffi::OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let stem = match path.to_str() {
        Some(STDOUT) => "result".to_owned(),
        _ => part(path.file_stem()),
    };
    let suffix = match path.extension() {
        None => String::new(),
        extension => format!(".{}", part(extension)),
    };
    let prefix = format!("artis-{stem}-");
    let folders = [
        beside,
        Some(std::env::temp_dir()),
        Some(PathBuf::from("/var/tmp")),
        std::env::current_dir().ok(),
    ];
    folders.into_iter().flatten().find_map(|folder| {
        // Perhaps a folder of everybody's, and the file was meant for another.
        let mut file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(&suffix)
            .permissions(Permissions::from_mode(PRIVATE))
            .tempfile_in(folder)
            .ok()?;
        file.write_all(content).ok()?;
        file.as_file().sync_all().ok()?;
        Some(file.keep().ok()?.1)
    })
}

/// What is reserved, bytes: not more than files of this process may have.
fn reservable() -> i64 {
    let limit = getrlimit(Resource::RLIMIT_FSIZE).map_or(RLIM_INFINITY, |(soft, _)| soft);
    i64::try_from(limit)
        .unwrap_or(i64::MAX)
        .clamp(1, RESERVED_BYTES)
}

/// Takes away the limit on the size of files (`ulimit -f`), as far as this process may: what was
/// measured is worth more.
fn lift_size_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_FSIZE) {
        let all = setrlimit(Resource::RLIMIT_FSIZE, RLIM_INFINITY, RLIM_INFINITY);
        let _ = all.or_else(|_| setrlimit(Resource::RLIMIT_FSIZE, hard, hard));
    }
}

/// A new file of its own, which others may read.
fn named(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(prefix)
        .permissions(Permissions::from_mode(0o644));
    builder
}

/// The folder of a file.
pub(crate) fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
}

/// Why `path` cannot be opened for writing, and what to do.
fn reason(path: &Path, error: &io::Error) -> String {
    let folder = folder(path);
    let (there, name) = (folder.is_dir(), folder.display());
    match error.kind() {
        ErrorKind::NotFound if !there => {
            format!("the folder {name} does not exist; create it, or name another file")
        }
        ErrorKind::NotFound => format!("{name} takes no new files; name a file elsewhere"),
        ErrorKind::NotADirectory => format!("{name} is no folder; name another file"),
        ErrorKind::IsADirectory => "it is a folder; name a file in it".to_owned(),
        ErrorKind::StorageFull => {
            format!("no space is left in {name}; free some, or name another file")
        }
        _ => format!("{error}; name another file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes what `path` will not take, and gives the content of the file that the error names.
    fn rescued(target: Target) -> (String, PathBuf) {
        match target.write_or_rescue(b"figures").unwrap_err() {
            Error::Rescued { rescued, .. } => {
                let content = fs::read_to_string(&rescued).unwrap();
                fs::remove_file(&rescued).unwrap();
                (content, rescued)
            }
            error => panic!("not rescued: {error}"),
        }
    }

    #[test]
    fn what_a_file_does_not_take_is_written_elsewhere() {
        let (content, place) = rescued(Target::open(Path::new("/dev/full")).unwrap());
        assert_eq!(content, "figures");
        assert!(!place.starts_with("/dev"), "{}", place.display());

        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        fs::create_dir(&gone).unwrap();
        let target = Target::open(&gone.join("result.json")).unwrap();
        fs::remove_dir_all(&gone).unwrap();
        let (content, place) = rescued(target);
        assert_eq!(content, "figures");
        assert_eq!(place.extension().unwrap(), "json");

        // A folder took the name meanwhile: there is room beside it.
        let taken = folder.path().join("taken.json");
        let target = Target::open(&taken).unwrap();
        fs::create_dir(&taken).unwrap();
        let (content, place) = rescued(target);
        assert_eq!(content, "figures");
        assert_eq!(place.parent().unwrap(), folder.path());
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_refused_before_the_run_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        for (path, words) in [
            (
                Path::new("/no/such/folder/file"),
                "/no/such/folder does not exist",
            ),
            (Path::new("/proc/version"), "/proc takes no new files"),
            (folder.path(), "name a file in it"),
            (Path::new("/dev/null/file"), "/dev/null is no folder"),
        ] {
            let error = Target::open(path).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("cannot write {}: ", path.display())),
                "{error}"
            );
            assert!(error.contains(words), "{error}");
        }
    }
}
