// SPDX-License-Identifier: GPL-2.0-only
//! Lines, words and numbers of foreign text files, each failure with its line.

use super::Refusal;
use crate::histogram::VALUE_MAX;
use std::str::FromStr;

/// More columns than Linux has CPUs.
pub const COLUMNS_MAX: usize = 8192;

/// The content as text.
pub fn text(content: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(content).map_err(|error| {
        let before = &content[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Refusal::line(line, "this is no text")
    })
}

/// Each line with its number, from 1.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

/// The number of the last line, for what is missing at the end.
pub fn last_line(text: &str) -> usize {
    text.lines().count().max(1)
}

/// A word as a number; `what` names it in the message.
pub fn number<T: FromStr>(line: usize, word: &str, what: &str) -> Result<T, Refusal> {
    word.parse().map_err(|_| {
        let shown: String = word.chars().take(40).collect();
        Refusal::line(
            line,
            format!("{what} is {shown:?}, which is no such number"),
        )
    })
}

/// All words as numbers.
pub fn numbers<T: FromStr>(line: usize, words: &str, what: &str) -> Result<Vec<T>, Refusal> {
    let all: Result<Vec<T>, Refusal> = words
        .split_whitespace()
        .take(COLUMNS_MAX + 1)
        .map(|word| number(line, word, what))
        .collect();
    let all = all?;
    if all.len() > COLUMNS_MAX {
        return Err(Refusal::line(
            line,
            format!("more than {COLUMNS_MAX} columns; no machine has so many CPUs"),
        ));
    }
    Ok(all)
}

/// Microseconds with decimals as nanoseconds.
pub fn ns_of_us(line: usize, word: &str, what: &str) -> Result<i64, Refusal> {
    let us: f64 = number(line, word.trim(), what)?;
    let ns = us * 1000.0;
    if ns.is_finite() && ns.abs() < VALUE_MAX as f64 {
        Ok(ns.round() as i64)
    } else {
        Err(Refusal::line(line, format!("{what} is out of range")))
    }
}

/// `HH:MM:SS` as seconds.
pub fn seconds_of_clock(line: usize, word: &str) -> Result<f64, Refusal> {
    let parts: Vec<&str> = word.split(':').collect();
    let [hours, minutes, seconds] = parts[..] else {
        return Err(Refusal::line(line, "a duration is not HH:MM:SS"));
    };
    let part = |word| number::<u32>(line, word, "a duration").map(f64::from);
    Ok(part(hours)? * 3600.0 + part(minutes)? * 60.0 + part(seconds)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Place;

    #[test]
    fn a_bad_word_is_reported_with_its_line_and_shortened() {
        let refusal = number::<u64>(3, &"x".repeat(1000), "a count").unwrap_err();
        assert_eq!(refusal.place, Place::Line(3));
        assert!(refusal.reason.len() < 100, "{}", refusal.reason);
    }

    #[test]
    fn bytes_that_are_no_text_have_a_line() {
        assert_eq!(text(b"a\nb\n\xff").unwrap_err().place, Place::Line(3));
    }

    #[test]
    fn microseconds_become_whole_nanoseconds() {
        assert_eq!(ns_of_us(1, " -1.234", "min").unwrap(), -1234);
        assert!(ns_of_us(1, "1e300", "min").is_err());
        assert!(ns_of_us(1, "nan", "min").is_err());
    }

    #[test]
    fn clocks_are_seconds() {
        assert_eq!(seconds_of_clock(1, "01:00:02").unwrap(), 3602.0);
        assert!(seconds_of_clock(1, "1:2").is_err());
    }
}
