// SPDX-License-Identifier: GPL-2.0-only
//! The one clock of all measurements: `CLOCK_MONOTONIC`, in nanoseconds since boot.
//!
//! Never `CLOCK_REALTIME`, which people and time servers set.

use libc::{CLOCK_MONOTONIC, timespec};
use std::time::Duration;

/// Nanoseconds of a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Now. A call into the vDSO, no system call.
#[inline]
pub fn now_ns() -> u64 {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a live timespec. The call cannot fail: the clock exists in every kernel.
    unsafe { libc::clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.tv_sec.unsigned_abs() * SECOND_NS + time.tv_nsec.unsigned_abs()
}

/// `ns` as the kernel takes it.
pub fn to_timespec(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / SECOND_NS).cast_signed(),
        tv_nsec: (ns % SECOND_NS).cast_signed(),
    }
}

/// `observed - due`, negative when early. Both are times of this boot, far below the limits.
pub fn difference_ns(observed_ns: u64, due_ns: u64) -> i64 {
    observed_ns.cast_signed() - due_ns.cast_signed()
}

/// From the one to the other, seconds.
pub fn seconds(began_ns: u64, at_ns: u64) -> f64 {
    difference_ns(at_ns, began_ns) as f64 / SECOND_NS as f64
}

/// So much later; no end where there is no duration.
pub fn after_ns(began_ns: u64, duration: Option<Duration>) -> u64 {
    let ns = duration.and_then(|duration| u64::try_from(duration.as_nanos()).ok());
    began_ns.saturating_add(ns.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_and_converts() {
        let before_ns = now_ns();
        assert!(now_ns() >= before_ns && before_ns > 0);
        let time = to_timespec(3 * SECOND_NS + 5);
        assert_eq!((time.tv_sec, time.tv_nsec), (3, 5));
        assert_eq!(difference_ns(5, 7), -2);
        assert_eq!(seconds(SECOND_NS, 3 * SECOND_NS), 2.0);
        assert_eq!(after_ns(3, Some(Duration::from_nanos(4))), 7);
        assert_eq!(after_ns(3, None), u64::MAX);
    }
}
