// SPDX-License-Identifier: GPL-2.0-only
//! Observers: BPF programs that watch the kernel and change nothing.

pub mod occupancy;
mod syscalls;
