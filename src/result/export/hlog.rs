// SPDX-License-Identifier: GPL-2.0-only
//! HdrHistogram's interval log, version 1.3: a line for each series with its whole histogram,
//! as a tag that names it.
//!
//! Keeps histograms, counts and maxima exactly, and the length of the run; minimum, mean and
//! deviation follow from the histogram to its precision. Values below zero, which HdrHistogram
//! does not have, are magnitudes in a line of their own.

use super::{Exporter, Unfit, written_by};
use crate::histogram::encode;
use crate::tag::{Part, Tag};
use crate::{Document, Series};
use hdrhistogram::Histogram;
use std::fmt::Write;
use std::time::SystemTime;

pub struct Hlog;

const NS_PER_MS: f64 = 1e6;

impl Exporter for Hlog {
    fn name(&self) -> &'static str {
        "hlog"
    }

    fn write(&self, document: &Document, series: &[&Series]) -> Result<String, Unfit> {
        if series.is_empty() {
            return Err(Unfit::Nothing);
        }
        let mut text = format!(
            "#[{}]\n#[Histogram log format version 1.3]\n",
            written_by(document)
        );
        let started = document.started.as_deref().unwrap_or_default();
        if let Some(seconds) = since_epoch(started) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "#[StartTime: {seconds:.3} (seconds since epoch), {started}]"
            );
        }
        text.push_str("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n");
        let seconds = document.seconds.unwrap_or(0.0);
        for series in series {
            let mut line = |part, histogram: &Histogram<u64>, max: f64| {
                let tag = Tag::of(series).write(part);
                let histogram = encode(histogram).map_err(Unfit::Histogram)?;
                let max_ms = max / NS_PER_MS;
                let _ = writeln!(text, "Tag={tag},0.000,{seconds:.9},{max_ms:.6},{histogram}");
                Ok(())
            };
            let values = &series.distribution;
            let max = values.moments().map_or(0, |moments| moments.max.max(0));
            line(Part::Positive, values.histogram(), max as f64)?;
            if let Some(negative) = values.negative() {
                line(Part::Negative, negative, negative.max() as f64)?;
            }
        }
        Ok(text)
    }
}

/// RFC 3339 as seconds since 1970; humantime knows only the zone Z, which is what artis writes.
fn since_epoch(date: &str) -> Option<f64> {
    let time = humantime::parse_rfc3339(&date.replace("+00:00", "Z")).ok()?;
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::IMPORTERS;
    use crate::{Distribution, Kind, Setup, Unit};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_round_trip_is_exact(
            columns in prop::collection::vec(prop::collection::vec(-1_000_000..10_000_000_000_i64, 0..50), 1..4),
            seconds in prop::option::of(0.0..1e5_f64),
            signed: bool,
        ) {
            let mut document = Document::new(Setup::default());
            document.started = Some("2026-11-21T19:10:04.500Z".to_owned());
            document.seconds = seconds;
            for (cpu, column) in (0..).zip(&columns) {
                let mut values = if signed { Distribution::signed() } else { Distribution::new() };
                for value in column {
                    values.record(if signed { *value } else { value.abs() });
                }
                document.series.push(Series {
                    cpu: Some(cpu),
                    ..Series::new("latency", Kind::Latency, Unit::Nanoseconds, values)
                });
            }
            let series: Vec<&Series> = document.series.iter().collect();
            let text = Hlog.write(&document, &series).unwrap();
            let importer = IMPORTERS.iter().find(|importer| importer.name() == "hlog").unwrap();
            prop_assert!(importer.recognises(&text));
            let read = importer.read(text.as_bytes(), None).unwrap();
            prop_assert_eq!(&read.started, &document.started);
            prop_assert!((read.seconds.unwrap() - seconds.unwrap_or(0.0)).abs() < 1e-8);
            for (before, after) in document.series.iter().zip(&read.series) {
                prop_assert_eq!(Tag::of(before), Tag::of(after));
                let (before, after) = (&before.distribution, &after.distribution);
                prop_assert_eq!(before.histogram(), after.histogram());
                prop_assert_eq!(before.negative(), after.negative());
                let max = |values: &Distribution| values.moments().map(|moments| moments.max.max(0));
                prop_assert_eq!(max(before), max(after));
            }
        }
    }
}
