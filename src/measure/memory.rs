// SPDX-License-Identifier: GPL-2.0-only
//! Keeps the memory of this process in RAM, so that no page fault falls into a sample, and says
//! what a refusal means on this machine.

use artis_machine::Root;
use artis_machine::privilege::{Limit, Privilege};
use artis_task::memory;
use nix::errno::Errno;

/// Memory is not locked, or its pages may be moved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "could not lock memory: {}: without CAP_IPC_LOCK, RLIMIT_MEMLOCK is the most, and here it \
         is {limit} bytes; run artis with sudo, or raise the limit (`ulimit -l unlimited`)",
        errno.desc()
    )]
    Limit { errno: Errno, limit: Limit },
    #[error(transparent)]
    Other(memory::Error),
}

/// Locks all memory of the process, as [`memory::lock_all`] does.
///
/// # Errors
/// When the limit is too small; memory is as it was before.
pub fn lock_and_prefault() -> Result<(), Error> {
    memory::lock_all().map_err(|error| {
        let limit = Privilege::of_self(&Root::default()).map(|this| this.memlock);
        match (error, limit) {
            (memory::Error::Lock(errno @ (Errno::ENOMEM | Errno::EPERM)), Ok(limit)) => {
                Error::Limit { errno, limit }
            }
            _ => Error::Other(error),
        }
    })
}
