// SPDX-License-Identifier: GPL-2.0-only
//! The demo's table: what each configuration did, and the verdict.

use super::digits::counted;
use artis_lab::demo::verdict::{Figures, informative, sentence};
use std::fmt::Write as _;

/// A line of the table: its label, and the figure of one configuration.
type Row = (&'static str, fn(&Figures) -> String);

const ROWS: [Row; 12] = [
    ("kernel entries, all CPUs", |of| counted(of.entries)),
    ("  of them begun on the RT CPU", |of| counted(of.entries_rt)),
    ("kernel work done on the RT CPU for them", |of| {
        counted(of.leaks)
    }),
    ("  system calls", |of| counted(of.leaks_syscalls)),
    ("  page faults", |of| counted(of.leaks_faults)),
    ("  signals", |of| counted(of.leaks_signals)),
    ("RT CPU: others' part of what RT0 leaves", |of| {
        percent(of.rt_cpu_share_others)
    }),
    ("RT CPU: RT0's part of all", |of| {
        percent(of.rt_cpu_share_rt0)
    }),
    ("batch work done, units", |of| counted(of.batch_work)),
    ("hackbench rounds", |of| counted(of.hackbench_rounds)),
    ("RT0 periods", |of| counted(of.rt0_periods)),
    ("  served", |of| counted(of.rt0_periods_served)),
];

/// The table below its `heading`, the verdict, and what is not judged.
pub fn table(heading: &str, configurations: &[Figures]) -> String {
    let mut text = format!("{heading}\n\n{:<40}", "");
    for figures in configurations {
        let _ = write!(text, "{:>13}", figures.name.name());
    }
    text.push('\n');
    for (label, value) in ROWS {
        let _ = write!(text, "{label:<40}");
        for figures in configurations {
            let _ = write!(text, "{:>13}", value(figures));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "\n{}", sentence(configurations));
    if let Some(more) = informative(configurations) {
        let _ = writeln!(text, "{more}");
    }
    text
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_guest::demo::{Configuration, Measured};

    #[test]
    fn the_table_fits_80_columns() {
        let measured = |name| Measured {
            name,
            window_ns: 1,
            rt: Default::default(),
            all: Default::default(),
            work: Default::default(),
            rt0_periods: 123_456_789,
            rt0_periods_served: 123_456_789,
            scheduler: Vec::new(),
        };
        let figures = Configuration::ALL.map(measured).map(Figures::new);
        let table = table("Kernel 7.3.4", &figures);
        let rows = table.lines().skip(2).take(1 + ROWS.len());
        for line in rows {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(
            table.contains("123,456,789") && table.contains("affinity"),
            "{table}"
        );
    }
}
