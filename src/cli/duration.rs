// SPDX-License-Identifier: GPL-2.0-only
//! Durations as people type them for cyclictest and rtla: `90`, `90s`, `5m`, `12h`, `1d`.

use std::time::Duration;

/// Parses a duration; a bare number is seconds.
///
/// # Errors
/// A sentence for the user.
pub fn parse(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    match parsed {
        Some(Duration::ZERO) => Err("it must be longer than 0".to_owned()),
        Some(duration) => Ok(duration),
        None => Err("write seconds, or a number with a unit: 90, 90s, 5m, 12h, 1d".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_understood() {
        for (text, seconds) in [
            ("90", 90.0),
            ("0.5", 0.5),
            ("90s", 90.0),
            ("5m", 300.0),
            ("12h", 43_200.0),
            ("1d", 86_400.0),
            ("200ms", 0.2),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "0", "-1", "1x", "nan", "inf", "1e300", "m"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
