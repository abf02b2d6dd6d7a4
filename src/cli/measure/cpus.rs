// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs a measurement takes.

use crate::cli::exit::UsageError;
use crate::machine::cpus::Cpus;
use crate::machine::{CpuList, Root};
use crate::task::syscall::affinity;
use anyhow::Context;

/// The CPUs asked for, which must be online, or all that this process may use.
pub(super) fn resolve(asked: Option<&CpuList>) -> anyhow::Result<CpuList> {
    let Some(asked) = asked else {
        return affinity(0).context("cannot read which CPUs this process may use");
    };
    let online = Cpus::read(&Root::default())?.online;
    let missing = asked - &online;
    if missing.is_empty() {
        return Ok(asked.clone());
    }
    Err(UsageError(format!(
        "CPU {missing} is not online; choose among {online} with -a"
    ))
    .into())
}
