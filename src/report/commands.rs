// SPDX-License-Identifier: GPL-2.0-only
//! How long commands took, one after the other, as text.

use super::times::IN_80;
use super::words::plain;
use super::{loads, rounded};
use artis_measure::thread::Policy;
use artis_result::Document;
use artis_result::names::{COMMAND, CPU_TIME};
use std::fmt::Write as _;

/// The table; `command` is what was run.
pub fn table(document: &Document, command: &str, policy: Policy) -> String {
    let seconds = document.seconds.unwrap_or(0.0);
    let count = document.merged(COMMAND).map_or(0, |all| all.count());
    let mut text = format!("{}, {policy}\n", plain(command));
    let _ = writeln!(
        text,
        "{count} times in {} s, {}",
        rounded(seconds, 3),
        loads::names(document)
    );
    if count == 0 {
        return text;
    }
    let _ = writeln!(text, "{:.1} a second\n", count as f64 / seconds);
    text += &IN_80.head();
    for (name, series) in [("time", COMMAND), ("CPU time", CPU_TIME)] {
        let line = document
            .merged(series)
            .and_then(|all| IN_80.line(name, &all));
        text += &line.unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::values;
    use super::*;
    use artis_measure::commands::Outcome;
    use artis_measure::commands::series::series;
    use artis_result::Setup;

    fn document(times: &[i64]) -> Document {
        let mut document = Document::new(Setup::default());
        document.seconds = Some(2.0);
        document.series = series(&Outcome {
            times: values(times),
            cpu_times: values(times),
            seconds: 2.0,
            failed: None,
        });
        document
    }

    #[test]
    fn the_table_gives_times_and_how_many_in_a_second() {
        let text = table(&document(&[1000, 2000]), "true", Policy::Normal);
        assert!(
            text.starts_with("true, normal\n2 times in 2 s, without --load\n"),
            "{text}"
        );
        assert!(text.contains("\n1.0 a second\n"), "{text}");
        let line = text.lines().find(|line| line.starts_with("time ")).unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(
            words,
            ["time", "1.000", "1.500", "1.000", "-", "-", "2.000"]
        );
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn no_command_is_no_figure() {
        let text = table(&document(&[]), "sleep 600", Policy::Normal);
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
