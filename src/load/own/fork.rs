// SPDX-License-Identifier: GPL-2.0-only
//! Process management: fork a child that exits at once, wait for it, again and again.

use super::Error;
use super::counters::Counters;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork};
use std::convert::Infallible;

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    loop {
        // SAFETY: a load is one thread, and the child does nothing but exit.
        match unsafe { fork() }.map_err(Error::system("fork a child"))? {
            // SAFETY: ends the child without destructors.
            ForkResult::Child => unsafe { libc::_exit(0) },
            ForkResult::Parent { child } => {
                waitpid(child, None).map_err(Error::system("wait for a child"))?;
                counters.add_done(1);
            }
        }
    }
}
