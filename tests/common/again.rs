// SPDX-License-Identifier: GPL-2.0-only
//! A test that runs itself once more in a process of its own: as root, or with a fresh heap.

use super::report;
use std::process::Command;

/// Set in the second process.
const SECOND: &str = "ARTIS_TEST_SECOND";

/// Goes on as root. For an ordinary user it ends the test here: the same test has then run through
/// `sudo -n`, or it is skipped where sudo asks for a password.
macro_rules! as_root {
    ($test:literal) => {
        if $crate::common::again::ran_through_sudo(concat!(module_path!(), "::", $test)) {
            return Default::default();
        }
        if !nix::unistd::geteuid().is_root() {
            $crate::common::skipped($test, "needs root, or sudo without a password");
            return Default::default();
        }
    };
}

/// The same, but where there is no sudo either the test goes on as it is.
macro_rules! as_root_if_possible {
    ($test:literal) => {
        if $crate::common::again::ran_through_sudo(concat!(module_path!(), "::", $test)) {
            return Default::default();
        }
    };
}

/// Runs the test as root, for a user who is not, where sudo asks for no password. `path` is that of
/// the test with its crate.
#[track_caller]
pub fn ran_through_sudo(path: &str) -> bool {
    if nix::unistd::geteuid().is_root() {
        return false;
    }
    let may = Command::new("sudo").args(["-n", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        return false;
    }
    let mut sudo = Command::new("sudo");
    sudo.args(["-n", "env"]);
    for name in ["PATH", "ARTIS_SOAK", "ARTIS_CONCURRENT"] {
        if let Ok(value) = std::env::var(name) {
            sudo.arg(format!("{name}={value}"));
        }
    }
    sudo.arg(std::env::current_exe().unwrap());
    run(&mut sudo, path);
    true
}

/// Runs the test in a process that did nothing before; false in that process.
#[track_caller]
pub fn ran_alone(path: &str) -> bool {
    if std::env::var_os(SECOND).is_some() {
        return false;
    }
    let mut second = Command::new(std::env::current_exe().unwrap());
    run(second.env(SECOND, "1"), path);
    true
}

/// Runs the test harness for one test, which must pass, and passes on that it was skipped.
#[track_caller]
fn run(harness: &mut Command, path: &str) {
    let (_, test) = path.split_once("::").expect("a crate and a test");
    let output = harness
        .args(["--exact", "--test-threads=1", "--show-output", test])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaint}");
    assert!(said.contains(" 1 passed;"), "{test} is no test:\n{said}");
    for line in said.lines().filter(|line| line.starts_with("SKIPPED: ")) {
        report(line);
    }
}
