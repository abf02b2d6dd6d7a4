// SPDX-License-Identifier: GPL-2.0-only
//! `run.json`: what ran where, so that a result can be judged and repeated later.

use crate::engine::devices::Network;
use crate::engine::topology::Topology;
use crate::kernel::Flavour;
use serde::{Deserialize, Serialize};

/// Name of the record in the output folder.
pub const FILE: &str = "run.json";
/// Name of the kernel's console in the output folder.
pub const CONSOLE: &str = "console.log";

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The command ended by itself with this status, 128 + signal when it was killed.
    Exit(u8),
    /// The time-out passed and the command was ended.
    TimedOut,
    /// This process got the signal and ended the machine.
    Interrupted(i32),
}

/// The document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Version of artis.
    pub artis: String,
    /// Engine: "qemu", "qemu-icount" or "bochs".
    pub engine: String,
    /// Version of the engine's program.
    pub engine_version: String,
    /// Do times taken in the guest mean anything?
    pub timing_meaningful: bool,
    /// What they are, or why they mean nothing.
    pub timing: String,
    /// Which sample of the guest's behaviour was asked for, if any.
    pub seed: Option<u64>,
    /// What `uname -r` says in the guest.
    pub kernel: String,
    /// Which of Debian's builds.
    pub flavour: Flavour,
    /// Package that holds the image.
    pub package: String,
    /// Exact version of that package.
    pub package_version: String,
    /// Suite it came from.
    pub suite: String,
    /// Can the kernel load a sched_ext scheduler? None: unknown.
    pub sched_ext: Option<bool>,
    /// Preemption model the kernel was built to start with; none: unknown.
    pub preemption: Option<String>,
    /// The whole kernel command line.
    pub arguments: String,
    /// Virtual CPUs.
    pub cpus: u32,
    /// How they were arranged; none: nobody asked.
    pub topology: Option<Topology>,
    /// Memory of the guest, MiB.
    pub memory_mib: u32,
    /// Size of the guest's disk; none: it had none.
    pub disk_bytes: Option<u64>,
    /// What its network card was plugged into; none: it had none.
    pub network: Option<Network>,
    /// Kernel modules that were loaded before the command, in this order.
    pub modules: Vec<String>,
    /// The command, word by word.
    pub command: Vec<String>,
    /// How it ended.
    pub ended: Ended,
    /// Exit status of the command; none when it was ended.
    pub exit_status: Option<u8>,
    /// Files brought back, relative to the output folder.
    pub files: Vec<String>,
}
