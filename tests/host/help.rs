// SPDX-License-Identifier: GPL-2.0-only
//! The help of every command: it fits 80 columns, without ragged paragraphs, and ends with an
//! example.

use std::process::Command;

const COLUMNS: usize = 80;

/// What this command prints for `--help` on a terminal of [`COLUMNS`].
fn help(words: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_artis"))
        .args(words)
        .arg("--help")
        .env("COLUMNS", COLUMNS.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands below this one, by its help.
fn below(help: &str) -> Vec<String> {
    let list = help
        .split_once("\nCommands:\n")
        .map_or("", |(_, list)| list);
    let names = list.lines().take_while(|line| !line.is_empty());
    names
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn every_command(words: &[String], all: &mut Vec<(String, String)>) {
    let text = help(words);
    for name in below(&text) {
        every_command(&[words, &[name]].concat(), all);
    }
    all.push((words.join(" "), text));
}

/// What is wrong with a help text.
fn faults(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.trim_end().lines().collect();
    for line in &lines {
        if line.chars().count() > COLUMNS {
            found.push(format!("too long: {line}"));
        }
    }
    // Paragraphs begin in the first column; a line that the next word would fit is ragged.
    for pair in lines.windows(2) {
        let word = pair[1].split_whitespace().next().unwrap_or("");
        let is_prose = |line: &str| line.starts_with(char::is_alphanumeric) && !line.ends_with(':');
        let room = COLUMNS.saturating_sub(pair[0].chars().count() + 1);
        if is_prose(pair[0]) && is_prose(pair[1]) && word.chars().count() <= room {
            found.push(format!("ragged: {} / {}", pair[0], pair[1]));
        }
    }
    let last = lines
        .iter()
        .rposition(|line| line.is_empty())
        .map_or(&lines[..], |at| &lines[at..]);
    let title = last.get(1).copied().unwrap_or("");
    let example = last.get(2).copied().unwrap_or("");
    if !title.starts_with("Example") || !example.trim_start_matches("  sudo").contains("artis ") {
        found.push(format!("no example at the end: {last:?}"));
    }
    found
}

#[test]
fn every_help_fits_80_columns_and_ends_with_an_example() {
    let mut all = Vec::new();
    every_command(&[], &mut all);
    assert!(all.len() > 25, "{}", all.len());
    let mut failures = Vec::new();
    for (words, text) in &all {
        let found = faults(text);
        if !found.is_empty() {
            failures.push(format!("{words}: {found:#?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn faults_are_found() {
    let example = "\n\nExample:\n  artis check\n";
    assert_eq!(faults(&format!("Look at it{example}")), [""; 0]);
    assert_eq!(faults("Look at it\n").len(), 1);
    assert_eq!(faults(&format!("{}{example}", "word ".repeat(20))).len(), 1);
    assert_eq!(faults(&format!("A line\nand another{example}")).len(), 1);
}
