// SPDX-License-Identifier: GPL-2.0-only
//! What several test programs need.

#![allow(dead_code, unused_macros, reason = "each program uses its part")]

#[macro_use]
pub mod again;
pub mod pages;
pub mod split;

use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a line into the log that `make test` reads.
pub fn report(line: &str) {
    // Not println!: the test harness hides what a passing test prints that way.
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").expect("standard output takes a line");
}

/// Says that a test could not run. `make test` counts these lines as skipped, not as passed.
pub fn skipped(test: &str, reason: &str) {
    report(&format!("SKIPPED: {test}: {reason}"));
}

/// The artis that virtual machines are run with: of the folder `ARTIS_PROGRAMS`, in which `make
/// test` has what is shipped, or else the one that cargo built with the tests.
pub fn artis() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_artis"));
    match std::env::var_os("ARTIS_PROGRAMS") {
        Some(folder) => Path::new(&folder).join(built.file_name().unwrap()),
        None => built,
    }
}

/// The program that tests run where no stock tool does what they need: `tests/guest/probe.rs`.
pub fn probe() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_artis")).parent().unwrap();
    folder.join("examples/probe")
}

/// How often something is done: a short count for `make test`, a long one for `make soak`, which
/// sets `ARTIS_SOAK` to a factor for the long ones.
pub fn count(short: u64, long: u64) -> u64 {
    match std::env::var("ARTIS_SOAK") {
        Ok(factor) => long * factor.parse::<u64>().expect("ARTIS_SOAK is a whole number"),
        Err(_) => short,
    }
}

/// The numbers in the lines of `text` that start with this word.
#[track_caller]
pub fn numbers(text: &str, word: &str) -> Vec<u64> {
    text.lines()
        .filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
        .map(|number| number.trim().parse().unwrap())
        .collect()
}

/// How far a cgroup's share of the CPU time may be from its weight, in per cent of that. The engines
/// in which it is tested take nothing from a guest when the host is busy.
const OFF_PERCENT_MAX: u64 = 5;

/// Fails unless cgroups with weights of 100 : 300 : 600 got such shares, in thousandths.
#[track_caller]
pub fn assert_shares(shares: &[u64], said: &str) {
    assert_eq!(shares.len(), 3, "{said}");
    for (share, weight) in shares.iter().zip([100, 300, 600]) {
        let off = share.abs_diff(weight);
        assert!(off * 100 <= weight * OFF_PERCENT_MAX, "{shares:?}: {said}");
    }
}
