// SPDX-License-Identifier: GPL-2.0-only
//! Times as people type them for cyclictest and rtla: `90`, `90s`, `5m`, `12h`, `1d`, `200us`.

use super::number::within;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A hundred years. A time in nanoseconds still fits in 64 bits.
const LONGEST: Duration = Duration::from_secs(36_500 * 86_400);

/// Parses a duration; a bare number is seconds.
///
/// # Errors
/// A sentence for the user.
pub fn parse(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    parsed
        .filter(|duration| (Duration::from_nanos(1)..=LONGEST).contains(duration))
        .ok_or_else(|| {
            "write seconds or a number with its unit, more than 0 and at most 36500d: \
             90, 90s, 200ms, 5m, 12h, 1d"
                .to_owned()
        })
}

/// A parser of whole microseconds; a bare number is microseconds, others have their unit.
pub fn microseconds<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64> + Into<i128> + Copy + Send + Sync + 'static,
{
    steps(
        range,
        Duration::from_micros(1),
        "microseconds",
        "200us, 1ms, 1s",
    )
}

/// A parser of whole seconds; a bare number is seconds, others have their unit.
pub fn seconds<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64> + Into<i128> + Copy + Send + Sync + 'static,
{
    steps(range, Duration::from_secs(1), "seconds", "90s, 5m, 1h")
}

fn steps<T>(
    range: RangeInclusive<T>,
    step: Duration,
    unit: &'static str,
    examples: &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64> + Into<i128> + Copy + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().or_else(|| {
            let time = humantime::parse_duration(text).ok()?;
            let (number, rest) = (
                time.as_nanos() / step.as_nanos(),
                time.as_nanos() % step.as_nanos(),
            );
            u64::try_from(number).ok().filter(|_| rest == 0)
        });
        within(number, &range).ok_or_else(|| {
            let (first, last): (i128, i128) = ((*range.start()).into(), (*range.end()).into());
            format!(
                "write whole {unit} from {first} to {last}, or such a time with its unit: \
                 {examples}"
            )
        })
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
            ("36500d", 3_153_600_000.0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "0",
            "-1",
            "1x",
            "nan",
            "inf",
            "1e300",
            "m",
            "36501d",
            "99999999999999d",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("at most 36500d: 90,"), "{text}: {error}");
        }
    }

    #[test]
    fn a_bare_number_has_the_unit_of_its_option() {
        let interval = microseconds(1..=3_600_000_000_u64);
        for (text, us) in [
            ("250", 250),
            ("200us", 200),
            ("1ms", 1000),
            ("1s", 1_000_000),
        ] {
            assert_eq!(interval(text), Ok(us), "{text}");
        }
        assert_eq!(seconds(0..=1000_u64)("2m"), Ok(120));
        assert_eq!(seconds(0..=1000_u64)("0"), Ok(0));
    }

    #[test]
    fn times_outside_the_range_or_between_two_steps_are_refused() {
        let interval = microseconds(1..=1_000_000_u32);
        for text in [
            "0",
            "-1",
            "1e3",
            "1.5",
            "abc",
            "1500ns",
            "2s",
            "99999999999999999999",
            "1min1",
        ] {
            let error = interval(text).unwrap_err();
            assert!(
                error.starts_with("write whole microseconds from 1 to 1000000, or such a time"),
                "{text}: {error}"
            );
        }
        assert!(seconds(0..=9_u64)("1500ms").is_err());
    }
}
