// SPDX-License-Identifier: GPL-2.0-only
//! A measurement of commands as the series of a result.

use super::Outcome;
use artis_result::{Distribution, Kind, Series, Unit};

/// What the result calls the time that a command took, and its CPU time, which has the names that
/// `measure throughput` gives it.
pub const COMMAND: &str = "command";
pub const USER: &str = "user";
pub const SYSTEM: &str = "sys";

/// One value a command in each.
pub fn series(outcome: &Outcome) -> Vec<Series> {
    let series = |name, values: &Distribution| {
        Series::new(name, Kind::Duration, Unit::Nanoseconds, values.clone())
    };
    vec![
        series(COMMAND, &outcome.times),
        series(USER, &outcome.user),
        series(SYSTEM, &outcome.system),
    ]
}
