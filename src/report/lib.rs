// SPDX-License-Identifier: GPL-2.0-only
//! Figures for people: text tables, sentences, pictures and a page of all of them.
//!
//! Pure: gives text, and writes no file. The pictures are SVG written by hand: a few shapes
//! each, the same to the byte for the same figures.

pub mod admit;
pub mod admitted;
mod axis;
mod columns;
pub mod commands;
pub mod comparison;
pub mod completion;
pub mod control_loop;
pub mod costs;
pub mod curves;
pub mod decision;
mod digits;
pub mod exceedance;
pub mod execution;
pub mod experiment;
pub mod experiment_brief;
mod experiment_caches;
mod experiment_set;
pub mod explain;
mod extrapolation;
mod facts;
pub mod field;
pub mod findings;
pub mod histograms;
pub mod html;
pub mod interrupts;
pub mod jitter;
pub mod kernels;
pub mod latency;
pub mod live;
pub mod loads;
pub mod messages;
pub mod noise;
pub mod over_time;
mod paragraph;
pub mod partition;
pub mod picture;
pub mod result;
pub mod results;
pub mod scatter;
pub mod scenario;
pub mod scheduler;
pub mod series;
pub mod simulation;
mod style;
mod svg;
pub mod tasks;
pub mod throughput;
pub mod timeline;
mod times;
mod units;
pub mod warnings;
pub mod words;

pub use paragraph::fitted;
pub use style::Sheet;

use artis_machine::CpuList;

/// Nanoseconds in microseconds.
fn us(ns: i64) -> f64 {
    ns as f64 / 1000.0
}

/// With at most so many decimals (one or more), and no zeros at the end.
fn rounded(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The CPUs, or how many they are where the list is wider than so many columns.
fn list_or_count(cpus: &CpuList, width: usize) -> String {
    let list = cpus.to_string();
    match list.len() <= width {
        true => list,
        false => format!("{} CPUs", cpus.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;
    use artis_decide::compare::{Comparison, compare, figures};
    use artis_result::{Distribution, Document, Kind, Series, Setup, Unit};
    use artis_testing::experiment::of_rows;

    /// A comparison of rows whose seeds have these maxima.
    pub(super) fn compared(rows: &[(&str, &[f64])], unequal_allowed: bool) -> Comparison {
        let experiment = of_rows(rows);
        let configurations = figures::of_experiment(&experiment).unwrap();
        let unit = experiment.time_unit();
        compare(configurations, unit, None, unequal_allowed).unwrap()
    }

    /// A distribution of these values.
    pub(super) fn values(all: &[i64]) -> Distribution {
        let mut distribution = Distribution::signed();
        for value in all {
            distribution.record(*value);
        }
        distribution
    }

    /// A result of series with these names and values, which took so long.
    pub(super) fn document_of(seconds: f64, all: &[(impl AsRef<str>, &[i64])]) -> Document {
        let mut document = Document::new(Setup::default());
        document.seconds = Some(seconds);
        let series = all.iter().map(|(name, all)| {
            let kind = Kind::Duration;
            Series::new(name.as_ref(), kind, Unit::Nanoseconds, values(all))
        });
        document.series = series.collect();
        document
    }

    #[test]
    fn numbers_have_no_zeros_at_the_end() {
        assert_eq!(rounded(10.0, 3), "10");
        assert_eq!(rounded(1.5, 3), "1.5");
        assert_eq!(rounded(0.0, 3), "0");
    }
}
