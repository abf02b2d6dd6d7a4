// SPDX-License-Identifier: GPL-2.0-only
//! What several test programs need.

#![allow(dead_code, unused_macros, reason = "each program uses its part")]

#[macro_use]
pub mod again;
pub mod pages;
pub mod split;
pub mod terminal;

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

/// How far a cgroup's share of the CPU time may be from its weight, in per cent of that. The
/// engines in which it is tested take nothing from a guest when the host is busy.
const OFF_PERCENT_MAX: u64 = 5;

/// Fails unless cgroups with weights of 100 : 300 : 600 got such shares, in thousandths.
#[track_caller]
pub fn assert_shares(shares: &[u64], weights: [u64; 3], said: &str) {
    assert_eq!(shares.len(), 3, "{said}");
    for (share, weight) in shares.iter().zip(weights) {
        let off = share.abs_diff(weight);
        assert!(off * 100 <= weight * OFF_PERCENT_MAX, "{shares:?}: {said}");
    }
}

/// How long a normal task may be without progress while a real-time task has 90 % of the RT CPU:
/// a bound by the guest's own clock, which a busy host does not touch. It is 40 ms in most guests.
const GAP_MS_MAX: u64 = 100;

/// Fails unless each of the eight tasks of `probe hog` went on soon enough.
#[track_caller]
pub fn assert_nobody_was_stranded(said: &str) {
    let gaps = numbers(said, "gap_ms");
    println!("longest time without progress of each task: {gaps:?} ms");
    assert_eq!(gaps.len(), 8, "{said}");
    assert!(gaps.iter().all(|gap| *gap <= GAP_MS_MAX), "{gaps:?}");
}

/// Fails unless tasks of nice 0 and 10, whose weights are 100 and 11, had such shares: `bound`, one
/// of each on one CPU; `free`, two of each on two. A light one has a slice in ten, so some seconds
/// tell its share to a quarter; where the two light ones keep a CPU for themselves they have twice
/// theirs and more.
#[track_caller]
pub fn assert_nice_values_counted(said: &str) {
    let [bound, free] = ["bound", "free"].map(|name| numbers(said, name));
    println!("bound to one CPU: {bound:?}; on both: {free:?} of 1000");
    let is_light =
        |share: &u64, tasks: u64| (99 * 2 / tasks).abs_diff(*share) * 4 <= 99 * 2 / tasks;
    assert!(bound.len() == 2 && is_light(&bound[1], 2), "{bound:?}");
    assert!(free.len() == 4, "{free:?}");
    assert!(free[2..].iter().all(|share| is_light(share, 4)), "{free:?}");
    assert!(free[0].abs_diff(free[1]) * 10 <= free[0], "{free:?}");
}
