// SPDX-License-Identifier: GPL-2.0-only
//! A measurement of commands as the series of a result.

use super::Outcome;
use artis_result::names::{COMMAND, CPU_TIME};
use artis_result::{Distribution, Kind, Series, Unit};

/// One value a command in each.
pub fn series(outcome: &Outcome) -> Vec<Series> {
    let series = |name, values: &Distribution| {
        Series::new(name, Kind::Duration, Unit::Nanoseconds, values.clone())
    };
    vec![
        series(COMMAND, &outcome.times),
        series(CPU_TIME, &outcome.cpu_times),
    ]
}
