// SPDX-License-Identifier: GPL-2.0-only
//! cyclictest's histogram as text, which OSADL's plots and many scripts read: a line for each
//! microsecond with a column for each series, in the order of the result; totals, minima,
//! averages and maxima behind it.
//!
//! Keeps counts, minima and maxima to 1 us, cut down as cyclictest does. Without a limit every
//! value gets its line, so there are no overflows; above a millisecond, lines without a value are
//! left out, or one late sample would make a file of megabytes. With a limit it has the lines that
//! cyclictest has with the same one.

use super::{Exporter, Unfit, one_name, written_by};
use crate::result::{Document, Moments, Series, Unit};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The format, with or without a limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct CyclictestHistogram {
    /// So many lines of 1 us, as of `cyclictest -h`; values beyond are overflows. None: all.
    pub lines: Option<u64>,
}

const NS_PER_US: i64 = 1000;
/// Lines that are written even when nothing was counted.
const DENSE_ROWS: u64 = 1000;

impl Exporter for CyclictestHistogram {
    fn name(&self) -> &'static str {
        "cyclictest-histogram"
    }

    fn write(&self, document: &Document, series: &[&Series]) -> Result<String, Unfit> {
        one_name(self.name(), series)?;
        let mut rows = rows(self.name(), series, self.lines)?;
        let beyond = self
            .lines
            .map(|lines| rows.split_off(&lines))
            .unwrap_or_default();
        let mut text = format!("# {}\n# Histogram\n", written_by(document));
        for (us, counts) in &rows {
            let counts: Vec<String> = counts.iter().map(|count| format!("{count:06}")).collect();
            line(&mut text, format_args!("{us:06} {}", counts.join("\t")));
        }
        let overflows: Vec<u64> = (0..series.len())
            .map(|column| beyond.values().map(|counts| counts[column]).sum())
            .collect();
        let mut footer = |name: &str, digits: usize, of: &dyn Fn(usize) -> u64| {
            let words = (0..series.len()).map(|column| format!(" {:0digits$}", of(column)));
            let words: String = words.collect();
            line(&mut text, format_args!("# {name}:{words}"));
        };
        let count = |column: usize| series[column].distribution.count();
        let us = |column: usize, of: &dyn Fn(&Moments) -> i64| {
            let moments = series[column].distribution.moments();
            moments.map_or(0, |moments| {
                of(&moments).div_euclid(NS_PER_US).unsigned_abs()
            })
        };
        footer("Total", 9, &|column| count(column) - overflows[column]);
        footer("Min Latencies", 5, &|column| {
            us(column, &|moments| moments.min)
        });
        footer("Avg Latencies", 5, &|column| {
            us(column, &|moments| moments.mean as i64)
        });
        footer("Max Latencies", 5, &|column| {
            us(column, &|moments| moments.max)
        });
        footer("Histogram Overflows", 5, &|column| overflows[column]);
        line(
            &mut text,
            format_args!("# Histogram Overflow at cycle number:"),
        );
        for thread in 0..series.len() {
            line(&mut text, format_args!("# Thread {thread}:"));
        }
        Ok(text)
    }
}

/// Writing to a string cannot fail.
fn line(text: &mut String, words: std::fmt::Arguments) {
    let _ = writeln!(text, "{words}");
}

/// The counts of all series by microsecond.
fn rows(
    format: &'static str,
    series: &[&Series],
    lines: Option<u64>,
) -> Result<BTreeMap<u64, Vec<u64>>, Unfit> {
    let columns = series.len();
    let mut rows: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (column, series) in series.iter().enumerate() {
        let name = || series.name.clone();
        if series.unit != Unit::Nanoseconds {
            return Err(Unfit::NoTime {
                format,
                name: name(),
            });
        }
        let Some(moments) = series.distribution.moments() else {
            continue;
        };
        for (value, count) in series.distribution.buckets() {
            let us = u64::try_from(value.min(moments.max) / NS_PER_US)
                .ok()
                .filter(|_| moments.min >= 0)
                .ok_or_else(|| Unfit::Negative {
                    format,
                    name: name(),
                })?;
            rows.entry(us).or_insert_with(|| vec![0; columns])[column] += count;
        }
    }
    let last = rows.last_key_value().map_or(0, |(us, _)| *us);
    for us in 0..lines.unwrap_or((last + 1).min(DENSE_ROWS)) {
        rows.entry(us).or_insert_with(|| vec![0; columns]);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::import::{IMPORTERS, Importer};
    use crate::result::{Distribution, Kind, Setup};
    use proptest::prelude::*;

    fn document(columns: &[Vec<i64>]) -> Document {
        let mut document = Document::new(Setup::default());
        for column in columns {
            let mut values = Distribution::signed();
            for value in column {
                values.record(*value);
            }
            let series = Series::new("latency", Kind::Latency, Unit::Nanoseconds, values);
            document.series.push(series);
        }
        document
    }

    fn written(document: &Document) -> Result<String, Unfit> {
        let series: Vec<&Series> = document.series.iter().collect();
        CyclictestHistogram::default().write(document, &series)
    }

    fn importer() -> &'static dyn Importer {
        let found = IMPORTERS
            .into_iter()
            .find(|importer| importer.name() == CyclictestHistogram::default().name());
        found.unwrap()
    }

    /// Counts by microsecond.
    fn by_us(series: &Series) -> BTreeMap<i64, u64> {
        let max = series
            .distribution
            .moments()
            .map_or(0, |moments| moments.max);
        let mut counts = BTreeMap::new();
        for (value, count) in series.distribution.buckets() {
            *counts.entry(value.min(max) / NS_PER_US).or_default() += count;
        }
        counts
    }

    #[test]
    fn the_text_is_cyclictests() {
        let text = written(&document(&[vec![1500, 1600, 3000], vec![0]])).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let expected = [
            "# Histogram",
            "000000 000000\t000001",
            "000001 000002\t000000",
            "000002 000000\t000000",
            "000003 000001\t000000",
            "# Total: 000000003 000000001",
            "# Min Latencies: 00001 00000",
            "# Avg Latencies: 00002 00000",
            "# Max Latencies: 00003 00000",
            "# Histogram Overflows: 00000 00000",
            "# Histogram Overflow at cycle number:",
            "# Thread 0:",
            "# Thread 1:",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(written(&document(&[])), Err(Unfit::Nothing));
        let early = written(&document(&[vec![-1, 5]]));
        assert!(matches!(early, Err(Unfit::Negative { .. })));
        let mut two = document(&[vec![1], vec![2]]);
        two.series[1].name = "other".to_owned();
        assert!(matches!(written(&two), Err(Unfit::SeveralNames { .. })));
        two.series[1].name = "latency".to_owned();
        two.series[1].unit = Unit::Count;
        assert!(matches!(written(&two), Err(Unfit::NoTime { .. })));
    }

    fn columns() -> impl Strategy<Value = Vec<Vec<i64>>> {
        let value = prop_oneof![0..100_000_i64, 0..2_000_000_i64];
        prop::collection::vec(prop::collection::vec(value, 0..60), 1..4)
    }

    #[test]
    fn what_is_beyond_the_limit_overflows() {
        let document = document(&[vec![500, 1500, 7_000_000]]);
        let limited = CyclictestHistogram { lines: Some(3) };
        let series: Vec<&Series> = document.series.iter().collect();
        let text = limited.write(&document, &series).unwrap();
        for line in [
            "000000 000001",
            "000001 000001",
            "000002 000000",
            "# Total: 000000002",
            "# Max Latencies: 07000",
            "# Histogram Overflows: 00001",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("007000 "));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_round_trip_keeps_every_microsecond(columns in columns()) {
            let document = document(&columns);
            let text = written(&document).unwrap();
            let read = importer().read(text.as_bytes(), None).unwrap();
            prop_assert_eq!(read.series.len(), document.series.len());
            for (before, after) in document.series.iter().zip(&read.series) {
                prop_assert_eq!(by_us(before), by_us(after));
                let figures = |series: &Series| {
                    let moments = series.distribution.moments();
                    moments.map(|it| (it.count, it.min / NS_PER_US, it.max / NS_PER_US))
                };
                prop_assert_eq!(figures(before), figures(after));
            }
        }

        #[test]
        fn what_came_from_cyclictest_goes_back_unchanged(columns in columns()) {
            let whole: Vec<Vec<i64>> = columns
                .iter()
                .map(|column| column.iter().map(|value| value / NS_PER_US * NS_PER_US).collect())
                .collect();
            let text = written(&document(&whole)).unwrap();
            let once = importer().read(text.as_bytes(), None).unwrap();
            let again = importer().read(written(&once).unwrap().as_bytes(), None).unwrap();
            prop_assert_eq!(again.series, once.series);
        }
    }
}
