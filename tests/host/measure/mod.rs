// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure` on the machine that runs the tests. No latency is judged here: only that what
//! was asked for is measured, kept, and refused in words.

mod commands;
mod completion;
mod cyclictest;
mod defaults;
mod exec;
mod latency;
mod lava;
mod lost;
mod messages;
mod normal;
mod recorder;
mod throughput;
mod words;

use crate::common;
use serde_json::Value;
use std::process::{Command, Output};
use std::time::Duration;

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
    // A command of the user comes last.
    let (name, rest) = words.split_at(1);
    let mut command = measure(name);
    let output = command.args(["--json", "-"]).args(rest).output().unwrap();
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

/// Waits until there is something to see.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        match look() {
            Some(seen) => return seen,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// The series of this name.
fn series<'a>(document: &'a Value, name: &str) -> Vec<&'a Value> {
    let all = document["series"].as_array().unwrap();
    all.iter().filter(|series| series["name"] == name).collect()
}
