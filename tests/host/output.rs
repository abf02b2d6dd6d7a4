// SPDX-License-Identifier: GPL-2.0-only
//! What commands do when nobody takes what they print: a full disk is an error in words, a closed
//! pipe is not.

use std::process::{Command, Stdio};

const COMMANDS: &[&str] = &[
    "check",
    "check --json",
    "irq",
    "irq --json",
    "tasks",
    "tasks --json",
    "top --once --every 50ms",
    "top --once --every 50ms --json",
    "metrics --every 50ms",
    "load list",
    "load list --json",
    "measure exec -p 0 -D 50ms --unloaded 10ms --count 1000",
    "measure jitter -D 50ms --unloaded 10ms --count 1000",
    "measure all -p 0 -D 50ms --unloaded 10ms --count 1000",
    "measure latency -p 0 -l 10",
];

/// Exit status and standard error.
fn run(command: &str, stdout: Stdio) -> (Option<i32>, String) {
    // Figures that cannot be printed are kept there.
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_artis"))
        .args(command.split(' '))
        .env("TMPDIR", folder.path())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}

#[test]
fn a_full_disk_is_an_error_that_says_so() {
    for command in COMMANDS {
        let full = std::fs::File::create("/dev/full").unwrap();
        let (code, stderr) = run(command, full.into());
        assert_eq!(code, Some(1), "{command}: {stderr}");
        let words = "cannot write to standard output: No space left on device";
        assert!(stderr.contains(words), "{command}: {stderr}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    for command in COMMANDS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let (code, stderr) = run(command, writer.into());
        assert_eq!(code, Some(0), "{command}: {stderr}");
        assert!(!stderr.contains("panicked"), "{command}: {stderr}");
    }
}
