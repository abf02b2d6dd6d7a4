// SPDX-License-Identifier: GPL-2.0-only
//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of text.
pub struct File {
    /// From the root of the repository on.
    pub path: String,
    pub text: String,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where sources are, and what there is none of ours.
const FOLDERS: [&str; 8] = [
    "benches",
    "docs",
    "fuzz",
    "lab",
    "packaging",
    "scripts",
    "src",
    "tests",
];
const FOREIGN: [&str; 3] = ["tests/data", "fuzz/corpus", "fuzz/target"];

fn below(folder: &str, found: &mut Vec<String>) {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = format!("{folder}/{}", name.to_string_lossy());
        if FOREIGN.contains(&path.as_str()) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Every file with one of these endings, by its path.
pub fn ending(endings: &[&str]) -> impl Iterator<Item = File> {
    let mut paths: Vec<String> = fs::read_dir(root())
        .expect("the repository's folder")
        .flatten()
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    for folder in FOLDERS {
        below(folder, &mut paths);
    }
    paths.retain(|path| endings.iter().any(|ending| path.ends_with(ending)));
    paths.sort();
    paths.into_iter().map(|path| {
        let text = fs::read_to_string(root().join(&path));
        let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
        File { path, text }
    })
}

/// Sources in Rust and C.
pub fn code() -> impl Iterator<Item = File> {
    ending(&[".rs", ".c", ".h"])
}

/// README and the pages of docs/.
pub fn documents() -> impl Iterator<Item = File> {
    ending(&[".md"]).filter(|file| file.path == "README.md" || file.path.starts_with("docs/"))
}
