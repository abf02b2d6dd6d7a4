// SPDX-License-Identifier: GPL-2.0-only
//! HdrHistogram's percentile distribution, `.hgrm`, which its plotter reads: values in
//! microseconds against percentiles that come closer and closer to 100.
//!
//! A file holds one distribution, so all series of the result are merged and must have one
//! name. Five steps a halving of the distance to 100 %, the project's default.

use super::{Exporter, Unfit, one_name, printed_unit};
use crate::{Distribution, Document, Series};
use std::fmt::Write;

pub struct Hgrm;

const STEPS_PER_HALVING: f64 = 5.0;

impl Exporter for Hgrm {
    fn name(&self) -> &'static str {
        "hgrm"
    }

    fn write(&self, _: &Document, series: &[&Series]) -> Result<String, Unfit> {
        one_name(self.name(), series)?;
        let mut all = Distribution::new();
        for series in series {
            all.try_merge(&series.distribution)
                .map_err(|error| Unfit::Histogram(error.to_string()))?;
        }
        let unit = series
            .first()
            .map_or(1.0, |series| printed_unit(series.unit));
        let moments = all.moments().ok_or(Unfit::Nothing)?;
        let mut text = format!(
            "{:>12} {:>14} {:>10} {:>14}\n\n",
            "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
        );
        for (value, share, seen) in steps(&all) {
            let value = value.clamp(moments.min, moments.max) as f64 / unit;
            // Writing to a string cannot fail.
            let _ = write!(text, "{value:12.3} {share:.12} {seen:10}");
            let _ = match 1.0 / (1.0 - share) {
                inverse if inverse.is_finite() => writeln!(text, " {inverse:14.2}"),
                _ => writeln!(text),
            };
        }
        let _ = write!(
            text,
            "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n\
             #[Max     = {:12.3}, Total count    = {:12}]\n\
             #[Buckets = {:12}, SubBuckets     = {:12}]\n",
            moments.mean / unit,
            moments.stddev.unwrap_or(0.0) / unit,
            moments.max as f64 / unit,
            moments.count,
            all.histogram().buckets(),
            1_u32
                << (f64::from(2 * 10_u32.pow(all.histogram().sigfig().into()))
                    .log2()
                    .ceil() as u32)
        );
        Ok(text)
    }
}

/// Value, percentile from 0 to 1, and how many values do not exceed it.
fn steps(all: &Distribution) -> Vec<(i64, f64, u64)> {
    let total = all.count();
    let mut steps = Vec::new();
    let (mut share, mut seen) = (0.0_f64, 0_u64);
    for (value, count) in all.buckets() {
        seen += count;
        while seen < total && seen as f64 >= share * total as f64 {
            steps.push((value, share, seen));
            let halvings = (1.0 / (1.0 - share)).log2().floor() + 1.0;
            share += 1.0 / (STEPS_PER_HALVING * halvings.exp2());
        }
        if seen >= total {
            steps.push((value, 1.0, total));
            break;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Setup, Unit};

    #[test]
    fn percentiles_approach_the_maximum() {
        let mut values = Distribution::new();
        for value in 1..=1000 {
            values.record(value * 1000);
        }
        let series = Series::new("latency", Kind::Latency, Unit::Nanoseconds, values);
        let text = Hgrm
            .write(&Document::new(Setup::default()), &[&series])
            .unwrap();
        let rows: Vec<Vec<f64>> = text
            .lines()
            .filter(|line| line.starts_with(' ') && !line.contains("Value"))
            .map(|line| {
                line.split_whitespace()
                    .map(|word| word.parse().unwrap())
                    .collect()
            })
            .collect();
        assert_eq!(rows[0], [1.0, 0.0, 1.0, 1.0]);
        assert!(
            rows.iter()
                .any(|row| row[1] == 0.5 && (row[0] - 500.0).abs() < 1.0)
        );
        assert!(rows.is_sorted_by(|one, two| one[0] <= two[0] && one[1] < two[1]));
        assert_eq!(*rows.last().unwrap(), [1000.0, 1.0, 1000.0]);
        assert!(
            text.contains("#[Max     =     1000.000, Total count    =         1000]"),
            "{text}"
        );
        assert!(text.contains("SubBuckets     =         2048]"), "{text}");
    }

    #[test]
    fn without_a_value_there_is_no_distribution() {
        let series = Series::new("latency", Kind::Latency, Unit::Count, Distribution::new());
        let written = Hgrm.write(&Document::new(Setup::default()), &[&series]);
        assert_eq!(written, Err(Unfit::Nothing));
    }
}
