// SPDX-License-Identifier: GPL-2.0-only
//! Keeps the memory of this process in RAM, so that it never waits for a page.

use super::huge_pages;
use nix::errno::Errno;
use nix::sys::mman::{MlockAllFlags, mlockall};

/// Which of the two steps the kernel refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("could not lock memory: {}", .0.desc())]
    Lock(Errno),
    #[error("could not keep huge pages out of this process: {}", .0.desc())]
    HugePages(Errno),
}

/// Locks all memory of the process: what it has, and what it will get, stacks of new threads
/// included. The kernel brings each page in before this call returns, or before a later `mmap`
/// returns, so no page fault is left. The pages are not gathered into huge pages either.
///
/// # Errors
/// The kernel's refusal, usually because RLIMIT_MEMLOCK is too small. No memory is locked then.
pub fn lock_all() -> Result<(), Error> {
    huge_pages::go_without().map_err(Error::HugePages)?;
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).map_err(Error::Lock)
}
