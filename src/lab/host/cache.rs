// SPDX-License-Identifier: GPL-2.0-only
//! The lab's cache folder: one per user, safe against a kill at any moment and against other runs.
//!
//! Whatever has its final name is complete: files and folders get a temporary name, are written to
//! disk, and are renamed. Writers hold one lock; readers need none.

use crate::Error;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile, TempDir};

/// How temporary names begin. The holder of the lock may remove what an earlier kill left behind.
const UNFINISHED: &str = ".unfinished-";

/// The cache folder.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// The right to change the cache. It ends when dropped, also when the process is killed.
pub struct Lock(#[allow(dead_code, reason = "held for its Drop")] Flock<File>);

impl Cache {
    /// The user's own cache, `$XDG_CACHE_HOME/artis` or `~/.cache/artis`; created when missing.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn per_user() -> Result<Self, Error> {
        // The base directory specification: a relative XDG_CACHE_HOME is to be ignored.
        let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let base = match named.filter(|path| path.is_absolute()) {
            Some(path) => path,
            None => std::env::home_dir()
                .unwrap_or_else(|| PathBuf::from("/root"))
                .join(".cache"),
        };
        Self::at(base.join("artis"))
    }

    /// A cache in `root`, created when missing.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn at(root: PathBuf) -> Result<Self, Error> {
        fs::create_dir_all(&root).map_err(Error::io("create", &root))?;
        Ok(Self { root })
    }

    /// The folder `name` in the cache, created when missing.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.root.join(name);
        fs::create_dir_all(&path).map_err(Error::io("create", &path))?;
        Ok(path)
    }

    /// Path of `name` in the cache; its parent folder exists afterwards.
    ///
    /// # Errors
    /// When the parent folder cannot be created.
    pub fn path(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.root.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        }
        Ok(path)
    }

    /// Waits until no other run changes the cache; calls `waiting` first if one does.
    ///
    /// # Errors
    /// When the system cannot lock.
    pub fn lock(&self, waiting: impl FnOnce()) -> Result<Lock, Error> {
        let path = self.path("lock")?;
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        let lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((file, nix::errno::Errno::EWOULDBLOCK)) => {
                waiting();
                Flock::lock(file, FlockArg::LockExclusive)
                    .map_err(|(_, errno)| Error::io("lock", &path)(errno.into()))?
            }
            Err((_, errno)) => return Err(Error::io("lock", &path)(errno.into())),
        };
        self.remove_unfinished();
        Ok(Lock(lock))
    }

    /// A new empty folder with a temporary name beside `path`, removed when dropped.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn unfinished_folder(&self, path: &Path) -> Result<TempDir, Error> {
        let parent = path.parent().unwrap_or(&self.root);
        Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(parent)
            .map_err(Error::io("create a folder in", parent))
    }

    /// Gives a complete folder its final name.
    ///
    /// # Errors
    /// When it cannot be written to disk or renamed.
    pub fn finish_folder(&self, folder: TempDir, path: &Path) -> Result<(), Error> {
        // One call for all files in it.
        File::open(folder.path())
            .and_then(|open| Ok(nix::unistd::syncfs(open)?))
            .map_err(Error::io("write", folder.path()))?;
        fs::rename(folder.path(), path).map_err(Error::io("create", path))
    }

    /// Replaces the file at `path` by `content`, completely or not at all.
    ///
    /// # Errors
    /// When it cannot be written; an older file of that name then stays.
    pub fn write_file(&self, path: &Path, content: &[u8]) -> Result<(), Error> {
        let parent = path.parent().unwrap_or(&self.root);
        let mut file = NamedTempFile::with_prefix_in(UNFINISHED, parent)
            .map_err(Error::io("create a file in", parent))?;
        file.write_all(content)
            .and_then(|()| file.as_file().sync_all())
            .map_err(Error::io("write", path))?;
        file.persist(path)
            .map_err(|error| Error::io("write", path)(error.error))?;
        Ok(())
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file without a name, for one run: it is gone when the last process that has it open ends.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn nameless_file(&self) -> Result<File, Error> {
        tempfile::tempfile_in(&self.root).map_err(Error::io("create a file in", &self.root))
    }

    fn remove_unfinished(&self) {
        for folder in [
            self.root.clone(),
            self.root.join("kernels"),
            self.root.join("emulators"),
            self.root.join("modules"),
            self.root.join(super::crates::FOLDER),
        ] {
            // A folder that cannot be read holds nothing that this process could remove.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                    let path = entry.path();
                    // Leftovers only cost space: not worth an error.
                    let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("artis")).unwrap();
        (folder, cache)
    }

    #[test]
    fn what_a_killed_run_left_is_removed_by_the_next_lock() {
        let (_folder, cache) = cache();
        let done = cache.path("kernels/done").unwrap();
        let left = cache.unfinished_folder(&done).unwrap().keep();
        fs::write(left.join("part"), "x").unwrap();
        fs::create_dir(&done).unwrap();
        let _lock = cache.lock(|| ()).unwrap();
        assert!(!left.exists());
        assert!(done.exists());
    }

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let (_folder, cache) = cache();
        let path = cache.path("kernels/k").unwrap();
        let folder = cache.unfinished_folder(&path).unwrap();
        fs::write(folder.path().join("vmlinuz"), "image").unwrap();
        assert!(!path.exists());
        cache.finish_folder(folder, &path).unwrap();
        assert_eq!(fs::read(path.join("vmlinuz")).unwrap(), b"image");
    }

    #[test]
    fn a_second_writer_waits_and_says_so() {
        let (_folder, cache) = cache();
        let first = cache.lock(|| panic!("nobody to wait for")).unwrap();
        let other = cache.clone();
        let (sender, receiver) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || {
            let _lock = other.lock(|| sender.send(()).unwrap()).unwrap();
        });
        receiver.recv().unwrap();
        drop(first);
        second.join().unwrap();
    }

    #[test]
    fn a_file_is_replaced() {
        let (_folder, cache) = cache();
        let path = cache.path("index.json").unwrap();
        cache.write_file(&path, b"old").unwrap();
        cache.write_file(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
