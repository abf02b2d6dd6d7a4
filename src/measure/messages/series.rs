// SPDX-License-Identifier: GPL-2.0-only
//! A measurement of messages as the series of a result.

use super::Outcome;
use artis_result::names::{PER_CPU_SECOND, PER_SECOND, ROUND_TRIP, WAKEUP};
use artis_result::{Distribution, Kind, Series, Unit};

/// The series of all threads together; each rate is one value, so that the rates of several runs
/// are a distribution.
pub fn series(outcome: &Outcome) -> Vec<Series> {
    let time = |name, kind, values: &Distribution| {
        Series::new(name, kind, Unit::Nanoseconds, values.clone())
    };
    let rate = |name, seconds: f64| {
        let mut one = Distribution::new();
        // Nothing was measured in no time.
        if seconds > 0.0 {
            one.record((outcome.messages as f64 / seconds).round() as i64);
        }
        Series::new(name, Kind::Count, Unit::Count, one)
    };
    vec![
        time(ROUND_TRIP, Kind::Duration, &outcome.round_trip),
        time(WAKEUP, Kind::Latency, &outcome.wakeup),
        rate(PER_SECOND, outcome.seconds),
        rate(PER_CPU_SECOND, outcome.cpu_time.as_secs_f64()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rates_are_of_the_time_and_of_the_cpu_time() {
        let outcome = Outcome {
            round_trip: Distribution::new(),
            wakeup: Distribution::new(),
            messages: 3000,
            cpu_time: Duration::from_millis(1500),
            seconds: 2.0,
        };
        let all = series(&outcome);
        let value = |name| {
            let one = all.iter().find(|one| one.name == name).unwrap();
            one.distribution.moments().unwrap().mean
        };
        assert_eq!((value(PER_SECOND), value(PER_CPU_SECOND)), (1500.0, 2000.0));
    }
}
