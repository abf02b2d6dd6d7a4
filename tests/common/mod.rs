// SPDX-License-Identifier: GPL-2.0-only
//! What several integration tests need.

#![allow(dead_code, reason = "each test uses its part")]

pub mod guest;

use std::io::Write;
use std::path::{Path, PathBuf};

/// A line of the log that `make test` reads.
fn tell(line: &str) {
    // Not println!: the test harness hides what a passing test prints that way.
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").expect("standard output takes a line");
}

/// Says that a test could not run. `make test` counts these lines as skipped, not as passed.
pub fn skipped(test: &str, reason: &str) {
    tell(&format!("SKIPPED: {test}: {reason}"));
}

/// The program that tests run where no stock tool does what they need: `tests/guest/probe.rs`.
pub fn probe() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_artis")).parent().unwrap();
    folder.join("examples/probe")
}
