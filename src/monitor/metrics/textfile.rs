// SPDX-License-Identifier: GPL-2.0-only
//! Puts metrics where node_exporter's textfile collector takes them: whole or not at all.
//!
//! The new text is written beside the file, under a name that the collector does not take, and
//! takes its place when it is complete. So a full disk leaves the old one.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What the collector's files end with.
const ENDING: &str = "prom";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{path} would not be read: the textfile collector takes files that end with .prom; write \
         {path}.prom",
        path = .0.display()
    )]
    Ending(PathBuf),
    #[error("could not write {path}; {next}", path = path.display())]
    Write {
        path: PathBuf,
        next: &'static str,
        source: io::Error,
    },
}

/// Whether the collector would take this file.
///
/// # Errors
/// When its name does not end as the collector wants it.
pub fn check(path: &Path) -> Result<(), Error> {
    match path.extension().is_some_and(|ending| ending == ENDING) {
        true => Ok(()),
        false => Err(Error::Ending(path.to_owned())),
    }
}

/// Replaces the file. Everybody may read it: the collector is another user.
///
/// # Errors
/// When it cannot be written; the old one is there then.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    check(path)?;
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let written = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".artis-")
            .suffix(".new")
            .tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file()
            .set_permissions(Permissions::from_mode(0o644))?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|source| Error::Write {
        path: path.to_owned(),
        next: next(source.kind()),
        source,
    })
}

fn next(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => {
            "create its folder, and name it with --collector.textfile.directory of node_exporter"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free space there; the file stays as it was"
        }
        ErrorKind::PermissionDenied => "name a folder that artis may write to, or run it as root",
        _ => "the file stays as it was",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn the_file_is_replaced_as_a_whole_and_everybody_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("artis.prom");
        write(&path, "a 1\n").unwrap();
        write(&path, "a 2\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a 2\n");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(names(folder.path()), ["artis.prom"]);
    }

    #[test]
    fn a_name_that_nobody_reads_and_a_folder_that_is_not_there_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let said = write(&folder.path().join("artis.txt"), "")
            .unwrap_err()
            .to_string();
        assert!(said.contains("artis.txt.prom"), "{said}");
        let said = write(&folder.path().join("none/artis.prom"), "").unwrap_err();
        assert!(said.to_string().contains("create its folder"), "{said}");
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn a_link_in_its_place_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (
            folder.path().join("artis.prom"),
            folder.path().join("other"),
        );
        std::fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        write(&path, "a 1\n").unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a 1\n");
    }
}
