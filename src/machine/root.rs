// SPDX-License-Identifier: GPL-2.0-only
//! The folder below which `/proc`, `/sys` and the like are read.

use super::{CpuList, cpumask};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The root folder of the machine that is read: `/`, or a canned tree in a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(pub PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

/// A file of the machine exists and could not be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read {}", path.display())]
pub struct Unreadable {
    pub path: PathBuf,
    pub source: std::io::Error,
}

impl Unreadable {
    /// Why, and what to do about it, in one sentence.
    pub fn in_words(&self) -> String {
        let path = self.path.display();
        match self.source.kind() {
            ErrorKind::PermissionDenied if !nix::unistd::geteuid().is_root() => {
                format!("only root may read {path}; use sudo")
            }
            _ => format!("could not read {path}: {}", self.source),
        }
    }
}

impl Root {
    /// The real path of `path` (absolute, or relative to the root).
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a file without the white space at its ends; `None` when it does not exist.
    ///
    /// # Errors
    /// [`Unreadable`] for every other reason, such as missing permission.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Option<String>, Unreadable> {
        let path = self.path(path);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
            // A process that ended while its files are read answers ESRCH, a group or device that
            // was removed ENODEV.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                    || matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV)) =>
            {
                Ok(None)
            }
            Err(source) => Err(Unreadable { path, source }),
        }
    }

    /// The number in a file; `None` when it does not exist.
    ///
    /// # Errors
    /// As [`Root::read`], and when it holds something else.
    pub fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Result<Option<T>, Unreadable> {
        let Some(text) = self.read(&path)? else {
            return Ok(None);
        };
        let number = text.parse();
        number
            .map(Some)
            .map_err(|_| self.malformed(path, format!("not a number here: {text:?}")))
    }

    /// The CPU list in a file; `None` when it does not exist.
    ///
    /// # Errors
    /// As [`Root::read`], and when it holds something else.
    pub fn cpus(&self, path: impl AsRef<Path>) -> Result<Option<CpuList>, Unreadable> {
        self.parsed(path, CpuList::from_kernel)
    }

    /// The CPU mask in a file; `None` when it does not exist.
    ///
    /// # Errors
    /// As [`Root::cpus`].
    pub fn mask(&self, path: impl AsRef<Path>) -> Result<Option<CpuList>, Unreadable> {
        self.parsed(path, cpumask::parse)
    }

    fn parsed<T, E: std::fmt::Display>(
        &self,
        path: impl AsRef<Path>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Unreadable> {
        let path = path.as_ref();
        let Some(text) = self.read(path)? else {
            return Ok(None);
        };
        parse(&text)
            .map(Some)
            .map_err(|error| self.malformed(path, error.to_string()))
    }

    /// The names in a folder, in the order of their bytes; empty when it does not exist. Names
    /// that are not UTF-8 are left out: the kernel makes none.
    ///
    /// # Errors
    /// As [`Root::read`].
    pub fn names(&self, path: impl AsRef<Path>) -> Result<Vec<String>, Unreadable> {
        let path = self.path(path);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(Vec::new());
            }
            Err(source) => return Err(Unreadable { path, source }),
        };
        // An entry that cannot be read belongs to a process that has just ended.
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The error for a file whose content is not what it should be.
    pub fn malformed(&self, path: impl AsRef<Path>, reason: String) -> Unreadable {
        Unreadable {
            path: self.path(path),
            source: std::io::Error::new(ErrorKind::InvalidData, reason),
        }
    }

    /// As [`Root::read`], where unreadable means the same as absent.
    pub fn hint(&self, path: impl AsRef<Path>) -> Option<String> {
        self.read(path).ok().flatten()
    }

    /// Whether a file or folder with that name exists.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }
}

/// A canned machine for tests: a temporary folder with these files.
#[cfg(test)]
pub(crate) fn canned(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let root = Root(folder.path().to_owned());
    for (path, text) in files {
        let path = root.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    (folder, root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_stay_below_the_root() {
        let root = Root(PathBuf::from("/canned"));
        assert_eq!(
            root.path("/proc/cmdline"),
            Path::new("/canned/proc/cmdline")
        );
        assert_eq!(root.path("proc/cmdline"), Path::new("/canned/proc/cmdline"));
    }

    #[test]
    fn absent_is_none_and_unreadable_is_an_error_that_names_the_file() {
        let (_folder, root) = canned(&[("proc/cmdline", " quiet\n")]);
        assert_eq!(
            root.read("/proc/cmdline").unwrap().as_deref(),
            Some("quiet")
        );
        assert!(root.read("/proc/version").unwrap().is_none());
        assert!(root.read("/proc/cmdline/below").unwrap().is_none());
        let error = root.number::<u32>("/proc/cmdline").unwrap_err();
        assert!(error.source.to_string().contains("quiet"), "{error:?}");
        let error = root.read("/proc").unwrap_err();
        assert!(error.to_string().ends_with("/proc"), "{error}");
        assert_eq!(root.names("/proc").unwrap(), ["cmdline"]);
        assert!(root.names("/sys").unwrap().is_empty());
    }
}
