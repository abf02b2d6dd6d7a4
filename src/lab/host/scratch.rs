// SPDX-License-Identifier: GPL-2.0-only
//! Temporary folders that do not outlive `kill -9`: the next `artis lab` removes what is left.
//!
//! A folder in use is locked (flock on the folder itself), and the kernel drops the lock when the
//! process ends in whatever way. So a folder of ours that nobody holds locked is a leftover.

use crate::Error;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::geteuid;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempDir};

/// How the names of temporary folders begin.
const PREFIX: &str = "artis-lab-";
/// How the names of folders begin that an error named to the user: these are not removed.
const KEPT: &str = "artis-lost-";

/// A temporary folder, removed when dropped.
pub struct Scratch {
    folder: TempDir,
    /// None where the file system has no locks; then nobody takes the folder for a leftover either.
    _lock: Option<Flock<File>>,
}

enum Locked {
    Yes(Flock<File>),
    /// Another process has it, or it is gone.
    No,
    Impossible,
}

impl Scratch {
    /// A new empty folder in `TMPDIR`, or in /tmp.
    ///
    /// # Errors
    /// [`Error::Scratch`].
    pub fn new() -> Result<Self, Error> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(place: &Path) -> Result<Self, Error> {
        loop {
            let folder = Builder::new().prefix(PREFIX).tempdir_in(place);
            let folder = folder.map_err(|source| Error::Scratch {
                path: place.to_owned(),
                source,
            })?;
            let lock = match lock(folder.path()) {
                Locked::Yes(lock) => Some(lock),
                Locked::Impossible => None,
                // Another artis took it for a leftover before it was locked.
                Locked::No => continue,
            };
            return Ok(Self {
                folder,
                _lock: lock,
            });
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `error`; when it names a console in this folder, the folder stays for the user to read,
    /// under a name that no later run removes.
    pub fn keep_console(self, mut error: Error) -> Error {
        if let Error::GuestLost { console, .. } = &mut error
            && let Ok(name) = console.strip_prefix(self.path()).map(Path::to_owned)
        {
            *console = self.keep().join(name);
        }
        error
    }

    fn keep(self) -> PathBuf {
        let folder = self.folder.keep();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let kept = folder.with_file_name(name.replacen(PREFIX, KEPT, 1));
        match fs::rename(&folder, &kept) {
            Ok(()) => kept,
            Err(_) => folder,
        }
    }
}

/// Removes the folders that killed runs of this user left in `TMPDIR`, or in /tmp.
pub fn remove_leftovers() {
    remove_leftovers_in(&std::env::temp_dir());
}

fn remove_leftovers_in(place: &Path) {
    // Leftovers cost space, nothing else: no failure here is worth an error.
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_named_so = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let is_ours = || {
            fs::symlink_metadata(&path)
                .is_ok_and(|data| data.is_dir() && data.uid() == geteuid().as_raw())
        };
        if is_named_so
            && is_ours()
            && let Locked::Yes(_lock) = lock(&path)
        {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Locks the folder at `path`, if nobody else has.
fn lock(path: &Path) -> Locked {
    let flags = (OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits();
    let folder = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(folder) => folder,
        Err(error) if error.kind() == ErrorKind::NotFound => return Locked::No,
        Err(_) => return Locked::Impossible,
    };
    match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
        Err((_, Errno::EWOULDBLOCK)) => Locked::No,
        Err(_) => Locked::Impossible,
        // It may have been removed between opening and locking.
        Ok(lock) => match (lock.metadata(), fs::symlink_metadata(path)) {
            (Ok(locked), Ok(there)) if locked.ino() == there.ino() => Locked::Yes(lock),
            _ => Locked::No,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As after `kill -9`: the folder is there, and nobody holds its lock.
    fn leftover(place: &Path) -> PathBuf {
        let path = place.join(format!("{PREFIX}left"));
        fs::create_dir_all(path.join("sub")).unwrap();
        fs::write(path.join("sub/file"), "x").unwrap();
        path
    }

    #[test]
    fn leftovers_are_removed_and_folders_in_use_are_not() {
        let place = tempfile::tempdir().unwrap();
        let left = leftover(place.path());
        let other = place.path().join("somebody-elses");
        fs::create_dir(&other).unwrap();
        let used = Scratch::new_in(place.path()).unwrap();
        remove_leftovers_in(place.path());
        assert!(!left.exists());
        assert!(other.exists() && used.path().exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }

    #[test]
    fn a_link_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("precious");
        fs::create_dir(&target).unwrap();
        let link = place.path().join(format!("{PREFIX}link"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        remove_leftovers_in(place.path());
        assert!(target.exists() && link.is_symlink());
    }

    #[test]
    fn the_console_of_a_lost_guest_stays() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::new_in(place.path()).unwrap();
        let console = scratch.path().join("console.log");
        fs::write(&console, "panic").unwrap();
        let error = scratch.keep_console(Error::GuestLost {
            what: String::new(),
            tail: String::new(),
            console,
            fault: None,
            begun: true,
        });
        remove_leftovers_in(place.path());
        let Error::GuestLost { console, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(fs::read_to_string(console).unwrap(), "panic");
    }

    #[test]
    fn a_place_without_room_is_named() {
        let error = Scratch::new_in(Path::new("/proc")).map(drop).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("/proc") && said.contains("TMPDIR"), "{said}");
    }
}
