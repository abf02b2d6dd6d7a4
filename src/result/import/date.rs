// SPDX-License-Identifier: GPL-2.0-only
//! The dates that other programs write (RFC 2822) as those of result files (RFC 3339).

use std::time::Duration;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// `Sat, 21 Nov 2026 19:10:04 +0000` as `2026-11-21T19:10:04+00:00`; none when it is no date.
pub fn rfc3339(date: &str) -> Option<String> {
    let (local, zone) = parts(date)?;
    let (hours, minutes) = (zone.get(..3)?, zone.get(3..5)?);
    let valid = zone.len() == 5
        && zone.starts_with(['+', '-'])
        && zone[1..].bytes().all(|byte| byte.is_ascii_digit());
    humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
    valid.then(|| format!("{local}{hours}:{minutes}"))
}

/// From one such date to another, in seconds; none when one is no date, the order is wrong or
/// the clock was changed to summer time between them.
pub fn seconds_between(start: &str, end: &str) -> Option<f64> {
    let ((from, from_zone), (to, to_zone)) = (parts(start)?, parts(end)?);
    let time = |local| humantime::parse_rfc3339(&format!("{local}Z")).ok();
    let took: Duration = time(to)?.duration_since(time(from)?).ok()?;
    (from_zone == to_zone).then_some(took.as_secs_f64())
}

/// Date and time without zone, and the zone.
fn parts(date: &str) -> Option<(String, &str)> {
    let words: Vec<&str> = date.split_whitespace().collect();
    let [_, day, month, year, time, zone] = words[..] else {
        return None;
    };
    let day: u8 = day.parse().ok()?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let year: u16 = year.parse().ok()?;
    Some((format!("{year:04}-{month:02}-{day:02}T{time}"), zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_rewritten_with_their_zone() {
        let date = rfc3339("Sat, 21 Nov 2026 19:10:04 +0130").unwrap();
        assert_eq!(date, "2026-11-21T19:10:04+01:30");
        for wrong in [
            "",
            "Sat, 21 Nov 2026 25:10:04 +0000",
            "a b c d e f",
            "Sat, 21 Nov 2026 19:10:04 ü+0000",
        ] {
            assert_eq!(rfc3339(wrong), None);
        }
    }

    #[test]
    fn a_duration_needs_two_dates_of_one_zone() {
        let start = "Sat, 21 Nov 2026 23:59:59 +0000";
        let end = "Sun, 22 Nov 2026 00:00:01 +0000";
        assert_eq!(seconds_between(start, end), Some(2.0));
        assert_eq!(seconds_between(end, start), None);
        assert_eq!(
            seconds_between(start, "Sun, 22 Nov 2026 00:00:01 +0100"),
            None
        );
    }
}
