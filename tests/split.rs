// SPDX-License-Identifier: GPL-2.0-only
//! Kernel latency apart from user latency: what the BPF program tells of a real-time thread's
//! wakeups, on the kernel that runs the tests and on real kernels in QEMU.
//!
//! No time is judged, only its order: due, then handler, then task.

mod common;

use common::{guest, probe, skipped};
use std::process::{Command, Output};

const TIMES: u64 = 200;
/// A thread that is kept from the CPU may ask for a time that has passed: no timer is started then.
const TOLD_MIN: u64 = TIMES * 99 / 100;

#[track_caller]
fn assert_told(output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaint}");
    for timer in ["sleep", "timerfd"] {
        let line = said
            .lines()
            .find_map(|line| line.strip_prefix(timer)?.strip_prefix(' '));
        let told: u64 = line.and_then(|told| told.parse().ok()).unwrap_or(0);
        assert!(told >= TOLD_MIN, "{timer}: {told} of {TIMES}\n{complaint}");
    }
}

#[test]
fn this_kernel_tells_due_and_handled() {
    let test = "this_kernel_tells_due_and_handled";
    if !nix::unistd::geteuid().is_root() {
        return skipped(test, "BPF and SCHED_FIFO need root");
    }
    let times = TIMES.to_string();
    let output = Command::new(probe())
        .args(["split", &times])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    if let Some(reason) = said.strip_prefix("refused ") {
        return skipped(test, reason.trim());
    }
    assert_told(&output);
}

fn a_lab_kernel_tells(kernel: &str) {
    let output = guest::run(
        Command::new(env!("CARGO_BIN_EXE_artis"))
            .args(["lab", "run", "--kernel", kernel, "--file"])
            .arg(probe())
            .args(["--", "probe", "split", &TIMES.to_string()]),
    );
    assert_told(&output);
}

#[test]
fn the_newest_kernel_tells_due_and_handled() {
    a_lab_kernel_tells("newest");
}

#[test]
fn the_newest_rt_kernel_tells_due_and_handled() {
    a_lab_kernel_tells("newest-rt");
}
