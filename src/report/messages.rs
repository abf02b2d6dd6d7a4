// SPDX-License-Identifier: GPL-2.0-only
//! How fast threads sent each other messages, as text.

use super::times::IN_80;
use super::{loads, rounded};
use artis_result::Document;
use artis_result::names::{PER_CPU_SECOND, PER_SECOND, ROUND_TRIP, WAKEUP};
use std::fmt::{Display, Write as _};

/// The table: of so many messengers, with so many workers each.
pub fn table(document: &Document, pairs: usize, workers: usize, policy: impl Display) -> String {
    let number = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let threads = match workers {
        1 => format!("{} of threads", number(pairs, "pair")),
        workers => format!("{}, {workers} workers each", number(pairs, "messenger")),
    };
    let count = |name| document.merged(name).map_or(0, |all| all.count());
    let mut text = format!(
        "{threads}, {policy}\n{} in {} s, {}\n",
        number(count(ROUND_TRIP) as usize, "round trip"),
        rounded(document.seconds.unwrap_or(0.0), 3),
        loads::names(document)
    );
    let rate = |name| Some(document.merged(name)?.moments()?.mean);
    if let (Some(per_second), Some(per_cpu_second)) = (rate(PER_SECOND), rate(PER_CPU_SECOND)) {
        let _ = writeln!(
            text,
            "{per_second:.0} messages a second, {per_cpu_second:.0} a second of CPU time"
        );
    }
    text.push('\n');
    text + &IN_80.table(document, &[("round trip", ROUND_TRIP), ("wakeup", WAKEUP)])
}

#[cfg(test)]
mod tests {
    use super::super::tests::document_of;
    use super::*;

    fn text(pairs: usize, workers: usize) -> String {
        let all: [(&str, &[i64]); 4] = [
            (ROUND_TRIP, &[8000, 12_000]),
            (WAKEUP, &[1000, 2000]),
            (PER_SECOND, &[8]),
            (PER_CPU_SECOND, &[10]),
        ];
        table(&document_of(0.5, &all), pairs, workers, "normal")
    }

    #[test]
    fn the_table_gives_rates_and_times() {
        let text = text(1, 1);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "1 pair of threads, normal");
        assert_eq!(lines[1], "2 round trips in 0.5 s, without --load");
        assert_eq!(lines[2], "8 messages a second, 10 a second of CPU time");
        let words: Vec<_> = lines[6].split_whitespace().collect();
        assert_eq!(
            words,
            ["wakeup", "1.000", "1.500", "1.000", "-", "-", "2.000"]
        );
        assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn messengers_with_several_workers_are_called_so() {
        assert!(text(2, 8).starts_with("2 messengers, 8 workers each, normal\n"));
    }
}
