// SPDX-License-Identifier: GPL-2.0-only
//! Values of TOML files as people write them: `250us`, `512MiB`, `10 %`.

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use std::fmt;

/// Microseconds, above 0.
pub struct Time(pub f64);

/// Bytes.
pub struct Bytes(pub f64);

/// 0 to 1.
pub struct Part(pub f64);

/// A day in microseconds.
const DAY_US: f64 = 86_400e6;
/// The longest time: a hundred years, as for all times of the command line.
const TIME_US_MAX: f64 = 36_500.0 * DAY_US;
/// The shortest: what clocks count.
const TIME_US_MIN: f64 = 1e-3;
/// The largest size, 2^60 bytes.
const BYTES_MAX: f64 = (1_u64 << 60) as f64;

/// A time with its unit, microseconds.
///
/// # Errors
/// A sentence.
pub fn time_us(text: &str) -> Result<f64, String> {
    let time = humantime::parse_duration(text.trim()).ok();
    let us = time.map(|time| time.as_secs_f64() * 1e6);
    us.or_else(|| fraction(text))
        .filter(|us| (TIME_US_MIN..=TIME_US_MAX).contains(us))
        .ok_or_else(|| {
            "write a time with its unit, from 1ns to 36500d: \"250us\", \"1.5ms\", \"21d\""
                .to_owned()
        })
}

/// humantime takes whole numbers only.
fn fraction(text: &str) -> Option<f64> {
    let units = [("ns", 1e-3), ("us", 1.0), ("ms", 1e3), ("s", 1e6)];
    let text = text.trim();
    let (number, us) = units
        .into_iter()
        .find_map(|(unit, us)| Some((text.strip_suffix(unit)?, us)))?;
    let number: f64 = number.trim().parse().ok()?;
    Some(number * us)
}

/// A size with its unit, bytes.
///
/// # Errors
/// A sentence.
pub fn bytes(text: &str) -> Result<f64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let found = units.into_iter().find_map(|(unit, power)| {
        let number: f64 = text.trim().strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * f64::from(power).exp2())
    });
    found
        .filter(|it| (1.0..=BYTES_MAX).contains(it))
        .ok_or_else(|| {
            "write a size with its unit, up to 1048576TiB: \"512MiB\", \"8GiB\"".to_owned()
        })
}

/// A part of the whole, 0 to 1.
///
/// # Errors
/// A sentence.
pub fn part(text: &str) -> Result<f64, String> {
    let found = match text.trim().strip_suffix('%') {
        Some(number) => number.trim().parse().ok().map(|it: f64| it / 100.0),
        None => text.trim().parse().ok(),
    };
    found
        .filter(|part| (0.0..=1.0).contains(part))
        .ok_or_else(|| "write a part from 0 to 1, or per cent: 0.1, \"10 %\"".to_owned())
}

/// A string for one of these parsers; a number only where it has no unit.
struct Words {
    parse: fn(&str) -> Result<f64, String>,
    number: bool,
}

impl Visitor<'_> for Words {
    type Value = f64;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self.number {
            true => "a number or a string",
            false => "a string with its unit, in quotes",
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        match self.number {
            true => (self.parse)(&value.to_string()).map_err(E::custom),
            false => Err(E::invalid_type(Unexpected::Float(value), &self)),
        }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        match self.number {
            true => (self.parse)(&value.to_string()).map_err(E::custom),
            false => Err(E::invalid_type(Unexpected::Signed(value), &self)),
        }
    }
}

macro_rules! read_as {
    ($name:ident, $parse:expr, $number:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                let words = Words {
                    parse: $parse,
                    number: $number,
                };
                input.deserialize_any(words).map(Self)
            }
        }
    };
}

read_as!(Time, time_us, false);
read_as!(Bytes, bytes, false);
read_as!(Part, part, true);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sizes_and_parts_have_their_units() {
        assert_eq!(time_us("250us"), Ok(250.0));
        assert_eq!(time_us("1.5ms"), Ok(1500.0));
        assert_eq!(time_us("21 days"), Ok(21.0 * 86_400e6));
        for far in [
            "1e300s",
            "-5us",
            "36501d",
            "0.5ns",
            "0.0000001ns",
            &format!("{}us", "9".repeat(300)),
        ] {
            assert!(
                time_us(far).unwrap_err().contains("from 1ns to 36500d"),
                "{far}"
            );
        }
        assert_eq!(time_us("36500d"), Ok(TIME_US_MAX));
        assert!(bytes("1e300TiB").unwrap_err().contains("up to 1048576TiB"));
        assert!(time_us("0us").is_err() && time_us("5").is_err() && time_us("nan s").is_err());
        assert_eq!(bytes("1.5GiB"), Ok(1_610_612_736.0));
        assert!(bytes("5").is_err() && bytes("-1GiB").is_err());
        assert_eq!((part("10 %"), part("0.25")), (Ok(0.1), Ok(0.25)));
        assert!(part("2").is_err() && part("-1 %").is_err());
    }
}
