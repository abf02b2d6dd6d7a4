// SPDX-License-Identifier: GPL-2.0-only
//! Signals that interrupt user-mode work: one process computes, another sends it a signal every
//! few milliseconds, and the handler counts.
//!
//! The signal comes from another process. A process that sends itself a signal gets it at the end
//! of that system call, but this load is about a task that is interrupted in user mode.

use super::counters::Counters;
use super::process::fork_helper;
use super::{Error, compute};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use std::convert::Infallible;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

/// Time between two signals.
const PAUSE: Duration = Duration::from_millis(20);

/// The counters, for the handler, which gets no argument with them.
static HANDLER_COUNTERS: AtomicPtr<Counters> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn count(_: libc::c_int) {
    // SAFETY: set once before the handler is installed, to counters that outlive the process.
    // An atomic addition is safe in a signal handler.
    if let Some(counters) = unsafe { HANDLER_COUNTERS.load(Ordering::Relaxed).as_ref() } {
        counters.add_done(1);
    }
}

pub(super) fn run(counters: &Counters) -> Result<Infallible, Error> {
    HANDLER_COUNTERS.store(std::ptr::from_ref(counters).cast_mut(), Ordering::Relaxed);
    let action = SigAction::new(
        SigHandler::Handler(count),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    // SAFETY: the handler only adds to an atomic.
    unsafe { sigaction(Signal::SIGUSR1, &action) }
        .map_err(Error::system("install a signal handler"))?;
    let child = fork_helper("the process that computes", || {
        let mut state = compute::START;
        loop {
            state = compute::unit(state);
        }
    })?;
    loop {
        std::thread::sleep(PAUSE);
        kill(child, Signal::SIGUSR1).map_err(Error::system("send SIGUSR1"))?;
    }
}
