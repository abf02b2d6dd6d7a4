// SPDX-License-Identifier: GPL-2.0-only
//! Keeps the sources and the documents short and whole, as TigerBeetle's `src/tidy.zig` does: a
//! program that fails, and no rule that somebody has to remember.
//!
//! What is too long today is in [`exceptions`]. An exception that is no longer needed, or that has
//! become smaller than its number, fails, too: so the list only gets shorter.

#![cfg(test)]

mod code;
mod dependencies;
mod documents;
mod exceptions;
mod files;
mod licences;

use exceptions::Exception;
use std::collections::BTreeMap;

/// Fails with all of these sentences.
#[track_caller]
fn none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// Compares what is longer than `limit` with the exceptions.
#[track_caller]
fn within(limit: usize, what: &str, found: &BTreeMap<String, usize>, exceptions: &[Exception]) {
    let listed: BTreeMap<&str, usize> = exceptions.iter().copied().collect();
    assert_eq!(
        listed.len(),
        exceptions.len(),
        "an exception is listed twice"
    );
    let long = found.iter().filter(|(_, length)| **length > limit);
    let mut problems: Vec<String> = long
        .filter_map(|(name, length)| match listed.get(name.as_str()) {
            None => Some(format!("{name}: {length} {what}, {limit} at most")),
            Some(listed) if length > listed => Some(format!(
                "{name}: {length} {what}; an exception allows {listed}, and none may grow"
            )),
            Some(listed) if length < listed => Some(format!(
                "{name}: {length} {what} now; write that in exceptions.rs in the place of {listed}"
            )),
            Some(_) => None,
        })
        .collect();
    let needed = |name: &str| found.get(name).is_some_and(|length| *length > limit);
    let unneeded = listed.keys().filter(|name| !needed(name));
    problems.extend(unneeded.map(|name| format!("{name}: remove it from exceptions.rs")));
    none(&problems);
}

#[test]
fn what_is_linked_has_a_licence_that_fits() {
    none(&licences::unfit());
}

#[test]
fn no_file_of_code_is_long() {
    let found = files::code()
        .map(|file| (file.path.clone(), file.text.lines().count()))
        .collect();
    within(500, "lines", &found, exceptions::FILES);
}

#[test]
fn no_function_is_long() {
    let mut found = BTreeMap::new();
    for file in files::code() {
        for function in code::functions(&file) {
            let name = format!("{}: {}", file.path, function.name);
            let longest = found.entry(name).or_insert(0);
            *longest = function.lines.max(*longest);
        }
    }
    within(80, "lines", &found, exceptions::FUNCTIONS);
}

#[test]
fn no_line_is_long() {
    let found = files::code()
        .map(|file| (file.path.clone(), code::long_lines(&file, 100)))
        .collect();
    within(
        0,
        "lines of more than 100 columns",
        &found,
        exceptions::COLUMNS,
    );
}

#[test]
fn what_the_compiler_must_not_say_has_a_reason() {
    let problems = files::code().filter(|file| file.path.ends_with(".rs"));
    let problems: Vec<String> = problems
        .flat_map(|file| {
            let silent = code::without_reason(&file.text);
            silent
                .into_iter()
                .map(move |line| format!("{}:{line}: say why: reason = \"…\"", file.path))
        })
        .collect();
    none(&problems);
}

#[test]
fn documents_are_short() {
    let words: BTreeMap<String, usize> = files::documents()
        .map(|page| (page.path.clone(), documents::words(&page)))
        .collect();
    let mut problems = Vec::new();
    for (path, most) in documents::WORDS {
        match words.get(*path) {
            Some(words) if words > most => {
                problems.push(format!("{path}: {words} words, {most} at most"));
            }
            Some(_) => {}
            None => problems.push(format!("{path}: there is no such document")),
        }
    }
    let all: usize = files::documents()
        .map(|page| documents::all_words(&page.text))
        .sum();
    if all > documents::WORDS_OF_ALL {
        let most = documents::WORDS_OF_ALL;
        problems.push(format!("README.md and docs/: {all} words, {most} at most"));
    }
    none(&problems);
}

#[test]
fn commits_are_named_in_decisions_only() {
    let pages = files::documents().filter(|page| page.path != documents::DECISIONS);
    let problems: Vec<String> = pages
        .flat_map(|page| {
            let commits = documents::commits(&page.text);
            commits.into_iter().map(move |(line, hash)| {
                format!(
                    "{}:{line}: {hash} is a commit; git knows the history",
                    page.path
                )
            })
        })
        .collect();
    none(&problems);
}

#[test]
fn links_lead_somewhere() {
    let pages: BTreeMap<String, String> = files::documents()
        .map(|page| (page.path, page.text))
        .collect();
    let problems: Vec<String> = pages
        .iter()
        .flat_map(|(path, text)| documents::dead_links(path, text, &pages))
        .collect();
    none(&problems);
}

#[test]
fn every_dependency_is_used() {
    none(&dependencies::unused());
}
