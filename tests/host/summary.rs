// SPDX-License-Identifier: GPL-2.0-only
//! `scripts/summary` counts what `make test` logged: nothing that failed, died or was skipped
//! may end up as passed.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const PASSED: &str =
    "     Running tests/a.rs\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured\n";
const ENDED: &str = "cargo test: exit status 0\n";

/// What the script prints for this log, and whether it succeeded.
fn printed(log: &str) -> (String, bool) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/summary");
    let mut child = Command::new(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(log.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text, output.status.success())
}

#[track_caller]
fn is(log: &str, line: &str, success: bool) {
    let (text, succeeded) = printed(log);
    assert_eq!((text.lines().last(), succeeded), (Some(line), success));
}

#[test]
fn results_of_all_programs_are_added() {
    let log = [PASSED, PASSED, ENDED].concat();
    is(&log, "6 passed, 0 failed, 0 skipped", true);
}

#[test]
fn a_skipped_test_is_not_a_passed_one() {
    let log = [PASSED, "SKIPPED: a: needs root\n", ENDED].concat();
    is(&log, "2 passed, 0 failed, 1 skipped", true);
    let ignored = PASSED.replace("0 ignored", "2 ignored");
    let log = [&ignored, ENDED].concat();
    is(&log, "3 passed, 0 failed, 2 skipped", true);
}

#[test]
fn a_guest_started_again_is_no_test() {
    let log = [PASSED, "AGAIN: artis: the guest died\n", ENDED].concat();
    is(&log, "3 passed, 0 failed, 0 skipped", true);
}

#[test]
fn a_failed_test_fails() {
    let failed = PASSED.replace("0 failed", "1 failed");
    let log = [&failed, "cargo test: exit status 101\n"].concat();
    is(&log, "3 passed, 1 failed, 0 skipped", false);
}

#[test]
fn a_program_that_died_and_a_build_that_failed_fail() {
    let died = "     Running tests/b.rs\n";
    let end = "cargo test: exit status 101\n";
    let log = [PASSED, died, end].concat();
    is(&log, "3 passed, 1 failed, 0 skipped", false);
    is(end, "0 passed, 1 failed, 0 skipped", false);
    is(PASSED, "3 passed, 1 failed, 0 skipped", false);
}

#[test]
fn a_part_of_the_run_that_did_not_end_fails() {
    let log = [
        "cargo test: begins: a\n",
        PASSED,
        ENDED,
        "cargo test: begins: b\n",
    ]
    .concat();
    is(&log, "3 passed, 1 failed, 0 skipped", false);
}

#[test]
fn the_slowest_ten_come_before_the_counts() {
    let times: String = (1..=12)
        .map(|n| format!("TIME: {n}.5 test {n}\n"))
        .collect();
    let text = printed(&[PASSED, &times, ENDED].concat()).0;
    let place = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no {what}: {text}"))
    };
    assert!(place("12.5 test 12\n") < place("11.5 test 11\n"));
    assert!(place("3.5 test 3\n") < place("3 passed"));
    assert!(!text.contains("test 2\n"), "{text}");
}

/// Who reads only the end of a log sees why, too.
#[test]
fn what_failed_tests_said_comes_again() {
    let many: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let failed = PASSED.replace(
        "test result: ok. 3 passed; 0 failed",
        &format!(
            "successes:\n\n---- fine stdout ----\nit was fine\n\nsuccesses:\n    fine\n\n\
             failures:\n\n---- one stdout ----\nit hung\n\n---- other stdout ----\n{many}\n\
             failures:\n    one\n    other\n\n\
             test result: FAILED. 3 passed; 2 failed"
        ),
    );
    let log = [PASSED, &failed, PASSED, "cargo test: exit status 101\n"].concat();
    let text = printed(&log).0;
    let begin = "---- one stdout ----\nit hung\n\n---- other stdout ----\nline 1\n";
    assert!(text.contains(begin), "{text}");
    assert!(
        text.contains("line 19\n[22 lines left out]\nline 42\n"),
        "{text}"
    );
    assert!(
        text.ends_with("line 60\n\n9 passed, 2 failed, 0 skipped\n"),
        "{text}"
    );
    assert!(!text.contains("fine"), "{text}");
}

/// Tests that no tier runs would seem to pass.
#[test]
fn every_test_program_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = fs::read_to_string(root.join("scripts/test")).unwrap();
    for entry in fs::read_dir(root.join("tests")).unwrap() {
        let path = entry.unwrap().path();
        let is_program = path.join("main.rs").exists() || path.extension().is_some();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            !is_program || script.contains(&format!("--test {name}")),
            "scripts/test does not run {}; make it a module of tests/host or tests/qemu",
            path.display()
        );
    }
}

#[test]
fn nothing_run_is_a_failure() {
    is(ENDED, "0 passed, 1 failed, 0 skipped", false);
}
