// SPDX-License-Identifier: GPL-2.0-only
//! Wrong words and damaged files: each gets its exit status, and a sentence that names the value,
//! what is allowed, and what to type.

mod rows;

use rows::{ROWS, Row};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");
/// A wrong input is refused long before. This only ends a command that accepted it.
const PATIENCE_S: &str = "60";

#[test]
fn every_wrong_input_gets_a_useful_answer() {
    let folder = tempfile::tempdir().unwrap();
    rows::write_files(folder.path());
    let mut failures = Vec::new();
    for row in ROWS {
        if let Err(failure) = judge(row, folder.path()) {
            failures.push(failure);
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} rows:\n\n{}",
        failures.len(),
        ROWS.len(),
        failures.join("\n\n")
    );
}

/// The words of a row: `{NAME}` is a file in the folder, `{folder}` the folder, `''` nothing.
fn words(text: &str, folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let word = |word: &str| match word {
        "''" => String::new(),
        _ => word
            .replace("{folder}", folder)
            .replace('{', &format!("{folder}/"))
            .replace('}', ""),
    };
    text.split(' ').map(word).collect()
}

/// What is wrong with the answer.
fn judge(row: &Row, folder: &Path) -> Result<(), String> {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE_S).arg(ARTIS).envs(row.environment());
    // What a row fetches stays out of the user's own cache.
    command.env("XDG_CACHE_HOME", folder);
    let output = command.args(words(row.words, folder)).output().unwrap();
    check(row.words, row.status, row.says, &output)?;
    match row.words.contains("/dev/full") && output.stdout.is_empty() {
        true => Err(format!("{}\n  the table is lost", row.words)),
        false => Ok(()),
    }
}

fn check(words: &str, status: i32, says: &[&str], output: &Output) -> Result<(), String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let missing: Vec<_> = says
        .iter()
        .filter(|part| !stderr.contains(**part))
        .collect();
    let raw = RAW.iter().find(|part| stderr.contains(**part));
    let is_silent = status != 0 && stderr.is_empty();
    let is_right = output.status.code() == Some(status) && !is_silent;
    if is_right && missing.is_empty() && raw.is_none() {
        return Ok(());
    }
    Err(format!(
        "{words}\n  status {:?}, not {status}; missing {missing:?}; raw {raw:?}; it says:\n\
         {stderr}",
        output.status.code()
    ))
}

/// Words of a parser or a library that help nobody.
const RAW: [&str; 9] = [
    "invalid digit found",
    "too large to fit",
    "unexpected argument '-1'",
    "not in -2147483648..",
    "EOF while parsing",
    "missing field",
    "entity not found",
    ": : ",
    "panicked",
];

/// A table is not lost when its file cannot be written: either that is found before anything is
/// measured, or the table is on standard output.
#[test]
fn a_full_disk_takes_no_table_away() {
    as_root!("a_full_disk_takes_no_table_away");
    let folder = tempfile::tempdir().unwrap();
    let full = folder.path().join("full");
    fs::create_dir(&full).unwrap();
    // In a mount namespace of its own, so that it goes with the command.
    let script = format!(
        "mount -t tmpfs -o size=64k none {0} && {{ cat /dev/zero >{0}/fill 2>/dev/null; \
         exec \"$@\"; }}",
        full.display()
    );
    for command in [
        "measure latency -p 0 -q -l 10",
        "measure exec -p 0 -D 100ms --unloaded 100ms --count 1000",
        "measure jitter -D 100ms --unloaded 100ms --count 1000",
        "measure all -p 0 -D 100ms --unloaded 100ms --count 1000",
        "measure throughput --runs 1 --json {full/result.json} -- true",
        "load run compute -D 100ms",
    ] {
        let command = match command.contains("--json") {
            true => command.to_owned(),
            false => format!("{command} --json {{full/result.json}}"),
        };
        let output = Command::new("unshare")
            .args([
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                &script,
                "sh",
            ])
            .args(["timeout", PATIENCE_S, ARTIS])
            .args(words(&command, folder.path()))
            .output()
            .unwrap();
        let says = ["full/result.json", "space"];
        check(&command, 1, &says, &output).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let refused_at_once = stderr.lines().count() == 1 && stderr.contains("name another file");
        assert!(
            refused_at_once || !output.stdout.is_empty(),
            "{command}: {stderr}"
        );
    }
}
