// SPDX-License-Identifier: GPL-2.0-only
//! Keeps the memory of this process in RAM, so that no page fault falls into a sample.

use artis_machine::Root;
use artis_machine::privilege::{Limit, Privilege};
use artis_task::huge_pages;
use nix::errno::Errno;
use nix::sys::mman::{MlockAllFlags, mlockall};

/// Memory is not locked, or its pages may be moved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "could not lock memory: {}: without CAP_IPC_LOCK, RLIMIT_MEMLOCK is the most, and here it \
         is {limit} bytes; run artis with sudo, or raise the limit (`ulimit -l unlimited`)",
        errno.desc()
    )]
    Limit { errno: Errno, limit: Limit },
    #[error("could not lock memory: {}", errno.desc())]
    Other { errno: Errno },
    #[error("could not keep huge pages out of this process: {}", errno.desc())]
    HugePages { errno: Errno },
}

/// Locks all memory of the process, what it has and what it will get, stacks of new threads
/// included. The kernel brings every page in before the call returns, or before the `mmap` of a
/// later one does: there is nothing left to fault. Nor are they gathered into huge pages.
///
/// # Errors
/// When the limit is too small; memory is as it was before.
pub fn lock_and_prefault() -> Result<(), Error> {
    huge_pages::go_without().map_err(|errno| Error::HugePages { errno })?;
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).map_err(|errno| {
        let limit = Privilege::of_self(&Root::default()).map(|this| this.memlock);
        match (errno, limit) {
            (Errno::ENOMEM | Errno::EPERM, Ok(limit)) => Error::Limit { errno, limit },
            _ => Error::Other { errno },
        }
    })
}
