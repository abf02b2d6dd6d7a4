// SPDX-License-Identifier: GPL-2.0-only
//! Sentences about a latency measurement: while it goes on, and when a limit ended it.

use super::us;
use nix::errno::Errno;

/// The sign of life has room for the last latency of so many threads.
const THREADS_MAX: usize = 8;

/// What the sign of life says: of so many samples, the worst of them, and the last of each thread.
pub fn progress(samples: u64, max_ns: i64, last_ns: impl Iterator<Item = i64>) -> String {
    let last = last_ns.take(THREADS_MAX);
    let last: Vec<String> = last.map(|ns| format!("{:.1}", us(ns))).collect();
    format!(
        "worst {:.1} us, {samples} samples; last {} us",
        us(max_ns),
        last.join(" ")
    )
}

/// The sentence about the threshold that was passed.
pub fn exceeded(thread: usize, latency_ns: i64, at_s: f64) -> String {
    format!(
        "thread {thread} was {:.3} us late, {at_s:.6} s after the start: above the threshold",
        us(latency_ns)
    )
}

/// The sentence about a source that failed in the middle, after so many samples.
pub fn failure(source: &str, thread: usize, samples: u64, errno: Errno) -> String {
    format!(
        "the source {source} of thread {thread} failed after {samples} samples: {}; what was \
         measured until then is in the result",
        errno.desc()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_begins_with_the_maximum() {
        let line = progress(2, 1500, [700, 1500].into_iter());
        assert_eq!(line, "worst 1.5 us, 2 samples; last 0.7 1.5 us");
    }
}
