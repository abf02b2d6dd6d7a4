// SPDX-License-Identifier: GPL-2.0-only
//! When work of many lengths was done, as text.

use super::loads;
use artis_decide::completion::curves;
use artis_result::Document;
use std::fmt::{Display, Write as _};

/// The table: a line a length of work.
pub fn table(document: &Document, cpu: u32, policy: impl Display) -> String {
    let mut text = format!(
        "units of work on CPU {cpu}, {policy}, {:.1} s, {}\n\n{:13} {:>9} {:>8} {:>11} {:>11} {:>11} {:>11}\n",
        document.seconds.unwrap_or(0.0),
        loads::names(document),
        "times in us",
        "length",
        "samples",
        "start",
        "work",
        "completion",
        "worst"
    );
    for curve in curves(std::slice::from_ref(document)) {
        for point in &curve.points {
            let _ = writeln!(
                text,
                "{:13} {:>9} {:>8} {:>11.1} {:>11.1} {:>11.1} {:>11.1}",
                curve.nature.to_string(),
                point.length_us,
                point.samples,
                point.start_us_mean,
                point.work_us_mean,
                point.completion_us_mean,
                point.completion_us_max
            );
        }
    }
    text + "\nmeans, and the worst completion; artis compare --plot draws the curves\n"
}

#[cfg(test)]
mod tests {
    use super::super::tests::document_of;
    use super::*;

    #[test]
    fn every_length_has_its_line() {
        let mut series: Vec<(String, &[i64])> = Vec::new();
        for length_us in [10, 100_000] {
            let parts: [(&str, &[i64]); 3] = [
                ("start", &[2000, 4000]),
                ("work", &[10_000, 12_000]),
                ("completion", &[12_000, 16_000]),
            ];
            let name = |part| format!("{part}.system-calls.{length_us}us");
            series.extend(parts.map(|(part, values)| (name(part), values)));
        }
        let document = document_of(2.5, &series);
        let text = table(&document, 1, "FIFO 98");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        let line = text.lines().find(|line| line.contains("  10  ")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected = ["system-calls", "10", "2", "3.0", "11.0", "14.0", "16.0"];
        assert_eq!(words, expected, "{text}");
    }
}
