// SPDX-License-Identifier: GPL-2.0-only
//! What the unit tests of several packages need: canned machines, and a made-up experiment.

pub mod experiment;

use artis_machine::Root;
use std::path::Path;
use tempfile::TempDir;

/// A temporary folder with these files, by their paths below it.
///
/// # Panics
/// When the folder or a file cannot be written.
pub fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in files {
        let path = folder.path().join(path.trim_start_matches('/'));
        let parent = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).expect("a folder below a temporary one");
        std::fs::write(path, text).expect("a file in a temporary folder");
    }
    folder
}

/// A canned machine: a temporary folder with these files, and the root that reads there.
///
/// # Panics
/// As [`tree`].
pub fn canned(files: &[(&str, &str)]) -> (TempDir, Root) {
    let folder = tree(files);
    let root = Root(folder.path().to_owned());
    (folder, root)
}
