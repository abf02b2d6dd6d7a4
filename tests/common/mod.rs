// SPDX-License-Identifier: GPL-2.0-only
//! What several integration tests need.

#![allow(dead_code, reason = "each test uses its part")]

pub mod guest;

use std::io::Write;
use std::path::{Path, PathBuf};

/// Says that a test could not run. `make test` counts these lines as skipped, not as passed.
pub fn skipped(test: &str, reason: &str) {
    // Not println!: the test harness hides what a passing test prints that way.
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nSKIPPED: {test}: {reason}").expect("standard output takes a line");
}

/// The program that tests run where no stock tool does what they need: `tests/guest/probe.rs`.
pub fn probe() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_artis")).parent().unwrap();
    folder.join("examples/probe")
}
