// SPDX-License-Identifier: GPL-2.0-only
//! How a long command notices that it should end.

use anyhow::Context;
use artis_task::syscall::is_ignored;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often a wait looks whether it should end.
const LOOK: Duration = Duration::from_millis(50);

/// A flag that SIGINT, SIGTERM and SIGHUP set to their number. SIGHUP stays ignored where it is: so
/// nohup(1) starts what goes on without its terminal.
pub fn stop_on_signals() -> anyhow::Result<Arc<AtomicUsize>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stop = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && is_ignored(signal) {
            continue;
        }
        let number = usize::try_from(signal)?;
        signal_hook::flag::register_usize(signal, Arc::clone(&stop), number)
            .context("cannot catch signals")?;
    }
    Ok(stop)
}

/// Waits for so long, or until the flag is not 0. `look` is called some times a second.
pub fn sleep(time: Duration, stop: &AtomicUsize, look: &mut dyn FnMut()) {
    let began = Instant::now();
    while stop.load(Ordering::Relaxed) == 0 {
        let left = time.saturating_sub(began.elapsed());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
        look();
    }
}
