// SPDX-License-Identifier: GPL-2.0-only
//! `artis sched run --check`: which settings come from the file, and which from the command line.
//! What is refused is in `poor_inputs`; the scheduler itself runs in `tests/qemu`.

use crate::common;
use serde_json::Value;
use std::process::Command;

/// What `--check --json` says of this file with these words behind it.
fn checked(text: &str, words: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sched.toml");
    std::fs::write(&path, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_artis"))
        .args(["sched", "run", "--check", "--json", "--config"])
        .arg(&path)
        .args(words)
        .output()
        .unwrap();
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Where it cannot run, that is said behind the settings, and there is no outlook.
    let status = i32::from(checked["left"].is_null());
    assert_eq!(
        output.status.code(),
        Some(status),
        "{text:?} {words:?}: {output:?}"
    );
    checked
}

#[test]
fn the_command_line_comes_before_the_file() {
    if std::fs::read_to_string("/sys/devices/system/cpu/online")
        .unwrap()
        .trim()
        == "0"
    {
        return common::skipped(
            "sched::the_command_line_comes_before_the_file",
            "this machine has one CPU, and an RT CPU needs another one beside it",
        );
    }
    let file = "rt = 8191\ndetector = \"entry\"\n";
    let both = checked(file, &["--rt", "1"]);
    assert_eq!(
        (&both["rt"], &both["detector"]),
        (&"1".into(), &"entry".into())
    );
    assert_eq!(
        (&both["cycle"], &both["partition"]),
        (&false.into(), &false.into())
    );
    let with = |detector| checked(file, &["--rt", "1", "--detector", detector, "--cycle"]);
    let syscall = with("syscall");
    assert_eq!(
        (&syscall["detector"], &syscall["cycle"]),
        (&"syscall".into(), &true.into())
    );
    // What suits it depends on the machine.
    let suits = |found: &serde_json::Value| found == "breakpoint" || found == "syscall";
    let auto = with("auto");
    assert!(suits(&auto["detector"]), "{auto}");
    let of_file = checked("rt = \"1\"\ncycle = true\n[partition]\n", &[]);
    assert_eq!(of_file["rt"], "1");
    assert_eq!(of_file["detector"], auto["detector"]);
    assert_eq!(
        (&of_file["cycle"], &of_file["partition"]),
        (&true.into(), &true.into())
    );
}
