// SPDX-License-Identifier: GPL-2.0-only
//! Kernel locks: two processes take the same file's lock in turn. Each time the kernel walks its
//! lists of locks and of waiters under its own spinlocks, and wakes the other process.

use super::Error;
use super::counters::Counters;
use super::process::fork_helper;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use std::convert::Infallible;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    let file = tempfile::tempfile().map_err(Error::io("create a temporary file"))?;
    fork_helper("the rival", || {
        // The load itself goes on, so a lock without a rival is reported here.
        let Err(error) = reopen(&file).and_then(|file| compete(&file, counters));
        eprintln!("artis: load `locks`: {error}");
    })?;
    compete(&file, counters)
}

/// Opens the same file again: a lock belongs to the open file, not to the process.
fn reopen(file: &File) -> Result<File, Error> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let opened = nix::fcntl::open(&path, OFlag::O_RDWR, nix::sys::stat::Mode::empty());
    Ok(File::from(
        opened.map_err(Error::system("open the temporary file again"))?,
    ))
}

/// Both processes count, because the scheduler decides which of them wins how often.
fn compete(file: &File, counters: &Counters) -> Result<Infallible, Error> {
    loop {
        for operation in [libc::LOCK_EX, libc::LOCK_UN] {
            // SAFETY: the file is open.
            Errno::result(unsafe { libc::flock(file.as_raw_fd(), operation) })
                .map_err(Error::system("lock the temporary file"))?;
        }
        counters.add_done(1);
    }
}
