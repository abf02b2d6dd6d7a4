// SPDX-License-Identifier: GPL-2.0-only
//! Distributions of times in microseconds, a line each.

use super::{rounded, us};
use artis_result::{Distribution, Document};

/// From here on one decimal is enough, microseconds. The columns hold 100 s then.
const LONG_US: f64 = 100_000.0;

/// How the lines are laid out.
pub struct Columns {
    /// Width of the names.
    pub name: usize,
    /// The percentiles between mean and maximum.
    pub percentiles: &'static [f64],
}

/// How many figures 80 columns hold.
pub const IN_80: Columns = Columns {
    name: 14,
    percentiles: &[50.0, 99.0, 99.9],
};

impl Columns {
    /// What stands above the figures.
    pub fn head(&self) -> String {
        let percentiles = self.percentiles.iter();
        let percentiles = percentiles.map(|percent| format!("{} %", rounded(*percent, 3)));
        let titles = ["min".to_owned(), "mean".to_owned()].into_iter();
        let titles = titles.chain(percentiles).chain(["max".to_owned()]);
        self.cells("us", titles)
    }

    /// The figures, with a dash for a percentile that few values lie beyond; none without a value.
    pub fn line(&self, name: &str, values: &Distribution) -> Option<String> {
        let moments = values.moments()?;
        let percentiles = self.percentiles.iter();
        let percentiles = percentiles.map(|percent| {
            let value = values.supported_percentile(*percent);
            value.map_or_else(|| "-".to_owned(), |ns| figure(us(ns)))
        });
        let first = [figure(us(moments.min)), figure(moments.mean / 1000.0)].into_iter();
        let cells = first.chain(percentiles).chain([figure(us(moments.max))]);
        Some(self.cells(name, cells))
    }

    /// A line for each of these series of a result, by its name in the table.
    pub fn table(&self, document: &Document, rows: &[(&str, &str)]) -> String {
        let lines = rows
            .iter()
            .filter_map(|(name, series)| self.line(name, &document.merged(series)?));
        self.head() + &lines.collect::<String>()
    }

    fn cells(&self, name: &str, cells: impl Iterator<Item = String>) -> String {
        let cells: String = cells.map(|cell| format!(" {cell:>10}")).collect();
        format!("{name:<0$}{cells}\n", self.name)
    }
}

fn figure(us: f64) -> String {
    match us < LONG_US {
        true => format!("{us:.3}"),
        false => format!("{us:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::values;
    use super::*;

    #[test]
    fn figures_stand_below_their_titles() {
        let words = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let head = IN_80.head();
        assert!(head.trim_end().ends_with("99.9 %        max"), "{head}");
        let line = IN_80.line("wakeup", &values(&[2000, 4000])).unwrap();
        assert_eq!(
            words(&line),
            ["wakeup", "2.000", "3.000", "2.000", "-", "-", "4.000"]
        );
        let longest = IN_80.line("a", &values(&[99_999_900_000])).unwrap();
        assert!([&head, &line, &longest].iter().all(|line| line.len() == 81));
        assert_eq!(IN_80.line("a", &values(&[])), None);
    }
}
