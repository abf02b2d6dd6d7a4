// SPDX-License-Identifier: GPL-2.0-only
//! Latency, execution time and the load's work of one interval, as text.

use super::times::Columns;
use super::{loads, us};
use artis_result::Document;
use artis_result::names::LATENCY;
use artis_result::names::{EXCESS, EXECUTION_TIME, EXECUTION_TIME_UNLOADED};
use std::fmt::Write as _;

const COLUMNS: Columns = Columns {
    name: 22,
    percentiles: &[99.9],
};

/// The table: three figures and what they rest on. `what` is the piece of work.
pub fn table(document: &Document, what: &str, interval_us: u64) -> String {
    let mut text = String::new();
    let seconds = document.seconds.unwrap_or(0.0);
    let _ = writeln!(
        text,
        "{seconds:.1} s, every {interval_us} us {what}; {}\n\n\
         {}",
        loads::names(document),
        COLUMNS.head().trim_end()
    );
    let quantities = [
        ("wakeup latency", LATENCY),
        ("execution time", EXECUTION_TIME),
        ("  of it excess", EXCESS),
    ];
    for (name, series) in quantities {
        let line = document
            .merged(series)
            .and_then(|all| COLUMNS.line(name, &all));
        text += &line.unwrap_or_default();
    }
    let shortest = document
        .merged(EXECUTION_TIME_UNLOADED)
        .and_then(|all| all.moments());
    let excess = document.merged(EXCESS).and_then(|all| all.moments());
    if let (Some(t_min), Some(excess)) = (shortest.map(|all| all.min), excess) {
        let _ = writeln!(
            text,
            "  at most {:.1} % of Tmin, {:.3} us",
            excess.max as f64 * 100.0 / t_min as f64,
            us(t_min)
        );
    }
    if !document.load.is_empty() {
        text.push('\n');
        text += &loads::table(&document.load);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::values;
    use super::*;
    use artis_result::{Kind, Series, Setup, Unit};

    #[test]
    fn the_excess_is_related_to_the_shortest_time() {
        let mut document = Document::new(Setup::default());
        let all = [
            (LATENCY, vec![2000, 4000]),
            (EXECUTION_TIME, vec![50_000, 60_000]),
            (EXCESS, vec![0, 10_000]),
            (EXECUTION_TIME_UNLOADED, vec![50_000]),
        ];
        document.series = all
            .map(|(name, all)| Series::new(name, Kind::Latency, Unit::Nanoseconds, values(&all)))
            .to_vec();
        let text = table(&document, "10 steps", 1000);
        assert!(text.contains("at most 20.0 % of Tmin, 50.000 us"), "{text}");
        let line = text
            .lines()
            .find(|line| line.starts_with("wakeup"))
            .unwrap();
        let fields: Vec<_> = line.split_whitespace().skip(2).collect();
        assert_eq!(fields, ["2.000", "3.000", "-", "4.000"]);
    }
}
