// SPDX-License-Identifier: GPL-2.0-only
//! Files and processes that a command must not destroy, read without end, or leave behind.

mod inputs;
mod outputs;
mod processes;
mod terminal;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");
const CYCLICTEST: &str = include_str!("../../data/result/cyclictest.hist");
const LATE: &str = include_str!("../../data/explain/late.json");

/// Runs a line of shell in `folder`, where `artis` is the program.
fn shell(folder: &Path, line: &str) -> Output {
    let script = format!("artis() {{ timeout 60 {ARTIS} \"$@\"; }}\n{line}");
    let mut command = Command::new("bash");
    command.args(["-c", &script]).current_dir(folder);
    command.env("TMPDIR", folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with results, an explanation, an experiment, and links to them.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.hist"), CYCLICTEST).unwrap();
    fs::write(path("late.json"), LATE).unwrap();
    let experiment = include_str!("../../../lab/smoke.toml");
    fs::write(path("smoke.toml"), experiment).unwrap();
    let done = shell(
        folder.path(),
        "artis result convert a.hist --to artis -o a.json",
    );
    assert!(done.status.success(), "{}", said(&done));
    let other = fs::read_to_string(path("a.json")).unwrap();
    // Another run of the same measurement.
    let started = "\"started\": \"2026-01-01T00:00:00Z\", \"setup\"";
    let first = other.replacen("\"setup\"", &started.replace("2026", "2025"), 1);
    fs::write(path("a.json"), first).unwrap();
    fs::write(path("b.json"), other.replacen("\"setup\"", started, 1)).unwrap();
    std::os::unix::fs::symlink("a.json", path("link.json")).unwrap();
    fs::hard_link(path("a.json"), path("hard.json")).unwrap();
    folder
}
