// SPDX-License-Identifier: GPL-2.0-only
//! The histogram that EVL's `latmus -g` writes for gnuplot.
//!
//! Comments first: kernel, boot arguments, CPU, period, duration, when the peak was, minimum,
//! average and maximum in microseconds with three decimals, sample count. Then cells of 1 us
//! with their count; the last one ends with `+` when it also counts what lies beyond.

use super::tally::{Budget, Tally, cut_down};
use super::text::{self, lines, ns_of_us, number};
use super::{Importer, Refusal, TimeUnit, document};
use crate::{Document, Kind, Machine, Series, Unit};
use std::collections::BTreeMap;

pub struct Latmus;

const CELL_NS: u64 = 1000;
/// `latmus -H` takes no more.
const CELLS_MAX: u64 = 1000;

impl Importer for Latmus {
    fn name(&self) -> &'static str {
        "latmus"
    }

    fn recognises(&self, head: &str) -> bool {
        head.lines().any(|line| line.starts_with("# sample count:"))
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let plot = Plot::read(content)?;
        let end = text::last_line(content);
        let tally = plot.tally(end)?;
        let (count_line, count) = plot.needed("sample count", end)?;
        let count: u64 = number(count_line, count, "the sample count")?;
        let found = tally
            .counted()
            .and_then(|counted| counted.checked_add(tally.overflows));
        if found != Some(count) {
            let reason = "the sample count is not the sum of the cells";
            return Err(Refusal::line(count_line, reason));
        }
        let refused = |reason| Refusal::line(end, reason);
        let values = tally
            .distribution(&mut Budget::default())
            .map_err(refused)?;
        let mut document = document("latmus".to_owned(), Vec::new(), tally.warnings("latency"));
        document.seconds = plot.clock("duration (hhmmss)")?;
        document.series.push(Series {
            cpu: plot.cpu()?,
            max_at_s: plot.clock("peak (hhmmss)")?,
            missed: plot
                .comment("OVERRUNS")
                .map(|(line, word)| number(line, word, "the overruns"))
                .transpose()?,
            ..Series::new("latency", Kind::Latency, Unit::Nanoseconds, values)
        });
        document.machine = plot.machine();
        Ok(document)
    }
}

/// The file's parts.
#[derive(Default)]
struct Plot<'a> {
    /// Each `# name: words` with its line.
    comments: BTreeMap<&'a str, (usize, &'a str)>,
    kernel: Option<&'a str>,
    /// The comment behind the kernel's: the boot arguments.
    cmdline: Option<&'a str>,
    /// Lower edge in nanoseconds and count.
    cells: Vec<(u64, u64)>,
    /// Whether the last cell counts more than its own.
    open_end: bool,
}

impl<'a> Plot<'a> {
    fn read(content: &'a str) -> Result<Self, Refusal> {
        let mut plot = Self::default();
        let mut behind_kernel = false;
        for (number, line) in lines(content) {
            if let Some(comment) = line.strip_prefix("# ") {
                if behind_kernel {
                    plot.cmdline = Some(comment);
                }
                let release = comment.strip_prefix("Linux version ");
                behind_kernel = release.is_some();
                if let Some(release) = release {
                    plot.kernel = release.split_whitespace().next();
                } else if let Some((name, words)) = comment.split_once(": ") {
                    plot.comments.insert(name, (number, words.trim()));
                }
            } else if line.starts_with(|first: char| first.is_ascii_digit()) {
                plot.cell(number, line)?;
            }
        }
        Ok(plot)
    }

    fn cell(&mut self, line: usize, words: &str) -> Result<(), Refusal> {
        let (cell, count) = words
            .split_once(' ')
            .ok_or_else(|| Refusal::line(line, "a cell without a count"))?;
        let (cell, open) = cell
            .strip_suffix('+')
            .map_or((cell, false), |cell| (cell, true));
        let cell: u64 = number(line, cell, "the cell")?;
        let count: u64 = number(line, count.trim(), "the count")?;
        let ascends = self
            .cells
            .last()
            .is_none_or(|(last, _)| *last < cell.saturating_mul(CELL_NS));
        if !ascends || self.open_end || cell >= CELLS_MAX {
            return Err(Refusal::line(line, "the cells do not ascend"));
        }
        self.open_end = open;
        if count > 0 {
            self.cells.push((cell * CELL_NS, count));
        }
        Ok(())
    }

    fn comment(&self, name: &str) -> Option<(usize, &'a str)> {
        self.comments.get(name).copied()
    }

    fn needed(&self, name: &str, end: usize) -> Result<(usize, &'a str), Refusal> {
        self.comment(name)
            .ok_or_else(|| Refusal::line(end, format!("no line \"# {name}:\" up to here")))
    }

    fn tally(&self, end: usize) -> Result<Tally, Refusal> {
        let ns = |name| {
            let (line, word) = self.needed(name, end)?;
            let ns = ns_of_us(line, word, name)?;
            // Cells count magnitudes; values below zero look like those above.
            u64::try_from(ns).map_err(|_| {
                Refusal::line(
                    line,
                    format!("{name} is below zero, and the cells have no sign"),
                )
            })
        };
        let mut tally = Tally {
            buckets: self.cells.clone(),
            width: CELL_NS,
            min: Some(ns("min latency")?),
            mean: Some(cut_down(ns("avg latency")?)),
            max: Some(ns("max latency")?),
            ..Tally::new(TimeUnit::Nanoseconds)
        };
        if self.open_end {
            tally.overflows = tally.buckets.pop().map_or(0, |(_, count)| count);
        }
        Ok(tally)
    }

    fn clock(&self, name: &str) -> Result<Option<f64>, Refusal> {
        self.comment(name)
            .map(|(line, word)| text::seconds_of_clock(line, word))
            .transpose()
    }

    /// `CPU1` or `CPU1-noisol`.
    fn cpu(&self) -> Result<Option<u32>, Refusal> {
        let Some((line, word)) = self.comment("thread affinity") else {
            return Ok(None);
        };
        let cpu = word.trim_start_matches("CPU").split('-').next();
        number(line, cpu.unwrap_or(""), "the CPU").map(Some)
    }

    fn machine(&self) -> Option<Machine> {
        Some(Machine {
            cmdline: self.cmdline.unwrap_or_default().to_owned(),
            ..Machine::of_kernel(self.kernel?.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Place;

    const FILE: &str = "\
# test started on: Sat Nov 21 19:10:04 2026
# Linux version 6.6.0-evl (builder@host) #1 SMP
# console=ttyS0 isolcpus=1
# sampling period: 1000 microseconds
# context: user
# thread affinity: CPU1-noisol
# duration (hhmmss): 00:01:00
# peak (hhmmss): 00:00:07
# min latency: 1.250
# avg latency: 2.100
# max latency: 12.500
# sample count: 60000
1 30000
2 29990
9+ 10
";

    fn read(content: &str) -> Result<Document, Refusal> {
        Latmus.read(content.as_bytes(), None)
    }

    #[test]
    fn the_file_is_understood() {
        let document = read(FILE).unwrap();
        let series = &document.series[0];
        assert_eq!((series.cpu, series.max_at_s), (Some(1), Some(7.0)));
        let moments = series.distribution.moments().unwrap();
        assert_eq!(
            (moments.count, moments.min, moments.max),
            (60_000, 1250, 12_500)
        );
        assert_eq!(document.seconds, Some(60.0));
        let machine = document.machine.unwrap();
        assert_eq!(machine.kernel, "6.6.0-evl");
        assert_eq!(machine.cmdline, "console=ttyS0 isolcpus=1");
        assert_eq!(document.audit[0].id, "histogram_overflow");
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let line = |from: &str, to: &str| {
            let damaged = FILE.replacen(from, to, 1);
            assert_ne!(damaged, FILE);
            read(&damaged).unwrap_err().place
        };
        assert_eq!(line("CPU1", "CPUx"), Place::Line(6));
        assert_eq!(line("1.250", "-1.250"), Place::Line(9));
        assert_eq!(line("60000", "60001"), Place::Line(12));
        assert_eq!(line("2 29990", "1 29990"), Place::Line(14));
        assert_eq!(line("2 29990", "2+ 29990"), Place::Line(15));
        assert_eq!(line("9+", "9999+"), Place::Line(15));
        assert_eq!(line("# max latency: 12.500\n", ""), Place::Line(14));
    }
}
