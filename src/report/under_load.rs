// SPDX-License-Identifier: GPL-2.0-only
//! The loads of a measurement, beside its figures.

use artis_result::{Document, LoadDone};
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

/// A line for each load, below the figures of a measurement; nothing without loads.
pub fn table(loads: &[LoadDone]) -> String {
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
            load.work / load.seconds.max(f64::MIN_POSITIVE),
            load.unit
        );
    }
    text
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
        let text = table(&[done]);
        let line: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(line, ["io", "300", "150.0", "-", "bogo-ops"]);
        assert_eq!(table(&[]), "");
    }
}
