// SPDX-License-Identifier: GPL-2.0-only
//! Processes that end when the one that started them ends, in whatever way: `kill -9` included.

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};
use std::io;

/// Exit status of a process whose starter had ended before it began.
const STARTER_GONE: i32 = 1;

/// In a new process: from here on, the process gets `signal` when the thread that started it ends.
/// When that thread has ended already, the process ends here, because no signal would come.
/// `starter` is the number of that thread's process, read before the fork. Only makes system calls,
/// so it may stand between fork and exec.
///
/// # Errors
/// The kernel's refusal.
///
/// Source: `PR_SET_PDEATHSIG` of prctl(2), which ignores a starter that has ended before.
pub fn ends_with(starter: Pid, signal: Signal) -> io::Result<()> {
    prctl::set_pdeathsig(signal)?;
    if getppid() != starter {
        // SAFETY: ends a process that has not begun its work.
        unsafe { libc::_exit(STARTER_GONE) }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork, getpid};

    /// The exit status of a child that asks to end with `starter`.
    fn child_of(starter: Pid) -> i32 {
        // SAFETY: the child makes system calls and ends.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let outcome = ends_with(starter, Signal::SIGTERM);
                let is_set = prctl::get_pdeathsig() == Ok(Some(Signal::SIGTERM));
                let status = if outcome.is_ok() && is_set { 0 } else { 2 };
                // SAFETY: ends the child without the test's destructors.
                unsafe { libc::_exit(status) }
            }
            ForkResult::Parent { child } => match waitpid(child, None).unwrap() {
                WaitStatus::Exited(_, status) => status,
                other => panic!("{other:?}"),
            },
        }
    }

    #[test]
    fn a_starter_that_has_ended_already_is_noticed() {
        assert_eq!(child_of(getpid()), 0);
        assert_eq!(child_of(Pid::from_raw(1)), STARTER_GONE);
    }
}
