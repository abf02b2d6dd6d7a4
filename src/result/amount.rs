// SPDX-License-Identifier: GPL-2.0-only
//! Numbers of a result file that cannot be negative, and durations that are possible.
//!
//! Checked while the file is read, so that a refusal has its line.

use super::histogram::VALUE_MAX;
use serde::de::{Deserialize, Deserializer, Error};

/// 36 years, the longest that a value in nanoseconds may be.
const SECONDS_MAX: f64 = VALUE_MAX as f64 / 1e9;

/// A duration in seconds.
pub fn seconds<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(input)?;
    check_seconds(seconds).map_err(D::Error::custom)?;
    Ok(seconds)
}

/// A duration in seconds, or none.
pub fn seconds_if_any<'de, D: Deserializer<'de>>(input: D) -> Result<Option<f64>, D::Error> {
    let seconds = Option::<f64>::deserialize(input)?;
    seconds
        .map_or(Ok(()), check_seconds)
        .map_err(D::Error::custom)?;
    Ok(seconds)
}

/// How much work was done.
pub fn work<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let work = f64::deserialize(input)?;
    if work < 0.0 {
        return Err(D::Error::custom(format!(
            "the work is {work}, and work is never negative; correct the number"
        )));
    }
    Ok(work)
}

/// Refuses a duration that cannot be.
pub fn check_seconds(seconds: f64) -> Result<(), String> {
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        return Ok(());
    }
    // Not {seconds}: 1e308 has 309 digits.
    Err(format!(
        "the seconds are {seconds:e}, and they must be from 0 to {SECONDS_MAX:.0} (36 years); correct the number"
    ))
}
