// SPDX-License-Identifier: GPL-2.0-only
//! The histogram that EVL's `latmus -g` writes for gnuplot.
//!
//! Comments first: kernel, boot arguments, CPU, period, duration, and of each statistic when the
//! peak was, minimum, average and maximum in microseconds with three decimals, sample count. Then
//! cells of 1 us with their count; the last one ends with `+` when it also counts what lies beyond.
//!
//! Older versions have one statistic without a name, later ones name it (`# timer min latency:`);
//! the network test has two (`RX queuing`, `RX delivery`), and a column of counts for each, in the
//! order of the comments.

use super::tally::{Budget, Tally, cut_down};
use super::text::{self, lines, ns_of_us, number, numbers};
use super::{Importer, Refusal, TimeUnit, document};
use crate::{Document, Kind, Machine, Series, Unit, Warning};
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
        let count = |line: &str| line.starts_with("# ") && line.contains("sample count: ");
        head.lines().any(count)
    }

    fn anchors(&self) -> &'static [&'static str] {
        &[
            "# Test started on:",
            "# test started on:",
            "# sampling period:",
        ]
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let plot = Plot::read(content)?;
        let end = text::last_line(content);
        let mut document = document("latmus".to_owned(), Vec::new(), Vec::new());
        document.seconds = plot.clock("duration (hhmmss)")?;
        document.machine = plot.machine();
        document.audit.extend(plot.degraded());
        let statistics = plot.statistics();
        let columns = plot.columns.unwrap_or(statistics.len());
        if columns != statistics.len() || statistics.is_empty() {
            let reason = format!(
                "{columns} columns of counts for {} lines \"sample count:\"",
                statistics.len()
            );
            return Err(Refusal::line(end, reason));
        }
        let mut budget = Budget::default();
        for (at, statistic) in statistics.into_iter().enumerate() {
            let name = series_name(statistic);
            let tally = plot.tally(statistic, at, end)?;
            let (line, count) = plot.needed(&format!("{statistic}sample count"), end)?;
            let count: u64 = number(line, count, "the sample count")?;
            let found = tally
                .counted()
                .and_then(|counted| counted.checked_add(tally.overflows));
            if found != Some(count) {
                let reason = "the sample count is not the sum of the cells";
                return Err(Refusal::line(line, reason));
            }
            let refused = |reason| Refusal::line(end, reason);
            let values = tally.distribution(&mut budget).map_err(refused)?;
            document.audit.extend(tally.warnings(&name));
            document.series.push(Series {
                cpu: plot.cpu()?,
                max_at_s: plot.clock(&format!("{statistic}peak (hhmmss)"))?,
                missed: plot.overruns(statistic)?,
                ..Series::new(&name, Kind::Latency, Unit::Nanoseconds, values)
            });
        }
        Ok(document)
    }
}

/// `RX queuing` as `rx_queuing`; the timer's, or one without a name, is the latency.
fn series_name(statistic: &str) -> String {
    match statistic.trim() {
        "" | "timer" => "latency".to_owned(),
        name => name.to_lowercase().replace(' ', "_"),
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
    /// The comments' names, in their order.
    names: Vec<&'a str>,
    /// Columns of counts; none without a cell.
    columns: Option<usize>,
    /// Lower edge in nanoseconds and the counts.
    cells: Vec<(u64, Vec<u64>)>,
    /// Whether the last cell counts more than its own.
    open_end: bool,
    is_degraded: bool,
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
                    plot.names.push(name);
                } else if comment.starts_with("DEGRADED MODE") {
                    plot.is_degraded = true;
                }
            } else if line.starts_with(|first: char| first.is_ascii_digit()) {
                plot.cell(number, line)?;
            }
        }
        Ok(plot)
    }

    fn cell(&mut self, line: usize, words: &str) -> Result<(), Refusal> {
        let (cell, counts) = words
            .split_once(' ')
            .ok_or_else(|| Refusal::line(line, "a cell without a count"))?;
        let (cell, open) = cell
            .strip_suffix('+')
            .map_or((cell, false), |cell| (cell, true));
        let cell: u64 = number(line, cell, "the cell")?;
        let counts: Vec<u64> = numbers(line, counts, "the count")?;
        let columns = *self.columns.get_or_insert(counts.len());
        if counts.is_empty() || counts.len() != columns {
            let reason = format!("{} counts, but {columns} in the lines before", counts.len());
            return Err(Refusal::line(line, reason));
        }
        let ascends = self
            .cells
            .last()
            .is_none_or(|(last, _)| *last < cell.saturating_mul(CELL_NS));
        if !ascends || self.open_end || cell >= CELLS_MAX {
            return Err(Refusal::line(line, "the cells do not ascend"));
        }
        self.open_end = open;
        self.cells.push((cell * CELL_NS, counts));
        Ok(())
    }

    fn comment(&self, name: &str) -> Option<(usize, &'a str)> {
        self.comments.get(name).copied()
    }

    fn needed(&self, name: &str, end: usize) -> Result<(usize, &'a str), Refusal> {
        self.comment(name)
            .ok_or_else(|| Refusal::line(end, format!("no line \"# {name}:\" up to here")))
    }

    /// What stands before `sample count` and the others: nothing, or a name and a blank.
    fn statistics(&self) -> Vec<&'a str> {
        let names = self.names.iter();
        names
            .filter_map(|name| name.strip_suffix("sample count"))
            .collect()
    }

    /// The tally of a statistic, whose counts are column `at`.
    fn tally(&self, statistic: &str, at: usize, end: usize) -> Result<Tally, Refusal> {
        let ns = |name| {
            let name = format!("{statistic}{name}");
            let (line, word) = self.needed(&name, end)?;
            let ns = ns_of_us(line, word, &name)?;
            // Cells count magnitudes; values below zero look like those above.
            u64::try_from(ns).map_err(|_| {
                Refusal::line(
                    line,
                    format!("{name} is below zero, and the cells have no sign"),
                )
            })
        };
        let max_ns = ns("max latency")?;
        let cells = self.cells.iter().map(|(edge, counts)| (*edge, counts[at]));
        let mut tally = Tally {
            buckets: cells.filter(|(_, count)| *count > 0).collect(),
            width: CELL_NS,
            min: Some(ns("min latency")?),
            mean: Some(cut_down(ns("avg latency")?)),
            max: Some(max_ns),
            ..Tally::new(TimeUnit::Nanoseconds)
        };
        let last_cell = self.cells.last().map_or(0, |(edge, _)| *edge);
        if self.open_end
            && max_ns >= last_cell.saturating_add(CELL_NS)
            && let Some((edge, count)) = tally.buckets.pop_if(|(edge, _)| *edge == last_cell)
        {
            tally.overflows = count;
            tally.end = Some(edge);
        }
        Ok(tally)
    }

    fn overruns(&self, statistic: &str) -> Result<Option<u64>, Refusal> {
        let own = format!("{statistic}OVERRUNS");
        let found = self.comment(&own).or_else(|| self.comment("OVERRUNS"));
        let found = found.map(|(line, word)| number(line, word, "the overruns"));
        found.transpose()
    }

    /// What latmus itself says against its figures.
    fn degraded(&self) -> Option<Warning> {
        self.is_degraded.then(|| Warning {
            id: "degraded_mode".to_owned(),
            seen: "latmus found degraded mode".to_owned(),
            why: "a debugging option of its kernel slows it down: its figures may be irrelevant"
                .to_owned(),
            fix: Some("measure with a kernel without EVL's debugging options".to_owned()),
        })
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
    fn later_versions_name_the_statistic() {
        let named = FILE
            .replace("# min", "# timer min")
            .replace("# avg", "# timer avg")
            .replace("# max", "# timer max")
            .replace("# sample", "# timer sample")
            .replace("# peak", "# timer peak")
            .replace(
                "# Linux",
                "# DEGRADED MODE DETECTED - FIGURES MAY BE IRRELEVANT\n# Linux",
            );
        assert!(Latmus.recognises(&named));
        let document = read(&named).unwrap();
        assert_eq!(document.series, read(FILE).unwrap().series);
        assert_eq!(document.audit[0].id, "degraded_mode");
    }

    #[test]
    fn the_network_test_has_a_column_for_each_statistic() {
        let (head, _) = FILE.split_once("# peak").unwrap();
        let mut net = head.to_owned();
        for (name, [min, avg, max]) in [
            ("RX queuing", ["0.310", "1.020", "3.700"]),
            ("RX delivery", ["2.310", "3.020", "4.700"]),
        ] {
            net += &format!(
                "# {name} peak (hhmmss): 00:00:01\n# {name} min latency: {min}\n\
                 # {name} avg latency: {avg}\n# {name} max latency: {max}\n\
                 # {name} sample count: 100\n"
            );
        }
        net += "0 20 0\n1 70 0\n2 9 10\n3 1 80\n4 0 10\n";
        let document = read(&net).unwrap();
        let all: Vec<(&str, u64, i64)> = document
            .series
            .iter()
            .map(|one| {
                let moments = one.distribution.moments().unwrap();
                (one.name.as_str(), moments.count, moments.max)
            })
            .collect();
        assert_eq!(all, [("rx_queuing", 100, 3700), ("rx_delivery", 100, 4700)]);
        assert!(
            read(&net.replace("3 1 80", "3 1"))
                .unwrap_err()
                .reason
                .contains("1 counts")
        );
        let one = net.replace(" RX delivery sample count", " other");
        assert!(read(&one).unwrap_err().reason.contains("2 columns"));
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
