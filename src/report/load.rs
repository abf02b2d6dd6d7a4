// SPDX-License-Identifier: GPL-2.0-only
//! What the loads of a measurement did.

use crate::result::{Document, LoadDone};
use std::fmt::Write as _;

/// The loads of a measurement, in a few words.
pub fn names(document: &Document) -> String {
    let names: Vec<&str> = document
        .load
        .iter()
        .map(|load| load.name.as_str())
        .collect();
    match names.as_slice() {
        [] => "without --load".to_owned(),
        names => format!("load: {}", names.join(", ")),
    }
}

/// A line for each load, with its CPUs.
pub fn table(loads: &[LoadDone]) -> String {
    let mut text = format!(
        "{:<11}{:<8}{:>16}  {:<10}{:>10}{:>16}{:>9}\n",
        "load", "CPUs", "work", "unit", "seconds", "work/second", "CPU s"
    );
    for load in loads {
        let cpus = load.cpus.as_deref().unwrap_or("all");
        let cpu_s = load
            .cpu_seconds
            .map_or_else(String::new, |cpu_s| format!("{cpu_s:.1}"));
        let _ = writeln!(
            text,
            "{:<11}{cpus:<8}{:>16.0}  {:<10}{:>10.1}{:>16.1}{cpu_s:>9}",
            load.name,
            load.work,
            load.unit,
            load.seconds,
            per_second(load)
        );
    }
    text
}

/// A line for each load, below the figures of a measurement; nothing without loads.
pub fn beside_figures(loads: &[LoadDone]) -> String {
    if loads.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n{:<22} {:>14} {:>14} {:>12}\n",
        "load", "work", "per second", "CPU seconds"
    );
    for load in loads {
        let cpu = load
            .cpu_seconds
            .map_or_else(|| "-".to_owned(), |s| format!("{s:.2}"));
        let _ = writeln!(
            text,
            "{:<22} {:>14.0} {:>14.1} {cpu:>12} {}",
            load.name,
            load.work,
            per_second(load),
            load.unit
        );
    }
    text
}

fn per_second(load: &LoadDone) -> f64 {
    load.work / load.seconds.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_work_and_rate() {
        let done = LoadDone {
            name: "io".to_owned(),
            cpus: Some("0-1".to_owned()),
            command: "stress-ng".to_owned(),
            work: 300.0,
            unit: "bogo-ops".to_owned(),
            seconds: 2.0,
            cpu_seconds: None,
        };
        let all = [done];
        let words = |text: &str, line: usize| -> Vec<String> {
            let line = text.lines().nth(line).unwrap();
            line.split_whitespace().map(str::to_owned).collect()
        };
        let row = ["io", "0-1", "300", "bogo-ops", "2.0", "150.0"];
        assert_eq!(words(&table(&all), 1), row);
        let row = ["io", "300", "150.0", "-", "bogo-ops"];
        assert_eq!(words(&beside_figures(&all), 2), row);
        assert_eq!(beside_figures(&[]), "");
    }
}
