// SPDX-License-Identifier: GPL-2.0-only
//! How a long command notices that it should end.

use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A flag that SIGINT, SIGTERM and SIGHUP set to their number.
pub(super) fn stop_on_signals() -> anyhow::Result<Arc<AtomicUsize>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stop = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let number = usize::try_from(signal)?;
        signal_hook::flag::register_usize(signal, Arc::clone(&stop), number)
            .context("cannot catch signals")?;
    }
    Ok(stop)
}
