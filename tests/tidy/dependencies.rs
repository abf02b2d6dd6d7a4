// SPDX-License-Identifier: GPL-2.0-only
//! Dependencies that no source names.

use crate::files::{File, ending};

/// Packages whose library has another name.
const NAMES: [(&str, &str); 1] = [("artis-rt", "artis")];

/// Is `word` in the text, and no part of a longer one?
fn names(text: &str, word: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word)
    })
}

/// Each as a sentence.
pub fn unused() -> Vec<String> {
    let manifests: Vec<File> = ending(&["Cargo.toml"]).collect();
    let sources: Vec<File> = ending(&[".rs"]).collect();
    let folder = |file: &File| file.path.trim_end_matches("Cargo.toml").to_owned();
    let others: Vec<String> = manifests
        .iter()
        .map(folder)
        .filter(|it| !it.is_empty())
        .collect();
    let mut problems = Vec::new();
    let mut of_members = Vec::new();
    let mut of_workspace = Vec::new();
    for manifest in &manifests {
        let own = folder(manifest);
        // A package's sources are those below its folder, and below no other package's.
        let longer = |path: &str, other: &&String| {
            path.starts_with(other.as_str()) && other.len() > own.len()
        };
        let is_own = |file: &&File| {
            file.path.starts_with(&own) && !others.iter().any(|other| longer(&file.path, &other))
        };
        let own_sources: Vec<&File> = sources.iter().filter(is_own).collect();
        let table: toml::Table = manifest
            .text
            .parse()
            .unwrap_or_else(|e| panic!("{}: {e}", manifest.path));
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let listed = table.get(kind).and_then(toml::Value::as_table);
            for name in listed.into_iter().flat_map(toml::Table::keys) {
                of_members.push(name.clone());
                let other = NAMES.iter().find(|(package, _)| package == name);
                let word =
                    other.map_or_else(|| name.replace('-', "_"), |(_, word)| (*word).to_owned());
                if !own_sources.iter().any(|file| names(&file.text, &word)) {
                    problems.push(format!("{}: {kind}: no source names {name}", manifest.path));
                }
            }
        }
        let workspace = table
            .get("workspace")
            .and_then(|it| it.get("dependencies")?.as_table());
        of_workspace.extend(workspace.into_iter().flat_map(toml::Table::keys).cloned());
    }
    let unused = of_workspace
        .iter()
        .filter(|name| !of_members.contains(name));
    problems.extend(unused.map(|name| format!("Cargo.toml: no package depends on {name}")));
    problems
}

#[test]
fn a_name_is_a_whole_word() {
    assert!(names("use serde::Serialize;", "serde"));
    assert!(!names("use serde_json::Value;", "serde"));
}
