// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure` on the machine that runs the tests. No latency is judged here: only that what
//! was asked for is measured, kept, and refused in words.

mod exec;
mod latency;
mod lost;
mod recorder;
mod throughput;
mod words;

use crate::common;
use serde_json::Value;
use std::process::{Command, Output};

/// `artis measure` with these words.
fn measure(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_artis"));
    command.arg("measure").args(words);
    command
}

/// Runs a measurement that must end with this status, and gives the document on its standard
/// output; none where the machine refuses real-time tasks even to root, loudly.
#[track_caller]
fn document(test: &str, words: &[&str], status: i32) -> Option<Value> {
    let output = measure(words).args(["--json", "-"]).output().unwrap();
    let said = said(&output);
    if output.status.code() == Some(1) && said.contains("SCHED_FIFO") {
        common::skipped(test, said.trim());
        return None;
    }
    assert_eq!(output.status.code(), Some(status), "{said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a process handles SIGINT by now.
fn catches_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let signals = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
    signals >> (nix::libc::SIGINT - 1) & 1 == 1
}

/// The series of this name.
fn series<'a>(document: &'a Value, name: &str) -> Vec<&'a Value> {
    let all = document["series"].as_array().unwrap();
    all.iter().filter(|series| series["name"] == name).collect()
}
