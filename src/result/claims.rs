// SPDX-License-Identifier: GPL-2.0-only
//! Which files this process reads and which it is about to write. No output takes the place of an
//! input, and no two outputs take the same place.
//!
//! Reading ([`super::file::read_text`]) and opening an output ([`super::target::Target`]) ask here
//! by themselves, so no command can forget it. Files are compared as the kernel compares them: by
//! device and inode, whatever their names, links and `/dev/stdin` included.

use nix::sys::stat::{FileStat, SFlag, fstat};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Why a file is neither read nor written. A wrong command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The output would replace an input.
    #[error("{} would overwrite {}, which is read; name another file", output.display(), input.display())]
    Input { output: PathBuf, input: PathBuf },
    /// What is printed would go into an input.
    #[error("what is printed goes into {}, which is read; send it elsewhere", input.display())]
    Printed { input: PathBuf },
    /// Two outputs are one file.
    #[error("{} and {} are one file, and only one output fits; name two files", one.display(), other.display())]
    Outputs { one: PathBuf, other: PathBuf },
    /// Two outputs go to standard output.
    #[error("two outputs go to standard output (-); name a file for one of them")]
    Stdout,
    /// What is no file can be read only once.
    #[error("standard input (-) and other pipes can be read only once")]
    Twice,
}

/// A file as the kernel knows it: device and inode.
type Id = (u64, u64);

/// Where an output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Stdout,
    File {
        /// None for one that is not there yet.
        id: Option<Id>,
        folder: Id,
        name: OsString,
    },
}

/// An input, as it was when it was read.
struct Read {
    path: PathBuf,
    id: Id,
}

#[derive(Default)]
struct Claims {
    read: Vec<Read>,
    /// Pipes that were read.
    pipes: Vec<Id>,
    /// With a number for each, by which it is given back.
    written: Vec<(u64, PathBuf, Place)>,
    last: u64,
}

static CLAIMS: Mutex<Claims> = Mutex::new(Claims {
    read: Vec::new(),
    pipes: Vec::new(),
    written: Vec::new(),
    last: 0,
});

/// An output that nobody else may read or write until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim(u64);

impl Drop for Claim {
    fn drop(&mut self) {
        with(|claims| claims.written.retain(|(number, ..)| *number != self.0));
    }
}

fn with<T>(use_it: impl FnOnce(&mut Claims) -> T) -> T {
    use_it(&mut CLAIMS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Notes that `path` is read; `there` is what the kernel says of it.
///
/// # Errors
/// When it is an output, or a pipe that was read before.
pub(crate) fn reads(path: &Path, there: &Metadata) -> Result<(), Conflict> {
    let id = (there.dev(), there.ino());
    if !there.is_file() {
        return with(|claims| match claims.pipes.contains(&id) {
            true => Err(Conflict::Twice),
            false => {
                claims.pipes.push(id);
                Ok(())
            }
        });
    }
    let input = || path.to_owned();
    if takes_prints(id) {
        return Err(Conflict::Printed { input: input() });
    }
    with(|claims| {
        let mut taken = claims.written.iter();
        let taken = taken.find(|(.., place)| match place {
            Place::Stdout => false,
            Place::File { id: there, .. } => *there == Some(id),
        });
        if let Some((_, output, _)) = taken {
            return Err(Conflict::Input {
                output: output.clone(),
                input: input(),
            });
        }
        claims.read.push(Read { path: input(), id });
        Ok(())
    })
}

/// Takes the file at `path`, whose links are resolved, for an output that the user calls `called`.
///
/// # Errors
/// When it is an input or another output.
pub(crate) fn writes(called: &Path, path: &Path) -> Result<Claim, Conflict> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    let folder = identity(super::target::folder(path)).unwrap_or_default();
    let id = identity(path);
    if let Some(input) = id.and_then(input_at) {
        return Err(Conflict::Input {
            output: called.to_owned(),
            input,
        });
    }
    if id.is_some_and(takes_prints) {
        return Err(Conflict::Outputs {
            one: PathBuf::from("what is printed"),
            other: called.to_owned(),
        });
    }
    take(
        called,
        Place::File {
            id,
            folder,
            name: path.file_name().unwrap_or_default().to_owned(),
        },
    )
}

/// Takes the file that is open as this descriptor, for an output that the user calls `called`;
/// nothing where it is no regular file.
///
/// # Errors
/// As [`writes`].
pub(crate) fn writes_stream(called: &Path, number: i32) -> Result<Option<Claim>, Conflict> {
    let path = PathBuf::from(format!("/proc/self/fd/{number}"));
    match fs::metadata(&path).is_ok_and(|there| there.is_file()) {
        true => writes(called, &path).map(Some),
        false => Ok(None),
    }
}

/// Takes standard output for one output alone.
///
/// # Errors
/// When another output has it, or it goes to an input.
pub(crate) fn prints() -> Result<Claim, Conflict> {
    if let Some(input) = regular(io::stdout().as_fd()).and_then(input_at) {
        return Err(Conflict::Printed { input });
    }
    take(Path::new("-"), Place::Stdout)
}

fn take(called: &Path, place: Place) -> Result<Claim, Conflict> {
    with(|claims| {
        let same = |other: &Place| match (&place, other) {
            (
                Place::File { id, folder, name },
                Place::File {
                    id: i,
                    folder: f,
                    name: n,
                },
            ) => (id.is_some() && id == i) || (folder, name) == (f, n),
            (one, other) => one == other,
        };
        if let Some((_, one, _)) = claims.written.iter().find(|(.., other)| same(other)) {
            return Err(match place {
                Place::Stdout => Conflict::Stdout,
                Place::File { .. } => Conflict::Outputs {
                    one: one.clone(),
                    other: called.to_owned(),
                },
            });
        }
        claims.last += 1;
        claims.written.push((claims.last, called.to_owned(), place));
        Ok(Claim(claims.last))
    })
}

/// Whether both paths lead to one file that is there.
pub fn is_one_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    identity(one).is_some_and(|id| Some(id) == identity(other))
}

/// The input that is this file. One that has gone is none: its number may be another file's by now.
fn input_at(id: Id) -> Option<PathBuf> {
    with(|claims| {
        let same = claims.read.iter().filter(|read| read.id == id);
        let mut paths = same.map(|read| &read.path);
        let is_there = |path: &&PathBuf| match path.as_os_str() == "-" {
            true => regular(io::stdin().as_fd()) == Some(id),
            false => fs::metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == id),
        };
        paths.find(is_there).cloned()
    })
}

/// Whether standard output or standard error goes there.
fn takes_prints(id: Id) -> bool {
    regular(io::stdout().as_fd()) == Some(id) || regular(io::stderr().as_fd()) == Some(id)
}

/// The file that a stream goes to or comes from, if it is a regular one.
fn regular(stream: BorrowedFd) -> Option<Id> {
    let there: FileStat = fstat(stream).ok()?;
    let kind = SFlag::from_bits_truncate(there.st_mode) & SFlag::S_IFMT;
    (kind == SFlag::S_IFREG).then_some((there.st_dev, there.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_one_file_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let claim = writes(Path::new("x"), &path).unwrap();
        let again = folder.path().join("./x");
        let refused = writes(Path::new("./x"), &again).unwrap_err();
        assert!(matches!(refused, Conflict::Outputs { .. }), "{refused}");
        drop(claim);
        fs::write(&path, "text").unwrap();
        let claim = writes(Path::new("x"), &path).unwrap();
        let there = fs::metadata(&path).unwrap();
        assert!(matches!(reads(&path, &there), Err(Conflict::Input { .. })));
        drop(claim);
        reads(&path, &there).unwrap();
        assert!(matches!(writes(&path, &path), Err(Conflict::Input { .. })));
        // Another file, which may have the number of the first.
        fs::remove_file(&path).unwrap();
        fs::write(folder.path().join("y"), "text").unwrap();
        writes(&path, &folder.path().join("y")).unwrap();
    }
}
