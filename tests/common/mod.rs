// SPDX-License-Identifier: GPL-2.0-only
//! What several integration tests need.

use std::io::Write;

/// Says that a test could not run. `make test` counts these lines as skipped, not as passed.
pub fn skipped(test: &str, reason: &str) {
    // Not println!: the test harness hides what a passing test prints that way.
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nSKIPPED: {test}: {reason}").expect("standard output takes a line");
}
