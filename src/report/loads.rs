// SPDX-License-Identifier: GPL-2.0-only
//! What loads did, as a table.

use artis_result::LoadDone;
use std::fmt::Write;

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
        "{:name$}  {:cpus$}{:>16}  {:unit$}{:>9}{:>16}{:>9}\n",
        "load", "CPUs", "work", "unit", "seconds", "work/second", "CPU s"
    );
    for load in loads {
        let cpu_s = load
            .cpu_seconds
            .map_or_else(String::new, |cpu_s| format!("{cpu_s:.1}"));
        let _ = writeln!(
            text,
            "{:name$}  {:cpus$}{:>16.0}  {:unit$}{:>9.1}{:>16.1}{cpu_s:>9}",
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
