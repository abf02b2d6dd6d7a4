// SPDX-License-Identifier: GPL-2.0-only
//! Kernel latency apart from user latency: what the BPF program reports of a real-time thread's
//! wakeups on the kernel that runs the tests. `tests/qemu/split.rs` does the same on the lab's
//! kernels.

use crate::common::split::{TIMES, assert_reported};
use crate::common::{probe, skipped};
use std::process::Command;

#[test]
fn this_kernel_reports_due_and_handled() {
    as_root!("this_kernel_reports_due_and_handled");
    let times = TIMES.to_string();
    let output = Command::new(probe())
        .args(["split", &times])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    if let Some(reason) = said.strip_prefix("refused ") {
        return skipped("this_kernel_reports_due_and_handled", reason.trim());
    }
    assert!(output.status.success(), "{output:?}");
    assert_reported(&said);
}
