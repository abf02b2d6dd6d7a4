// SPDX-License-Identifier: GPL-2.0-only
//! Where between two ticks of the kernel a wakeup is due, and what is the worst there.
//!
//! Without `skew_tick=` the ticks of all CPUs are at the whole multiples of their period on
//! `CLOCK_MONOTONIC`. With it they are moved, and a place is one all the same.

use crate::clock::SECOND_NS;
use nix::time::{ClockId, clock_getres};

/// Places in which the time between two ticks is divided.
pub const PLACES: usize = 100;

/// No wakeup was due there.
const NONE: i64 = i64::MIN;

/// How a measurement stands to the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The tick's period, ns; not 0.
    pub period_ns: u64,
    /// Where the first wakeup is due, ns after a tick; none: anywhere.
    pub place_ns: Option<u64>,
}

/// The longest latency of each place.
#[derive(Clone, Debug)]
pub struct Places {
    period_ns: u64,
    worst_ns: [i64; PLACES],
}

impl Tick {
    /// The kernel's, whose coarse clocks count ticks; none where it is unknown.
    pub fn of_kernel() -> Option<Self> {
        let period = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).ok()?;
        let seconds_ns = u64::try_from(period.tv_sec())
            .ok()?
            .checked_mul(SECOND_NS)?;
        let period_ns = seconds_ns + u64::try_from(period.tv_nsec()).ok()?;
        (period_ns > 0).then_some(Self {
            period_ns,
            place_ns: None,
        })
    }

    /// The time at or after `start_ns` from which a first wakeup `interval_ns` later is in the
    /// place.
    pub(super) fn start_ns(self, start_ns: u64, interval_ns: u64) -> u64 {
        let Some(place_ns) = self.place_ns else {
            return start_ns;
        };
        let period_ns = self.period_ns;
        let first_ns = (start_ns + interval_ns) % period_ns;
        start_ns + (place_ns % period_ns + period_ns - first_ns) % period_ns
    }
}

impl Places {
    pub fn new(tick: Tick) -> Self {
        Self {
            period_ns: tick.period_ns,
            worst_ns: [NONE; PLACES],
        }
    }

    /// Counts a wakeup.
    pub(super) fn record(&mut self, due_ns: u64, latency_ns: i64) {
        let after_ns = u128::from(due_ns % self.period_ns);
        let place = after_ns * PLACES as u128 / u128::from(self.period_ns);
        let worst_ns = &mut self.worst_ns[place as usize];
        *worst_ns = latency_ns.max(*worst_ns);
    }

    /// The longest latency of each place, ns; none where no wakeup was due.
    pub fn worst_ns(&self) -> impl Iterator<Item = Option<i64>> {
        let all = self.worst_ns.into_iter();
        all.map(|worst_ns| (worst_ns != NONE).then_some(worst_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Tick = Tick {
        period_ns: 4_000_000,
        place_ns: Some(30_000),
    };

    #[test]
    fn each_wakeup_is_in_its_place() {
        let mut places = Places::new(TICK);
        for (due_ns, latency_ns) in [(0, 5), (4_000_000, 7), (8_039_999, 6), (7_999_999, 1)] {
            places.record(due_ns, latency_ns);
        }
        let all: Vec<_> = places.worst_ns().collect();
        assert_eq!((all[0], all[1], all[99]), (Some(7), None, Some(1)));
        assert_eq!(all.iter().flatten().count(), 2);
    }

    #[test]
    fn a_period_without_a_divisor_in_common_with_the_tick_comes_to_all_places() {
        let mut places = Places::new(TICK);
        (0..4000).for_each(|wakeup| places.record(wakeup * 1_003_000, 1));
        assert_eq!(places.worst_ns().flatten().count(), PLACES);
        let mut kept = Places::new(TICK);
        (0..4000).for_each(|wakeup| kept.record(wakeup * 1_000_000, 1));
        assert_eq!(kept.worst_ns().flatten().count(), 4);
    }

    #[test]
    fn a_place_that_is_asked_for_is_kept() {
        for start_ns in [0, 1, 3_999_999, 123_456_789] {
            for interval_ns in [4_000_000, 1_000_000, 1_003_000] {
                let begun_ns = TICK.start_ns(start_ns, interval_ns);
                assert!((start_ns..start_ns + 4_000_000).contains(&begun_ns));
                assert_eq!((begun_ns + interval_ns) % 4_000_000, 30_000);
            }
        }
        let anywhere = Tick {
            place_ns: None,
            ..TICK
        };
        assert_eq!(anywhere.start_ns(17, 1_000_000), 17);
    }

    #[test]
    fn this_kernel_has_a_tick() {
        let period_ns = Tick::of_kernel().unwrap().period_ns;
        assert!((500_000..=20_000_000).contains(&period_ns), "{period_ns}");
    }
}
