// SPDX-License-Identifier: GPL-2.0-only
//! The files by which artis processes find each other: `/run/artis`.
//!
//! A lock that only one scheduling process holds, its description of itself, and its socket.
//! When the lock is free and such files or an undo journal are there, a process was killed.

use super::detector::Detector;
use artis_machine::CpuList;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where the files are. Cleared at boot.
pub const FOLDER: &str = "/run/artis";

/// Who may open a file, even only to read it, may lock it: another user could keep the scheduler
/// from its start.
const LOCK_MODE: u32 = 0o600;

/// How a scheduling process describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub pid: u32,
    /// Seconds since 1970-01-01 00:00 UTC.
    pub since_unix_s: u64,
    pub rt_cpus: CpuList,
    pub nrt_cpus: CpuList,
    pub detector: Detector,
    pub kernel: String,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not {what} {path}", path = path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("could not understand {path}; if no artis runs, remove it", path = path.display())]
    Malformed {
        path: PathBuf,
        source: serde_json::Error,
    },
}

/// The folder.
#[derive(Clone, Debug)]
pub struct Runtime {
    folder: PathBuf,
}

/// Held by the one process that schedules. The kernel frees it when that process ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "held, not read")] Flock<File>);

impl Runtime {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Takes the lock; `None` when another process schedules.
    ///
    /// # Errors
    /// When the folder or the lock file cannot be created.
    pub fn lock(&self) -> Result<Option<Lock>, Error> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&self.folder)
            .map_err(fail("create", &self.folder))?;
        let path = self.folder.join("lock");
        let open = || -> io::Result<File> {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(LOCK_MODE)
                .custom_flags(nix::libc::O_NOFOLLOW)
                .open(&path)?;
            // Of an older artis, everybody may open it.
            file.set_permissions(Permissions::from_mode(LOCK_MODE))?;
            Ok(file)
        };
        let file = open().map_err(fail("create", &path))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Some(Lock(lock))),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, error)) => Err(fail("lock", &path)(error.into())),
        }
    }

    /// The description of the scheduling process, or of the last one.
    ///
    /// # Errors
    /// When the file exists and cannot be read or understood.
    pub fn state(&self) -> Result<Option<State>, Error> {
        let path = self.state_path();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fail("read", &path)(error)),
        };
        match serde_json::from_str(&text) {
            Ok(state) => Ok(Some(state)),
            Err(source) => Err(Error::Malformed { path, source }),
        }
    }

    /// Writes the description for others. Readers see the whole old one or the whole new one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_state(&self, state: &State) -> Result<(), Error> {
        let path = self.state_path();
        let write = || -> io::Result<()> {
            let mut file = tempfile::Builder::new()
                .permissions(Permissions::from_mode(0o644))
                .tempfile_in(&self.folder)?;
            serde_json::to_writer(&mut file, state)?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(fail("write", &path))
    }

    /// Removes what only makes sense while a process schedules.
    pub fn clear(&self) {
        // Files that are not there need not be removed, so errors do not matter.
        let _ = fs::remove_file(self.state_path());
        let _ = fs::remove_file(self.socket());
    }

    /// Where the scheduling process listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("sched.sock")
    }

    fn state_path(&self) -> PathBuf {
        self.folder.join("sched.json")
    }
}

impl Default for Runtime {
    fn default() -> Self {
        Self::new(FOLDER)
    }
}

fn fail(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { what, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::new(folder.path().join("artis"));
        let lock = runtime.lock().unwrap();
        assert!(lock.is_some());
        assert!(runtime.lock().unwrap().is_none());
        drop(lock);
        let path = folder.path().join("artis/lock");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), LOCK_MODE);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        drop(runtime.lock().unwrap());
        assert_eq!(mode(), LOCK_MODE);
        assert!(runtime.lock().unwrap().is_some());
    }

    #[test]
    fn the_description_comes_back_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::new(folder.path());
        assert_eq!(runtime.state().unwrap(), None);
        let state = State {
            pid: 7,
            since_unix_s: 1_800_000_000,
            rt_cpus: "2-3".parse().unwrap(),
            nrt_cpus: "0-1".parse().unwrap(),
            detector: Detector::Syscall,
            kernel: "7.3.4".to_owned(),
        };
        runtime.set_state(&state).unwrap();
        assert_eq!(runtime.state().unwrap(), Some(state));
        runtime.clear();
        assert_eq!(runtime.state().unwrap(), None);
    }

    #[test]
    fn nonsense_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("sched.json"), "nonsense").unwrap();
        let error = Runtime::new(folder.path()).state().unwrap_err();
        assert!(error.to_string().contains("sched.json"), "{error}");
    }
}
