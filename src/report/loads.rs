// SPDX-License-Identifier: GPL-2.0-only
//! The loads of a measurement: their names, and what they did.

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

/// The names that can be given, and what each of them does.
pub fn list(loads: &[(&str, &str)]) -> String {
    let all = [("all", "every one of these")];
    let width = loads.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    loads
        .iter()
        .chain(&all)
        .map(|(name, what)| format!("{name:width$}  {what}\n"))
        .collect()
}

/// One line for each load: what it did, in how much time, and on how much CPU time.
pub fn table(loads: &[LoadDone]) -> String {
    let width = |heading: &str, word: &dyn Fn(&LoadDone) -> &str| {
        let longest = loads.iter().map(|load| word(load).len()).max();
        longest.unwrap_or(0).max(heading.len())
    };
    let name = width("load", &|load| &load.name);
    let cpus = width("CPUs", &|load| cpus_of(load));
    let unit = width("unit", &|load| &load.unit);
    let mut text = format!(
        "{:name$}  {:cpus$}{:>12}  {:unit$}{:>8}{:>13}{:>8}\n",
        "load", "CPUs", "work", "unit", "seconds", "work/second", "CPU s"
    );
    for load in loads {
        let cpu_s = load
            .cpu_seconds
            .map_or_else(String::new, |cpu_s| format!("{cpu_s:.1}"));
        let _ = writeln!(
            text,
            "{:name$}  {:cpus$}{:>12.0}  {:unit$}{:>8.1}{:>13.1}{cpu_s:>8}",
            load.name,
            cpus_of(load),
            load.work,
            load.unit,
            load.seconds,
            load.work / load.seconds
        );
    }
    text
}

fn cpus_of(load: &LoadDone) -> &str {
    load.cpus.as_deref().unwrap_or("all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_work_and_rate() {
        let done = LoadDone {
            name: "stress-ng-hdd".to_owned(),
            cpus: Some("0-1".to_owned()),
            command: "stress-ng".to_owned(),
            work: 300.0,
            unit: "bogo-ops".to_owned(),
            seconds: 2.0,
            cpu_seconds: None,
        };
        let text = table(&[done]);
        let line = text.lines().nth(1).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words,
            ["stress-ng-hdd", "0-1", "300", "bogo-ops", "2.0", "150.0"]
        );
    }
}
