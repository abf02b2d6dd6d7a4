// SPDX-License-Identifier: GPL-2.0-only
//! Unpacks the files that a guest sends back, without trusting it.
//!
//! A command in the guest may be broken or hostile. Only plain files and folders inside the output
//! folder are created; everything else is left out, and named.

use super::record;
use crate::Error;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

/// Files the lab itself writes into the output folder.
pub const RESERVED: &[&str] = &[record::FILE, record::CONSOLE];

/// What came back.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Files written, relative to the output folder.
    pub files: Vec<PathBuf>,
    /// What was left out, and why.
    pub refused: Vec<String>,
}

/// Unpacks a tar archive into `folder`.
///
/// # Errors
/// When the archive is damaged or the folder cannot be written.
pub fn unpack(archive: impl Read, folder: &Path) -> Result<Unpacked, Error> {
    let mut unpacked = Unpacked::default();
    let unpack = || -> io::Result<()> {
        for entry in tar::Archive::new(archive).entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            match refusal(&path, entry.header().entry_type()) {
                Some(reason) => unpacked
                    .refused
                    .push(format!("{}: {reason}", path.display())),
                None if entry.header().entry_type().is_dir() && is_root(&path) => {}
                // Checks again that the target, links resolved, lies inside the folder.
                None if !entry.unpack_in(folder)? => unpacked
                    .refused
                    .push(format!("{}: it lies outside the folder", path.display())),
                None if entry.header().entry_type().is_file() => {
                    unpacked
                        .files
                        .push(path.components().filter(is_name).collect());
                }
                None => admit_owner(&folder.join(&path))?,
            }
        }
        Ok(())
    };
    unpack().map_err(Error::io("unpack the guest's files into", folder))?;
    Ok(unpacked)
}

/// Lets an ordinary user write into a folder that was unpacked, whatever its mode in the guest.
fn admit_owner(folder: &Path) -> io::Result<()> {
    let mode = fs::metadata(folder)?.permissions().mode();
    fs::set_permissions(folder, Permissions::from_mode(mode | 0o700))
}

fn refusal(path: &Path, kind: tar::EntryType) -> Option<&'static str> {
    if !kind.is_file() && !kind.is_dir() {
        return Some("only plain files and folders are brought back");
    }
    let inside = |part: Component| matches!(part, Component::CurDir | Component::Normal(_));
    if !path.components().all(inside) {
        return Some("it lies outside the folder");
    }
    let mut names = path.components().filter(is_name);
    let first = names.next()?;
    let reserved = RESERVED.iter().any(|name| first.as_os_str() == *name);
    (reserved && names.next().is_none()).then_some("the lab writes a file of this name itself")
}

fn is_name(part: &Component) -> bool {
    matches!(part, Component::Normal(_))
}

fn is_root(path: &Path) -> bool {
    !path.components().any(|part| is_name(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with entries that the tar crate itself refuses to build.
    fn archive(entries: &[(&str, tar::EntryType, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            if kind.is_file() {
                header.set_size(content.len() as u64);
            } else {
                header.set_size(0);
            }
            if kind.is_symlink() || kind.is_hard_link() {
                header.set_link_name(content).unwrap();
            }
            header.set_cksum();
            let data = if kind.is_file() { content } else { "" };
            builder.append(&header, data.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn files_and_folders_come_back() {
        use tar::EntryType::{Directory, Regular};
        let folder = tempfile::tempdir().unwrap();
        let sent = archive(&[
            ("./", Directory, ""),
            ("./sub/", Directory, ""),
            ("./sub/a.txt", Regular, "hello"),
        ]);
        let unpacked = unpack(sent.as_slice(), folder.path()).unwrap();
        assert_eq!(unpacked.files, [PathBuf::from("sub/a.txt")]);
        assert_eq!(unpacked.refused, Vec::<String>::new());
        let written = folder.path().join("sub/a.txt");
        assert_eq!(fs::read_to_string(written).unwrap(), "hello");
    }

    #[test]
    fn nothing_leaves_the_folder_and_nothing_special_comes_in() {
        use tar::EntryType::{Fifo, Link, Regular, Symlink};
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("output");
        fs::create_dir(&folder).unwrap();
        let sent = archive(&[
            ("../outside", Regular, "x"),
            ("/tmp/outside", Regular, "x"),
            ("door", Symlink, ".."),
            ("door/outside", Regular, "inside after all"),
            ("hard", Link, "../../etc/passwd"),
            ("pipe", Fifo, ""),
            ("./run.json", Regular, "{}"),
            ("console.log", Regular, ""),
            ("sub/run.json", Regular, "{}"),
        ]);
        let unpacked = unpack(sent.as_slice(), &folder).unwrap();
        assert_eq!(unpacked.refused.len(), 7, "{:?}", unpacked.refused);
        assert_eq!(
            unpacked.files,
            ["door/outside", "sub/run.json"].map(PathBuf::from)
        );
        assert!(!outer.path().join("outside").exists());
        assert!(folder.join("door").is_dir() && !folder.join("door").is_symlink());
    }

    #[test]
    fn a_link_that_was_in_the_folder_before_is_not_followed() {
        use tar::EntryType::Regular;
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("output");
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink("..", folder.join("door")).unwrap();
        let sent = archive(&[("door/outside", Regular, "x")]);
        // Refused or an error, as long as nothing is written.
        let _ = unpack(sent.as_slice(), &folder);
        assert!(!outer.path().join("outside").exists());
    }
}
