// SPDX-License-Identifier: GPL-2.0-only
//! How far the figures of builds lie apart that should not differ: RT0 of each row.

use artis_result::experiment::{Experiment, Figures};
use std::fmt::Write as _;

/// A figure, and how far builds may lie apart: the largest over the smallest, less one.
type Bound = (&'static str, fn(&Figures) -> f64, f64);

const BOUNDS: [Bound; 3] = [
    ("mean", |of| of.latency_us_mean, 0.01),
    ("99.9 %", |of| of.latency_us_p99_9, 0.03),
    ("worst", |of| of.latency_us_max, 0.20),
];

/// A line for each row and figure, and whether all are within their bounds.
pub fn table(builds: &[Experiment]) -> (String, bool) {
    let mut text = String::new();
    let mut held = true;
    let Some(first) = builds.first() else {
        return (text, held);
    };
    let _ = writeln!(text, "in {}", first.time_unit());
    for row in &first.rows {
        let others = builds.iter().map(|build| {
            let mut rows = build.rows.iter();
            rows.find(|other| other.configuration == row.configuration)
        });
        let Some(rows) = others.collect::<Option<Vec<_>>>() else {
            let _ = writeln!(text, "{}: not in all of them", row.configuration);
            held = false;
            continue;
        };
        for (name, figure, bound) in BOUNDS {
            let values: Vec<f64> = rows.iter().map(|row| figure(&row.figures)).collect();
            let (low, high) = values
                .iter()
                .fold((f64::MAX, 0.0_f64), |(low, high), &one| {
                    (low.min(one), high.max(one))
                });
            let apart = high / low - 1.0;
            let within = apart <= bound;
            held &= within;
            let values: Vec<String> = values.iter().map(|one| format!("{one:8.2}")).collect();
            let _ = writeln!(
                text,
                "{:14} {name:7}{}  apart {:5.1} %, at most {:2.0} %: {}",
                row.configuration,
                values.concat(),
                apart * 100.0,
                bound * 100.0,
                if within { "held" } else { "MISSED" }
            );
        }
    }
    (text, held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::experiment::of_rows;

    #[test]
    fn builds_that_lie_too_far_apart_are_named() {
        let build = |artis| of_rows(&[("isolcpus", &[50.0]), ("artis", &[artis])]);
        assert!(table(&[build(50.0), build(50.2)]).1);
        // The mean and the 99.9 % of these rows are parts of the worst.
        let (text, held) = table(&[build(50.0), build(50.2), build(51.0)]);
        assert!(!held);
        let missed = text.lines().filter(|line| line.ends_with("MISSED"));
        let missed: Vec<&str> = missed.collect();
        assert_eq!(missed.len(), 1, "{text}");
        assert!(missed[0].starts_with("artis          mean"), "{text}");
        let fewer = of_rows(&[("isolcpus", &[50.0])]);
        assert!(!table(&[build(50.0), fewer]).1);
    }
}
