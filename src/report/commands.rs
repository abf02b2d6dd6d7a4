// SPDX-License-Identifier: GPL-2.0-only
//! How long commands took, one after the other, as text.

use super::times::IN_80;
use super::words::plain;
use super::{loads, rounded};
use artis_result::Document;
use artis_result::names::{COMMAND, CPU_TIME};
use std::fmt::{Display, Write as _};

/// The table; `command` is what was run.
pub fn table(document: &Document, command: &str, policy: impl Display) -> String {
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
    text + &IN_80.table(document, &[("time", COMMAND), ("CPU time", CPU_TIME)])
}

#[cfg(test)]
mod tests {
    use super::super::tests::document_of;
    use super::*;

    fn document(times: &[i64]) -> Document {
        document_of(2.0, &[(COMMAND, times), (CPU_TIME, times)])
    }

    #[test]
    fn the_table_gives_times_and_how_many_in_a_second() {
        let text = table(&document(&[1000, 2000]), "true", "normal");
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
        let text = table(&document(&[]), "sleep 600", "normal");
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
