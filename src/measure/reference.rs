// SPDX-License-Identifier: GPL-2.0-only
//! The shortest time of a piece of work before any load: what all later times are compared with,
//! and when to doubt it.

use super::clock::now_ns;
use artis_result::{Distribution, Warning};

/// A piece of work should be this many times longer than reading the clock.
const CLOCK_READS: f64 = 100.0;
/// A time may be shorter than the reference by this part of it: the clock is not more exact.
const GRAIN: f64 = 0.001;

/// The shortest of these times.
pub fn shortest_ns(times: &Distribution) -> u64 {
    times
        .moments()
        .map_or(0, |moments| moments.min.unsigned_abs())
}

/// What speaks against comparing times with `reference_ns`, the shortest one of the unloaded run.
/// `fastest_ns` is the shortest one of the measurement.
pub fn doubts(reference_ns: u64, fastest_ns: u64) -> Vec<Warning> {
    judge(reference_ns, fastest_ns, clock_read_ns())
}

fn judge(reference_ns: u64, fastest_ns: u64, clock_read_ns: f64) -> Vec<Warning> {
    let mut found = Vec::new();
    let reference = reference_ns as f64;
    if (fastest_ns as f64) < reference * (1.0 - GRAIN) {
        found.push(Warning {
            id: "unloaded_run".to_owned(),
            seen: format!(
                "the work took at least {:.3} us in the run without load, and only {:.3} us once in \
                 the measurement",
                reference / 1000.0,
                fastest_ns as f64 / 1000.0
            ),
            why: "the reference is not the shortest possible time, so the excess is too small"
                .to_owned(),
            fix: Some("measure it for longer with --unloaded, on an idle machine".to_owned()),
        });
    }
    if reference < clock_read_ns * CLOCK_READS {
        found.push(Warning {
            id: "short_work".to_owned(),
            seen: format!(
                "the work takes {:.3} us, and reading the clock {clock_read_ns:.0} ns",
                reference / 1000.0
            ),
            why: "reading the clock is more than 1 % of each sample".to_owned(),
            fix: Some("give it more work with --count".to_owned()),
        });
    }
    found
}

/// What reading the clock costs here.
fn clock_read_ns() -> f64 {
    const READS: u32 = 1000;
    let began_ns = now_ns();
    let mut now = began_ns;
    for _ in 0..READS {
        now = now_ns();
    }
    (now - began_ns) as f64 / f64::from(READS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_that_is_too_long_and_work_that_is_too_short_are_found() {
        let ids = |reference_ns, fastest_ns| {
            let found = judge(reference_ns, fastest_ns, 30.0);
            found
                .into_iter()
                .map(|warning| warning.id)
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(1_000_000, 999_500), [""; 0]);
        assert_eq!(ids(1_000_000, 998_000), ["unloaded_run"]);
        assert_eq!(ids(2000, 2000), ["short_work"]);
        assert!(clock_read_ns() > 0.0);
    }
}
