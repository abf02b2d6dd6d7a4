// SPDX-License-Identifier: GPL-2.0-only
//! cyclictest's histogram as text: what `-h` or `-H` print after the run, or `--histfile`
//! writes, and OSADL's plots read.
//!
//! A line of data is a latency and, for each thread, a count. Comments behind it hold totals,
//! minima, averages (cut down to whole units) and maxima of the threads; `-H` adds a column
//! with the sum of all threads, which has no minimum and is dropped after a check. Files older
//! than rt-tests 0.8 lack `# Total:` or `# Histogram Overflows:`. With `-N` the numbers are
//! nanoseconds, which nothing in the file says, so microseconds are assumed without `--unit`.
//! Lines before the data, such as the live display, are skipped.

use super::tally::{Budget, Tally, cut_down};
use super::text::{self, lines, numbers};
use super::{Importer, Refusal, TimeUnit, document, threads};
use crate::Document;

pub struct CyclictestHistogram;

impl Importer for CyclictestHistogram {
    fn name(&self) -> &'static str {
        "cyclictest-histogram"
    }

    fn recognises(&self, head: &str) -> bool {
        head.lines()
            .any(|line| line.starts_with("# Histogram") || footer(line).is_some())
    }

    fn says_unit(&self) -> bool {
        false
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["# Histogram", "# Total:", "# Min Latencies:"]
    }

    fn read(&self, content: &[u8], unit: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let table = Table::read(content)?;
        let end = text::last_line(content);
        let tallies = table.tallies(unit.unwrap_or(TimeUnit::Microseconds), end)?;
        let mut document = document("cyclictest".to_owned(), Vec::new(), Vec::new());
        let mut budget = Budget::default();
        for (number, tally) in (0..).zip(tallies) {
            threads::add_tally(&mut document, "latency", number, None, &tally, &mut budget)
                .map_err(|reason| Refusal::line(end, reason))?;
        }
        Ok(document)
    }
}

/// One of the lines behind the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Footer {
    Total,
    Min,
    Avg,
    Max,
    Overflows,
}

/// The name of a footer and the words behind it.
fn footer(line: &str) -> Option<(Footer, &str)> {
    let (name, words) = line.strip_prefix('#')?.split_once(':')?;
    let kind = match name.trim().to_ascii_lowercase().as_str() {
        "total" => Footer::Total,
        "min latencies" => Footer::Min,
        "avg latencies" => Footer::Avg,
        "max latencies" => Footer::Max,
        "histogram overflows" => Footer::Overflows,
        _ => return None,
    };
    Some((kind, words))
}

/// The whole text, by column.
#[derive(Default)]
struct Table {
    /// Non-zero counts with their latency, by column.
    columns: Vec<Vec<(u64, u64)>>,
    last_latency: Option<u64>,
    /// Each footer with its line.
    footers: Vec<(Footer, usize, Vec<u64>)>,
}

impl Table {
    fn read(content: &str) -> Result<Self, Refusal> {
        let mut table = Self::default();
        let is_title = |line: &str| line.trim_end() == "# Histogram";
        // Other lines of a log may begin with a digit, too.
        let mut has_begun = !content.lines().any(is_title);
        for (number, line) in lines(content) {
            has_begun |= is_title(line);
            let is_row = has_begun && line.starts_with(|first: char| first.is_ascii_digit());
            if let Some((kind, words)) = footer(line) {
                if table.footers.iter().any(|(other, ..)| *other == kind) {
                    let reason = "this line is here a second time; are these two files?";
                    return Err(Refusal::line(number, reason));
                }
                let values = numbers(number, words, "a number behind the histogram")?;
                table.footers.push((kind, number, values));
            } else if !table.footers.is_empty() {
                if is_row && table.is_like_a_row(line) {
                    let reason = "a row behind the end of the histogram; are these two files?";
                    return Err(Refusal::line(number, reason));
                }
            } else if is_row {
                table.row(number, line)?;
            } else if table.last_latency.is_some() && !line.starts_with('#') && !line.is_empty() {
                return Err(Refusal::line(number, "neither a count nor a comment"));
            }
        }
        Ok(table)
    }

    fn is_like_a_row(&self, line: &str) -> bool {
        let words = line.split_whitespace().take(self.columns.len() + 2);
        let all: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
        all.is_some_and(|all| all.len() == self.columns.len() + 1)
    }

    fn row(&mut self, number: usize, line: &str) -> Result<(), Refusal> {
        let words: Vec<u64> = numbers(number, line, "a latency or count")?;
        let (latency, counts) = words
            .split_first()
            .filter(|(_, counts)| !counts.is_empty())
            .ok_or_else(|| Refusal::line(number, "a latency without a count"))?;
        if self.last_latency.is_none() {
            self.columns = vec![Vec::new(); counts.len()];
        }
        if counts.len() != self.columns.len() {
            let reason = format!(
                "{} counts, but {} in the lines before",
                counts.len(),
                self.columns.len()
            );
            return Err(Refusal::line(number, reason));
        }
        if self.last_latency.is_some_and(|last| last >= *latency) {
            return Err(Refusal::line(number, "the latencies do not ascend"));
        }
        self.last_latency = Some(*latency);
        for (column, count) in self.columns.iter_mut().zip(counts) {
            if *count > 0 {
                column.push((*latency, *count));
            }
        }
        Ok(())
    }

    fn footer(&self, kind: Footer) -> Option<(usize, &[u64])> {
        let found = self.footers.iter().find(|(other, ..)| *other == kind);
        found.map(|(_, number, values)| (*number, values.as_slice()))
    }

    /// A footer that each file has.
    fn needed(&self, kind: Footer, end: usize) -> Result<&[u64], Refusal> {
        let missing = || {
            let reason =
                format!("no line \"# {kind:?} Latencies:\" up to here; is the file cut off?");
            Refusal::line(end, reason)
        };
        self.footer(kind)
            .map(|(_, values)| values)
            .ok_or_else(missing)
    }

    /// One tally a thread.
    fn tallies(mut self, unit: TimeUnit, end: usize) -> Result<Vec<Tally>, Refusal> {
        let threads = self.needed(Footer::Min, end)?.len();
        if self.columns.len() == threads + 1 && threads > 1 {
            self.drop_sum(end)?;
        }
        if self.columns.len() != threads {
            let reason = format!("{} columns, but {threads} minima", self.columns.len());
            return Err(Refusal::line(end, reason));
        }
        for (kind, number, values) in &self.footers {
            if !(threads..=threads + 1).contains(&values.len()) {
                let reason = format!("{} values for {threads} threads ({kind:?})", values.len());
                return Err(Refusal::line(*number, reason));
            }
        }
        let (mins, maxima) = (
            self.needed(Footer::Min, end)?,
            self.needed(Footer::Max, end)?,
        );
        let overflows = self.footer(Footer::Overflows);
        let mut tallies = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let tally = Tally {
                buckets: column.clone(),
                overflows: overflows.map_or(0, |(_, counts)| counts[at]),
                end: self.last_latency.map(|last| last.saturating_add(1)),
                min: Some(mins[at]),
                mean: self
                    .footer(Footer::Avg)
                    .map(|(_, means)| cut_down(means[at])),
                max: Some(maxima[at]),
                ..Tally::new(unit)
            };
            if let Some((number, totals)) = self.footer(Footer::Total)
                && tally.counted() != Some(totals[at])
            {
                let reason = format!("the total of thread {at} is not the sum of its counts");
                return Err(Refusal::line(number, reason));
            }
            tallies.push(tally);
        }
        Ok(tallies)
    }

    /// Drops the last column, the sum of the others, once it is known to be that.
    fn drop_sum(&mut self, end: usize) -> Result<(), Refusal> {
        let Some(sums) = self.columns.pop() else {
            return Ok(());
        };
        let total = |columns: &[Vec<(u64, u64)>]| {
            let counts = columns.iter().flatten().map(|(_, count)| *count);
            counts.fold(0_u64, u64::saturating_add)
        };
        if total(&self.columns) != total(&[sums]) {
            return Err(Refusal::line(
                end,
                "the last column is not the sum of the others",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;

    const FILE: &str = "\
# /dev/cpu_dma_latency set to 0us
T: 0 ( 4711) P:80 I:1000 C:      5 Min:      1 Act:    2 Avg:   12 Max:      50
# Histogram
000000 000000\t000000
000001 000003\t000000
000002 000001\t000002
# Total: 000000004 000000002
# Min Latencies: 00001 00002
# Avg Latencies: 00011 00002
# Max Latencies: 00050 00002
# Histogram Overflows: 00001 00000
# Histogram Overflow at cycle number:
# Thread 0: 00003
# Thread 1:

";

    fn read(content: &str) -> Result<Document, Refusal> {
        CyclictestHistogram.read(content.as_bytes(), None)
    }

    fn refused(from: &str, to: &str) -> (usize, String) {
        refused_at(&CyclictestHistogram, FILE, from, to)
    }

    #[test]
    fn the_file_is_understood() {
        let document = read(FILE).unwrap();
        let moments = |at: usize| document.series[at].distribution.moments().unwrap();
        assert_eq!(
            (moments(0).count, moments(0).min, moments(0).max),
            (5, 1000, 50_000)
        );
        assert_eq!(moments(0).mean, 11_000.0);
        assert_eq!((moments(1).count, moments(1).mean), (2, 2000.0));
        assert_eq!(document.audit.len(), 1);
    }

    #[test]
    fn the_unit_can_be_given() {
        let unit = Some(TimeUnit::Nanoseconds);
        let document = CyclictestHistogram.read(FILE.as_bytes(), unit).unwrap();
        assert_eq!(document.series[0].distribution.moments().unwrap().max, 50);
    }

    #[test]
    fn the_column_of_all_threads_is_dropped() {
        let all = FILE
            .replace("000003\t000000", "000003\t000000\t000003")
            .replace("000000\t000000", "000000\t000000\t000000")
            .replace("000001\t000002", "000001\t000002\t000003")
            .replace("00050 00002", "00050 00002 00050");
        assert_eq!(read(&all).unwrap().series, read(FILE).unwrap().series);
        let wrong = all.replace("000002\t000003", "000002\t000009");
        assert!(read(&wrong).unwrap_err().reason.contains("sum"));
    }

    #[test]
    fn older_files_have_fewer_comments() {
        let older = FILE
            .replace("# Total: 000000004 000000002\n", "")
            .replace("00050 00002", "00002 00002")
            .replace("00011 00002", "00001 00002")
            .replace("# Histogram Overflows: 00001 00000\n", "");
        assert_eq!(read(&older).unwrap().series[0].distribution.count(), 4);
        // Without the line it is not known how many were beyond.
        let over = older.replace("Max Latencies: 00002", "Max Latencies: 00050");
        assert!(
            read(&over)
                .unwrap_err()
                .reason
                .contains("no overflow is counted")
        );
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        assert_eq!(refused("000003", "0000x3").0, 5);
        assert_eq!(refused("000003\t000000", "000003").0, 5);
        assert_eq!(refused("000002 0", "000001 0").0, 6);
        assert_eq!(refused("000002 000001\t000002", "000002").0, 6);
        assert_eq!(refused("000000004", "000000005").0, 7);
        assert_eq!(refused("s: 00001 00000", "s: 00001 00000 0 0").0, 11);
        assert_eq!(refused("# Min Latencies: 00001 00002\n", "").0, 14);
        assert!(refused("# Max", "# Min").1.contains("two files"));
        assert!(refused("# Total", "Total").1.contains("neither"));
        let again = refused("# Thread 1:\n", "# Thread 1:\n000003 000001\t000000\n");
        assert!(again.1.contains("two files"), "{again:?}");
    }

    #[test]
    fn other_lines_of_a_log_may_stand_around() {
        let log = format!("2 CPUs\n{FILE}12:00:01 done\n0\nt0-max-latency pass 61 us\n");
        assert_eq!(read(&log).unwrap().series, read(FILE).unwrap().series);
    }
}
