// SPDX-License-Identifier: GPL-2.0-only
//! The warning that a series has too few values for its far percentiles.
//!
//! It is a rule about figures alone, so a measurement and a merged result follow the same one.

use super::distribution::PERCENTILES;
use super::document::Warning;

/// Its [`Warning::id`].
pub const ID: &str = "few_samples";

/// How many values beyond a percentile make it repeatable.
const SAMPLES_BEYOND: f64 = 10.0;

/// Warns of the series with the fewest values, given by name and count, if those are too few.
pub fn warning<'a>(series: impl Iterator<Item = (&'a str, u64)>) -> Option<Warning> {
    let (name, count) = series.min_by_key(|(_, count)| *count)?;
    let short: Vec<(&str, u64)> = PERCENTILES
        .iter()
        .map(|(name, percent)| (*name, needed(*percent)))
        .filter(|(_, needed)| count < *needed)
        .collect();
    let (_, most) = short.last()?;
    let names: Vec<&str> = short.iter().map(|(name, _)| *name).collect();
    Some(Warning {
        id: ID.to_owned(),
        seen: format!(
            "{name} has {count} {}: fewer than 10 lie beyond its percentiles {}",
            if count == 1 { "sample" } else { "samples" },
            names.join(", ")
        ),
        why: "these percentiles, and the maximum, may be quite different in the next run"
            .to_owned(),
        fix: Some(format!(
            "measure longer: {most} samples are enough for {}",
            names[names.len() - 1]
        )),
    })
}

/// How many values a percentile takes.
fn needed(percent: f64) -> u64 {
    // 1 - 0.99999 is not quite 1e-5 in floating point.
    (SAMPLES_BEYOND / (1.0 - percent / 100.0)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_ten_samples_beyond() {
        assert_eq!((needed(50.0), needed(99.0)), (20, 1000));
        assert_eq!(needed(99.999), 1_000_000);
        let of = |count| warning([("many", u64::MAX), ("few", count)].into_iter());
        assert_eq!(of(1_000_000), None);
        let seen = of(5000).unwrap().seen;
        assert!(
            seen.contains("few has 5000") && seen.ends_with("99.9, 99.99, 99.999"),
            "{seen}"
        );
        assert!(of(0).unwrap().seen.contains("50, 90"));
    }
}
