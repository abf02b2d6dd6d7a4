// SPDX-License-Identifier: GPL-2.0-only
//! Words, commits and links of documents.

use crate::files::{File, root};
use std::collections::BTreeMap;

/// Words that all documents together have at most, made tables too, as `wc -w` counts.
pub const WORDS_OF_ALL: usize = 20_000;
/// The page that may name commits.
pub const DECISIONS: &str = "docs/decisions.md";
/// The page whose tables are made by a program.
const RESULTS: &str = "docs/results/README.md";
/// Words that these have at most.
pub const WORDS: &[(&str, usize)] = &[
    ("README.md", 685),
    ("docs/decide.md", 1310),
    ("docs/experiments.md", 1400),
    ("docs/explain.md", 1900),
    ("docs/scheduler.md", 2775),
    (RESULTS, 900),
    (DECISIONS, 3370),
];

/// The lines that are neither of a table nor of a block of code.
pub fn prose(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence && !line.trim_start().starts_with('|')
    });
    lines.collect()
}

/// All words of a text, as `wc -w` counts.
pub fn all_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Words of a document; of the results beside tables.
pub fn words(page: &File) -> usize {
    match page.path.as_str() {
        RESULTS => prose(&page.text).into_iter().map(all_words).sum(),
        _ => all_words(&page.text),
    }
}

/// What looks like the hash of a commit, by its line. A made part names its own.
pub fn commits(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_made = false;
    for (line, text) in (1..).zip(text.lines()) {
        is_made = text.starts_with("<!-- made: ") || is_made && text != "<!-- end -->";
        if is_made {
            continue;
        }
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric()) {
            let is_hash = (7..=40).contains(&word.len())
                && word
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
                && word.bytes().any(|byte| byte.is_ascii_digit())
                && word.bytes().any(|byte| byte.is_ascii_lowercase());
            if is_hash {
                found.push((line, word.to_owned()));
            }
        }
    }
    found
}

/// The name that a heading has in links, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_anchor(text: &str, wanted: &str) -> bool {
    let lines = prose(text);
    let mut headings = lines.iter().filter(|line| line.starts_with('#'));
    headings.any(|line| anchor(line) == wanted)
        || lines
            .iter()
            .any(|line| line.contains(&format!("id=\"{wanted}\"")))
}

/// `a/b/../c` without what goes up.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The links of a page that lead nowhere, as sentences.
pub fn dead_links(path: &str, text: &str, pages: &BTreeMap<String, String>) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut dead = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let links = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
        let links = links.filter_map(|rest| rest.split([')', ' ']).next());
        for link in links.filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (file, wanted) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                path.to_owned()
            } else {
                plain(&format!("{folder}/{file}"))
            };
            if !root().join(&target).exists() {
                dead.push(format!("{path}:{line}: there is no {target}"));
            } else if let Some(text) = pages.get(&target)
                && !wanted.is_empty()
                && !has_anchor(text, wanted)
            {
                dead.push(format!("{path}:{line}: {target} has no heading #{wanted}"));
            }
        }
    }
    dead
}

#[test]
fn a_page_is_read_as_people_see_it() {
    let text = "# One `two`, three-four\n| a | b |\n```\ncode\n```\nsee 1a2b3c4 and 1234567\n";
    assert_eq!(prose(text).len(), 2);
    assert!(has_anchor(text, "one-two-three-four"));
    assert_eq!(commits(text), [(6, "1a2b3c4".to_owned())]);
    let made = "<!-- made: demo -->\ncommit 1a2b3c4\n<!-- end -->\n";
    assert_eq!(commits(made), []);
    assert_eq!(plain("docs/results/../kernels.md"), "docs/kernels.md");
}
