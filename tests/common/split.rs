// SPDX-License-Identifier: GPL-2.0-only
//! What `probe split` must print, on whichever kernel it ran. No time is judged, only its order:
//! due, then handler, then task.

/// Wakeups by each kind of timer.
pub const TIMES: u64 = 100;
/// A thread that is kept from the CPU may ask for a time that has passed: no timer is started then.
const REPORTED_MIN: u64 = TIMES * 95 / 100;

#[track_caller]
pub fn assert_reported(stdout: &str) {
    for timer in ["sleep", "timerfd"] {
        let line = stdout
            .lines()
            .find_map(|line| line.strip_prefix(timer)?.strip_prefix(' '));
        let reported: u64 = line.and_then(|number| number.parse().ok()).unwrap_or(0);
        assert!(
            reported >= REPORTED_MIN,
            "{timer}: {reported} of {TIMES}\n{stdout}"
        );
    }
}
