// SPDX-License-Identifier: GPL-2.0-only
//! The times and context switches of a workload's runs, as text.

use artis_result::runs::{Run, distributions};
use artis_result::{Kind, Moments};
use std::fmt::{Display, Write as _};

const NS_PER_S: f64 = 1e9;

/// What the sign of life says: `longest 12.300 s, 3 of 5 runs`, of all settings.
pub fn progress(all: usize, runs: &[Vec<Run>]) -> String {
    let worst = runs.iter().flatten().map(|run| run.real).max();
    let done: usize = runs.iter().map(Vec::len).sum();
    let worst = worst.map_or_else(
        || "the first run is not recorded".to_owned(),
        |worst| format!("longest {:.3} s", worst.as_secs_f64()),
    );
    format!("{worst}, {done} of {all} runs")
}

/// As McKenney's Table 1: the runs, their mean and their standard deviation (of the sample).
pub fn runs_table(runs: &[Run]) -> String {
    let mut text = format!(
        "{:<10}{:>12}{:>12}{:>12}{:>12}{:>14}\n",
        "", "real s", "user s", "sys s", "voluntary", "involuntary"
    );
    for (number, run) in runs.iter().enumerate() {
        let cells = run
            .quantities()
            .map(|(_, kind, value)| cell(kind, value as f64));
        row(&mut text, &format!("run {}", number + 1), &cells);
    }
    let statistic = |of: fn(&Moments) -> Option<f64>| -> Vec<String> {
        let all = distributions(runs);
        let all = all.iter().filter_map(|(_, kind, values)| {
            let value = of(&values.moments()?);
            Some(value.map_or_else(|| "-".to_owned(), |value| cell(*kind, value)))
        });
        all.collect()
    };
    if !runs.is_empty() {
        row(&mut text, "mean", &statistic(|all| Some(all.mean)));
        row(&mut text, "std. dev.", &statistic(deviation));
    }
    text
}

/// One run has no deviation.
fn deviation(all: &Moments) -> Option<f64> {
    let stddev: Option<f64> = all.stddev;
    stddev.filter(|_| all.count > 1)
}

fn row(text: &mut String, name: &str, cells: &[String]) {
    let _ = write!(text, "{name:<10}");
    for (index, cell) in cells.iter().enumerate() {
        let width = if index == 4 { 14 } else { 12 };
        let _ = write!(text, "{cell:>width$}");
    }
    text.push('\n');
}

/// Seconds, or a count.
fn cell(kind: Kind, value: f64) -> String {
    match kind {
        Kind::Count => format!("{value:.0}"),
        _ => format!("{:.3}", value / NS_PER_S),
    }
}

/// A line for each permutation: mean and standard deviation of the times, mean of the switches.
pub fn permutations_table(settings: &[impl Display], measured: &[Vec<Run>]) -> String {
    let mut text = format!(
        "{:<24}{:>17}{:>17}{:>17}{:>11}{:>13}\n",
        "policy, CPUs, instances", "real s", "user s", "sys s", "voluntary", "involuntary"
    );
    for (setting, runs) in settings
        .iter()
        .zip(measured)
        .filter(|(_, runs)| !runs.is_empty())
    {
        let _ = write!(text, "{:<24}", setting.to_string());
        for (index, (_, kind, all)) in distributions(runs).iter().enumerate() {
            let Some(moments) = all.moments() else {
                continue;
            };
            let mean = cell(*kind, moments.mean);
            let _ = match kind {
                Kind::Count if index == 3 => write!(text, "{mean:>11}"),
                Kind::Count => write!(text, "{mean:>13}"),
                _ => {
                    let spread = deviation(&moments);
                    let spread = spread.map_or_else(|| "-".to_owned(), |ns| cell(*kind, ns));
                    write!(text, "{mean:>9} ± {spread:<5}")
                }
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn run(real_s: f64) -> Run {
        Run {
            real: Duration::from_secs_f64(real_s),
            user: Duration::from_secs(2),
            system: Duration::from_millis(500),
            voluntary_switches: 7,
            involuntary_switches: 3,
        }
    }

    #[test]
    fn the_table_is_mckenneys() {
        // Table 1 of his paper, "Real Fast", real; his deviation divides by the count.
        let table = runs_table(&[run(1350.4), run(1332.7), run(1314.5)]);
        let line = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line("mean").contains("1332.533"), "{table}");
        assert!(line("std. dev.").contains("17.951"), "{table}");
        assert_eq!(table.lines().count(), 6);
    }

    #[test]
    fn one_run_has_no_deviation() {
        let table = runs_table(&[run(1.0)]);
        let last: Vec<_> = table.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["std.", "dev.", "-", "-", "-", "-", "-"]);
        let text = permutations_table(&["normal"], &[vec![run(1.0)]]);
        assert!(text.contains("1.000 ± - "), "{text}");
    }

    #[test]
    fn each_permutation_has_a_line() {
        let measured = vec![vec![run(1.0), run(2.0)]; 2];
        let text = permutations_table(&["normal", "FIFO 98, CPUs 0-1"], &measured);
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("1.500 ± 0.707"), "{text}");
    }

    #[test]
    fn no_run_is_no_figure() {
        assert_eq!(runs_table(&[]).lines().count(), 1);
    }
}
