// SPDX-License-Identifier: GPL-2.0-only
//! Kernel latency apart from user latency: what the BPF program reports of a real-time thread's
//! wakeups on the lab's kernels. `tests/host/split.rs` does the same on this one.

use super::sched::TWO_CPUS;
use super::shared::Script;
use crate::common::split::{TIMES, assert_reported};

on_kernel!(normal, "newest": the_kernel_reports_due_and_handled);
on_kernel!(rt, "newest-rt": the_kernel_reports_due_and_handled);

pub static SPLIT: Script = Script {
    name: "split::the_kernel_reports_due_and_handled",
    rt: true,
    counts: &[("TIMES", TIMES, TIMES)],
    text: "probe split $TIMES",
};

fn the_kernel_reports_due_and_handled(kernel: &str) {
    assert_reported(&TWO_CPUS.ran(kernel, &SPLIT).stdout);
}
