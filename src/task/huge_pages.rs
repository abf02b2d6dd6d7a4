// SPDX-License-Identifier: GPL-2.0-only
//! Keeps transparent huge pages out of this process.
//!
//! Where the kernel makes them for every process, its thread khugepaged joins the pages of 2 MiB to
//! one, locked pages too, and a thread that uses one of them meanwhile waits. khugepaged is a
//! normal task with the weakest nice value: on a loaded machine it took up to 190 ms, and real-time
//! threads were late by as much (docs/decisions.md).

use nix::errno::Errno;
use nix::sys::prctl;
use std::sync::OnceLock;

/// Whether this process had none already, before the first call.
static BEFORE: OnceLock<bool> = OnceLock::new();

/// From here on this process gets no huge page. What it has stays as it is.
///
/// # Errors
/// The kernel's refusal; a kernel without huge pages refuses nothing.
///
/// Source: `PR_SET_THP_DISABLE` of prctl(2).
pub fn go_without() -> Result<(), Errno> {
    match prctl::get_thp_disable() {
        Err(Errno::EINVAL) => return Ok(()),
        before => {
            let before = before?;
            BEFORE.get_or_init(|| before);
        }
    }
    prctl::set_thp_disable(true)
}

/// In a child, which inherits the setting and is no real-time task: restores the value from before.
///
/// # Errors
/// The kernel's refusal.
pub fn as_before() -> Result<(), Errno> {
    match BEFORE.get() {
        Some(false) => prctl::set_thp_disable(false),
        Some(true) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    /// What `body` finds in a child process, so that this one stays as it is.
    fn in_child(body: impl FnOnce() -> Option<bool>) -> Option<bool> {
        // SAFETY: the child makes system calls and ends.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let status = body().map_or(2, i32::from);
                // SAFETY: ends the child without the test's destructors.
                unsafe { libc::_exit(status) }
            }
            ForkResult::Parent { child } => match waitpid(child, None).unwrap() {
                WaitStatus::Exited(_, status @ 0..=1) => Some(status == 1),
                _ => None,
            },
        }
    }

    #[test]
    fn a_process_goes_without_and_its_child_has_what_was_before() {
        for before in [false, true] {
            let now = in_child(|| {
                prctl::set_thp_disable(before).ok()?;
                go_without().ok()?;
                go_without().ok()?;
                prctl::get_thp_disable().ok()
            });
            assert_eq!(now, Some(true));
            let child = in_child(|| {
                prctl::set_thp_disable(before).ok()?;
                go_without().ok()?;
                as_before().ok()?;
                prctl::get_thp_disable().ok()
            });
            assert_eq!(child, Some(before));
        }
    }
}
