// SPDX-License-Identifier: GPL-2.0-only
//! Whether two results are the same run, by what they hold and not by their names.
//!
//! A run that counts twice narrows every interval and proves nothing. Two runs do not have the same
//! number of values in each bucket of each series, so these are compared. What a conversion may
//! change or lose (names, start, CPU, the last digits of the mean) need not be in both.

use super::document::Document;
use super::series::{Kind, Series, Unit};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime};

/// Formats keep the start to a second, or finer.
const SAME_START: Duration = Duration::from_secs(1);

/// Whether these are copies of one run, in whatever format they came.
pub fn is_same_run(one: &Document, other: &Document) -> bool {
    let measured = one.series.iter().any(|it| it.distribution.count() > 0);
    measured
        && one.series.len() == other.series.len()
        && begun_together(one.started.as_deref(), other.started.as_deref())
        && values(one) == values(other)
}

/// The places of the first document that is a copy of an earlier one, and of that one.
pub fn first_copy<'a>(documents: impl Iterator<Item = &'a Document>) -> Option<(usize, usize)> {
    // Only those of one hash are compared, so that many files take no longer than each of them.
    let mut alike: HashMap<u64, Vec<(usize, &Document)>> = HashMap::new();
    for (at, document) in documents.enumerate() {
        let mut hasher = DefaultHasher::new();
        values(document).hash(&mut hasher);
        let earlier = alike.entry(hasher.finish()).or_default();
        let same = earlier
            .iter()
            .find(|(_, other)| is_same_run(document, other));
        if let Some((other, _)) = same {
            return Some((*other, at));
        }
        earlier.push((at, document));
    }
    None
}

/// Whether the starts can be one; an imported file may not have its own.
fn begun_together(one: Option<&str>, other: Option<&str>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return true;
    };
    let time = |date: &str| humantime::parse_rfc3339(&date.replace("+00:00", "Z")).ok();
    match (time(one), time(other)) {
        (Some(one), Some(other)) => between(one, other) < SAME_START,
        _ => one == other,
    }
}

fn between(one: SystemTime, other: SystemTime) -> Duration {
    let earlier = one.min(other);
    one.max(other).duration_since(earlier).unwrap_or_default()
}

/// What makes the values of a series.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Values {
    kind: Kind,
    unit: Unit,
    count: u64,
    /// Minimum, mean and maximum, where nothing else is known.
    summary: Option<(i64, u64, i64)>,
    buckets: Vec<(i64, u64)>,
}

fn values(document: &Document) -> Vec<Values> {
    let mut all: Vec<Values> = document.series.iter().map(of_series).collect();
    all.sort();
    all
}

fn of_series(series: &Series) -> Values {
    let moments = series.distribution.moments();
    Values {
        kind: series.kind,
        unit: series.unit,
        count: series.distribution.count(),
        summary: moments
            .filter(|_| series.distribution.is_summary())
            .map(|it| (it.min, it.mean.to_bits(), it.max)),
        buckets: series.distribution.buckets().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distribution, Setup};

    fn run(values: &[i64]) -> Document {
        let mut all = Distribution::new();
        for value in values {
            all.record(*value);
        }
        let mut document = Document::new(Setup::default());
        let series = Series::new("latency", Kind::Latency, Unit::Nanoseconds, all);
        document.series.push(series);
        document
    }

    #[test]
    fn a_copy_is_the_same_run_whatever_a_conversion_lost() {
        let mut one = run(&[10, 20]);
        let mut other = run(&[20, 10]);
        other.series[0].cpu = Some(1);
        other.series[0].name = "delay".to_owned();
        other.tool = "hlog".to_owned();
        assert!(is_same_run(&one, &other));
        one.started = Some("2026-11-21T19:10:04.500Z".to_owned());
        assert!(is_same_run(&one, &other));
        other.started = Some("2026-11-21T19:10:04+00:00".to_owned());
        assert!(is_same_run(&one, &other));
    }

    #[test]
    fn other_values_or_another_start_are_another_run() {
        let mut one = run(&[10, 20]);
        assert!(!is_same_run(&one, &run(&[10, 21])));
        assert!(!is_same_run(&one, &run(&[10, 20, 20])));
        let mut other = one.clone();
        one.started = Some("2026-11-21T19:10:04Z".to_owned());
        other.started = Some("2026-11-21T19:10:06Z".to_owned());
        assert!(!is_same_run(&one, &other));
        other.started = Some("2026-11-21T20:10:04+01:00".to_owned());
        assert!(!is_same_run(&one, &other));
    }

    #[test]
    fn two_runs_without_a_value_are_not_one() {
        assert!(!is_same_run(&run(&[]), &run(&[])));
    }

    #[test]
    fn summaries_are_the_same_by_their_figures() {
        let summary = |mean| {
            let mut document = run(&[]);
            document.series[0].distribution = Distribution::summary(5, 1, mean, 9).unwrap();
            document
        };
        assert!(is_same_run(&summary(3.0), &summary(3.0)));
        assert!(!is_same_run(&summary(3.0), &summary(3.5)));
    }
}
