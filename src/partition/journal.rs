// SPDX-License-Identifier: GPL-2.0-only
//! The undo journal: survives the death of the process that changed something.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One setting of the machine, changed by writing a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub path: PathBuf,
    /// What the file said before, without its final newline.
    pub old: String,
    pub new: String,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not write {value:?} to {path}", path = path.display())]
    Change {
        path: PathBuf,
        value: String,
        source: io::Error,
    },
    #[error("could not keep the undo journal {path}; nothing was changed", path = path.display())]
    Keep { path: PathBuf, source: io::Error },
    #[error("could not read or remove the undo journal {path}", path = path.display())]
    Journal { path: PathBuf, source: io::Error },
    #[error(
        "the undo journal {path} is damaged; see what it says, restore by hand, and remove it",
        path = path.display()
    )]
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
}

/// A journal in one file. The file exists exactly while there is something to undo.
#[derive(Clone, Debug)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Makes all changes, or none.
    ///
    /// # Errors
    /// When the journal could not be written (nothing was changed), or one of the files could
    /// not (what had been changed is undone).
    pub fn apply(&self, changes: &[Change]) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        self.keep(changes)?;
        for change in changes {
            if let Err(error) = write(&change.path, &change.new) {
                self.undo()?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Puts back what stood there before, last change first, and removes the journal.
    ///
    /// A setting that somebody else has changed since is theirs and stays; so does one whose
    /// file is gone. Returns what was put back.
    ///
    /// # Errors
    /// When the journal cannot be read, or a file cannot be written; the journal then stays,
    /// and a later call tries again.
    pub fn undo(&self) -> Result<Vec<Change>, Error> {
        let mut undone = Vec::new();
        for change in self.pending()?.into_iter().rev() {
            let ours = fs::read_to_string(&change.path).is_ok_and(|now| now.trim() == change.new);
            if ours {
                write(&change.path, &change.old)?;
                undone.push(change);
            }
        }
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(self.failed(source)),
            _ => Ok(undone),
        }
    }

    /// What there is to undo.
    ///
    /// # Errors
    /// When the journal cannot be read or understood.
    pub fn pending(&self) -> Result<Vec<Change>, Error> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.failed(source)),
        };
        serde_json::from_str(&text).map_err(|source| Error::Damaged {
            path: self.path.clone(),
            source,
        })
    }

    fn keep(&self, changes: &[Change]) -> Result<(), Error> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer_pretty(&mut file, changes)?;
            file.write_all(b"\n")?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            fs::File::open(folder)?.sync_all()
        };
        write().map_err(|source| Error::Keep {
            path: self.path.clone(),
            source,
        })
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Journal {
            path: self.path.clone(),
            source,
        }
    }
}

/// Writes a setting. Never creates a file: a setting that is not there cannot be set.
fn write(path: &Path, value: &str) -> Result<(), Error> {
    let write = || {
        fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(path)?
            .write_all(value.as_bytes())
    };
    write().map_err(|source| Error::Change {
        path: path.to_owned(),
        value: value.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with settings `a` = 1 and `b` = 2, and the changes to 10 and 20.
    fn machine() -> (tempfile::TempDir, Journal, Vec<Change>) {
        let folder = tempfile::tempdir().unwrap();
        let change = |name: &str, old: &str, new: &str| {
            let path = folder.path().join(name);
            fs::write(&path, format!("{old}\n")).unwrap();
            Change {
                path,
                old: old.to_owned(),
                new: new.to_owned(),
            }
        };
        let changes = vec![change("a", "1", "10"), change("b", "2", "20")];
        let journal = Journal::new(folder.path().join("undo.json"));
        (folder, journal, changes)
    }

    fn value(change: &Change) -> String {
        fs::read_to_string(&change.path).unwrap().trim().to_owned()
    }

    #[test]
    fn another_process_can_undo_what_this_one_did() {
        let (folder, journal, changes) = machine();
        journal.apply(&changes).unwrap();
        assert_eq!(value(&changes[0]), "10");
        let successor = Journal::new(folder.path().join("undo.json"));
        assert_eq!(successor.undo().unwrap().len(), 2);
        assert_eq!(value(&changes[0]), "1");
        assert_eq!(value(&changes[1]), "2");
        assert!(successor.undo().unwrap().is_empty());
    }

    #[test]
    fn a_change_that_fails_takes_the_others_back() {
        for failing in 0..3 {
            let (folder, journal, mut changes) = machine();
            let absent = Change {
                path: folder.path().join("absent/file"),
                old: "1".to_owned(),
                new: "2".to_owned(),
            };
            changes.insert(failing, absent);
            assert!(matches!(journal.apply(&changes), Err(Error::Change { .. })));
            changes.remove(failing);
            assert_eq!(value(&changes[0]), "1", "failing at {failing}");
            assert_eq!(value(&changes[1]), "2", "failing at {failing}");
            assert!(journal.pending().unwrap().is_empty());
        }
    }

    #[test]
    fn nothing_changes_without_a_journal() {
        let (folder, _, changes) = machine();
        let journal = Journal::new(folder.path().join("absent/undo.json"));
        assert!(matches!(journal.apply(&changes), Err(Error::Keep { .. })));
        assert_eq!(value(&changes[0]), "1");
    }

    #[test]
    fn what_somebody_else_changed_since_is_theirs() {
        let (_folder, journal, changes) = machine();
        journal.apply(&changes).unwrap();
        fs::write(&changes[0].path, "99").unwrap();
        assert_eq!(journal.undo().unwrap().len(), 1);
        assert_eq!(value(&changes[0]), "99");
    }

    #[test]
    fn a_damaged_journal_is_kept_and_reported() {
        let (_folder, journal, _) = machine();
        fs::write(&journal.path, "{").unwrap();
        assert!(matches!(journal.undo(), Err(Error::Damaged { .. })));
        assert!(journal.path.exists());
    }
}
