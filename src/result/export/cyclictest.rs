// SPDX-License-Identifier: GPL-2.0-only
//! cyclictest's histogram as text, which OSADL's plots and many scripts read: a line for each
//! microsecond with a column for each series, in the order of the result; totals, minima,
//! averages and maxima behind it.
//!
//! Keeps counts, minima, means and maxima to 1 us, cut down as cyclictest does. Without a limit
//! every value gets its line; above a millisecond, lines without a value are left out, or one
//! late sample would make a file of megabytes. With a limit it has the lines that cyclictest has
//! with the same one. Values that were overflows before they were imported are overflows again:
//! those at the top that contradict the mean.

use super::{Exporter, Unfit, one_name, written_by};
use crate::{Document, Moments, Series, Unit};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The format, with or without a limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct CyclictestHistogram {
    /// How many lines of 1 us, as of `cyclictest -h`; values beyond are overflows. None: all.
    pub lines: Option<u64>,
    /// With a last column that sums up all series, as of `cyclictest -H`.
    pub sums: bool,
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
        let columns: Result<Vec<Column>, Unfit> = series
            .iter()
            .map(|series| Column::of(self.name(), series, self.lines))
            .collect();
        let columns = columns?;
        // Of one series cyclictest has no sum.
        let sums = self.sums && columns.len() > 1;
        let with_sum = |mut values: Vec<u64>| {
            values.extend(sums.then(|| values.iter().sum::<u64>()));
            values
        };
        let mut text = format!("# {}\n# Histogram\n", written_by(document));
        for (us, counts) in rows(&columns, self.lines) {
            let counts = with_sum(counts).into_iter();
            let counts: Vec<String> = counts.map(|count| format!("{count:06}")).collect();
            line(&mut text, format_args!("{us:06} {}", counts.join("\t")));
        }
        let moments = |value: &dyn Fn(&Moments) -> i64| -> Vec<u64> {
            let all = series.iter().map(|series| series.distribution.moments());
            let us = |ns: i64| ns.div_euclid(NS_PER_US).unsigned_abs();
            all.map(|moments| us(moments.as_ref().map_or(0, value)))
                .collect()
        };
        let counted = columns.iter().map(|column| column.counts.values().sum());
        let overflows = columns.iter().map(|column| column.overflows);
        footer(&mut text, "Total", 9, &with_sum(counted.collect()));
        footer(&mut text, "Min Latencies", 5, &moments(&|it| it.min));
        footer(
            &mut text,
            "Avg Latencies",
            5,
            &moments(&|it| it.mean as i64),
        );
        let mut maxima = moments(&|it| it.max);
        maxima.extend(maxima.iter().copied().max().filter(|_| sums));
        footer(&mut text, "Max Latencies", 5, &maxima);
        footer(
            &mut text,
            "Histogram Overflows",
            5,
            &with_sum(overflows.collect()),
        );
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

fn footer(text: &mut String, name: &str, digits: usize, values: &[u64]) {
    let words: Vec<String> = values
        .iter()
        .map(|value| format!(" {value:0digits$}"))
        .collect();
    line(text, format_args!("# {name}:{}", words.concat()));
}

/// Writing to a string cannot fail.
fn line(text: &mut String, words: std::fmt::Arguments) {
    let _ = writeln!(text, "{words}");
}

/// One series in whole microseconds.
struct Column {
    /// Ascending.
    counts: BTreeMap<u64, u64>,
    overflows: u64,
}

impl Column {
    fn of(format: &'static str, series: &Series, lines: Option<u64>) -> Result<Self, Unfit> {
        let name = || series.name.clone();
        if series.unit != Unit::Nanoseconds {
            return Err(Unfit::NoTime {
                format,
                name: name(),
            });
        }
        let mut column = Self {
            counts: BTreeMap::new(),
            overflows: 0,
        };
        let Some(moments) = series.distribution.moments() else {
            return Ok(column);
        };
        for (value, count) in series.distribution.buckets() {
            let us = u64::try_from(value.min(moments.max) / NS_PER_US)
                .ok()
                .filter(|_| moments.min >= 0)
                .ok_or_else(|| Unfit::Negative {
                    format,
                    name: name(),
                })?;
            *column.counts.entry(us).or_default() += count;
        }
        column.part_overflows(moments.mean / NS_PER_US as f64);
        if let Some(lines) = lines {
            let beyond = column.counts.split_off(&lines);
            column.overflows += beyond.values().sum::<u64>();
        }
        Ok(column)
    }

    /// Takes values from the top until the rest can have the mean.
    fn part_overflows(&mut self, mean_us: f64) {
        let mut count: u64 = self.counts.values().sum();
        let weighed = |(us, count): (&u64, &u64)| *us as f64 * *count as f64;
        let mut sum_us: f64 = self.counts.iter().map(weighed).sum();
        // A bucket is 0.1 % wide, and values are cut down to whole microseconds.
        while count > 0 && sum_us / count as f64 > mean_us * 1.002 + 1.0 {
            let Some((us, top)) = self.counts.pop_last() else {
                return;
            };
            self.overflows += top;
            count -= top;
            sum_us -= us as f64 * top as f64;
        }
    }
}

/// The lines of data: microseconds, and the counts of all columns.
fn rows(columns: &[Column], lines: Option<u64>) -> BTreeMap<u64, Vec<u64>> {
    let mut rows: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let empty = || vec![0; columns.len()];
    for (at, column) in columns.iter().enumerate() {
        for (us, count) in &column.counts {
            rows.entry(*us).or_insert_with(empty)[at] = *count;
        }
    }
    let last = rows.last_key_value().map_or(0, |(us, _)| *us);
    for us in 0..lines.unwrap_or((last + 1).min(DENSE_ROWS)) {
        rows.entry(us).or_insert_with(empty);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{IMPORTERS, Importer};
    use crate::{Distribution, Kind, Setup};
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
    fn imported_overflows_are_overflows_again() {
        let source = "# Histogram\n000005 000009\n# Total: 000000009\n# Min Latencies: 00005\n\
            # Avg Latencies: 00010\n# Max Latencies: 00900\n# Histogram Overflows: 00002\n";
        let read = |text: &str| importer().read(text.as_bytes(), None).unwrap();
        let once = read(source);
        let text = written(&once).unwrap();
        assert!(text.contains("# Histogram Overflows: 00002\n"), "{text}");
        // Not assert_eq!: a histogram is pages long.
        assert!(read(&text).series == once.series);
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

    #[test]
    fn what_is_beyond_the_limit_overflows() {
        let document = document(&[vec![500, 1500, 7_000_000]]);
        let limited = CyclictestHistogram {
            lines: Some(3),
            sums: false,
        };
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

    fn columns() -> impl Strategy<Value = Vec<Vec<i64>>> {
        let value = prop_oneof![0..100_000_i64, 0..2_000_000_i64];
        prop::collection::vec(prop::collection::vec(value, 0..60), 1..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

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
            prop_assert!(again.series == once.series);
        }
    }
}
