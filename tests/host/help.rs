// SPDX-License-Identifier: GPL-2.0-only
//! The help of every command: it fits 80 columns, without ragged paragraphs, and ends with an
//! example.

use clap::Arg;
use clap::error::{ContextKind, ContextValue, ErrorKind};
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

/// Every command below this one with its options, by the words that call it.
fn options() -> Vec<(Vec<String>, Arg)> {
    fn add(command: &clap::Command, words: &[String], all: &mut Vec<(Vec<String>, Arg)>) {
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
        all.extend(shown.map(|arg| (words.to_vec(), arg.clone())));
        for below in command.get_subcommands() {
            add(
                below,
                &[words, &[below.get_name().to_owned()]].concat(),
                all,
            );
        }
    }
    let mut root = artis::cli::command();
    root.build();
    let mut all = Vec::new();
    add(&root, &["artis".to_owned()], &mut all);
    all
}

fn help_of(arg: &Arg) -> String {
    arg.get_help().map_or_else(String::new, ToString::to_string)
}

#[test]
fn a_help_that_lists_the_values_itself_names_all_of_them() {
    let mut checked = 0;
    for (words, arg) in options() {
        let values = arg.get_possible_values();
        if !arg.is_hide_possible_values_set() || values.is_empty() {
            continue;
        }
        let help = help_of(&arg);
        for value in values.iter().filter(|value| !value.is_hide_set()) {
            let name = value.get_name();
            assert!(help.contains(name), "{words:?} {arg}: no {name} in {help}");
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}

/// The ranges of a help text: "1 to 99".
fn ranges(help: &str) -> Vec<(i64, i64)> {
    let words: Vec<&str> = help.split_whitespace().collect();
    let number = |word: &str| word.trim_matches([',', ';', ':']).parse::<i64>().ok();
    let three = words.windows(3).filter(|three| three[1] == "to");
    three
        .filter_map(|three| Some((number(three[0])?, number(three[2])?)))
        .collect()
}

/// Whether the parser of this option takes the value, whatever else is missing.
fn takes(words: &[String], option: &str, value: i64) -> bool {
    let line = words.iter().cloned().chain([format!("--{option}={value}")]);
    let Err(error) = artis::cli::command().try_get_matches_from(line) else {
        return true;
    };
    let named = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(named)) => named.contains(&format!("--{option} ")),
        _ => false,
    };
    !(error.kind() == ErrorKind::ValueValidation && named)
}

#[test]
fn a_range_in_a_help_is_the_one_that_is_taken() {
    let mut checked = 0;
    for (words, arg) in options() {
        let (Some(option), [range, ..]) = (arg.get_long(), &ranges(&help_of(&arg))[..]) else {
            continue;
        };
        let (first, last) = *range;
        let means_normal = help_of(&arg).contains("; 0 is the normal policy");
        for value in [first, last] {
            assert!(takes(&words, option, value), "{words:?} --{option} {value}");
        }
        assert!(!takes(&words, option, last + 1), "{words:?} --{option}");
        let below = first - 1;
        assert_eq!(
            takes(&words, option, below),
            means_normal,
            "{words:?} --{option}"
        );
        checked += 1;
    }
    assert!(checked > 8, "{checked}");
}
