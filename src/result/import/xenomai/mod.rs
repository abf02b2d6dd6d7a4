// SPDX-License-Identifier: GPL-2.0-only
//! What `latency` of Xenomai and `latmus` of EVL, its successor, print while they measure.
//!
//! Lines begin with their kind: `RTT` time and settings, `RTD` one interval of a second
//! (minimum, average, maximum, overruns, mode switches, best, worst), `RTS` the whole run, all
//! in microseconds with three decimals. With `-h`, `HSD` lines follow: cell, range and count of
//! three histograms, of which `avg` counts every sample.
//!
//! The samples become the series `latency`: with their histogram when there is one, else with
//! count, minimum, mean and maximum of the `RTS` line. `-s` counts the samples (`HSS`); without it
//! their number follows from the period and the intervals or, with `-q`, the duration, and a
//! warning says so. The `RTD` lines become `interval_min`, `interval_mean` and `interval_max`: one
//! value an interval, which is all that a run without an `RTS` line has.
//!
//! Cells are 1 us wide unless `-B` was given, which the output does not say: when the average
//! of the histogram is not that of `RTS`, it is refused. The last cell also counts what lies
//! beyond. Cells count magnitudes: when the best value is below zero, early and late samples
//! are mixed, and a warning says so.

use super::cyclictest_summary::no_histogram;
use super::tally::{Budget, Tally};
use super::text::{self, lines, ns_of_us, number};
use super::{Importer, Refusal, TimeUnit, document};
use crate::{Distribution, Document, Kind, Moments, Series, Unit, Warning};

pub struct Xenomai;

const CELL_NS: u64 = 1000;
/// More cells than `-H` is ever given.
const CELLS_MAX: u64 = 10_000_000;

impl Importer for Xenomai {
    fn name(&self) -> &'static str {
        "xenomai"
    }

    fn recognises(&self, head: &str) -> bool {
        let kinds = ["RTT|", "RTH|", "RTD|", "RTS|", "HSD|", "HSH|"];
        head.lines()
            .any(|line| kinds.iter().any(|kind| line.starts_with(kind)))
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["RTH|", "RTD|", "RTS|"]
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let run = Run::read(content)?;
        let mut document = document("xenomai latency".to_owned(), Vec::new(), Vec::new());
        let series = |name: &str, values| Series {
            cpu: run.cpu,
            ..Series::new(name, Kind::Latency, Unit::Nanoseconds, values)
        };
        let end = text::last_line(content);
        let samples = match &run.whole {
            Some(whole) if run.cells.is_empty() => Some((whole, run.summary(whole)?)),
            Some(whole) => Some((whole, whole.samples(&run.cells)?)),
            None if run.cells.is_empty() && run.intervals[0].count() > 0 => None,
            None => {
                return Err(Refusal::line(
                    end,
                    "no RTS line up to here; is the file cut off?",
                ));
            }
        };
        if let Some((whole, (values, warnings))) = samples {
            document.audit.extend(warnings);
            document.series.push(Series {
                missed: Some(whole.overruns),
                ..series("latency", values)
            });
        }
        for (name, values) in INTERVALS.iter().zip(&run.intervals) {
            if values.count() > 0 {
                document.series.push(series(name, values.clone()));
            }
        }
        document.seconds = run.whole.as_ref().and_then(|whole| whole.seconds);
        document
            .audit
            .extend(run.whole.and_then(|whole| whole.switches()));
        if let Some(period_us) = run.period_us {
            let options = &mut document.setup.options;
            options.insert("interval_us".to_owned(), period_us.into());
        }
        Ok(document)
    }
}

/// The series of the `RTD` lines.
pub(super) const INTERVALS: [&str; 3] = ["interval_min", "interval_mean", "interval_max"];

/// All lines, by what they hold.
struct Run {
    period_us: Option<u64>,
    /// How many samples the statistics (`-s`) count.
    counted: Option<u64>,
    cpu: Option<u32>,
    /// Minimum, mean, maximum, one value an `RTD` line.
    intervals: [Distribution; 3],
    /// Lower edge in nanoseconds and count of the histogram of all samples.
    cells: Vec<(u64, u64)>,
    whole: Option<Whole>,
}

impl Run {
    fn read(content: &str) -> Result<Self, Refusal> {
        let mut run = Self {
            period_us: None,
            counted: None,
            cpu: None,
            intervals: std::array::from_fn(|_| Distribution::signed()),
            cells: Vec::new(),
            whole: None,
        };
        for (at, line) in lines(content) {
            if let Some(period) = line.strip_prefix("== Sampling period: ") {
                let word = period.strip_suffix(" us").unwrap_or(period);
                run.period_us = Some(number(at, word, "the period")?);
            }
            match line.split_once('|') {
                Some(("HSS", fields)) => run.statistics(at, fields)?,
                Some(("RTT", settings)) => run.settings(at, settings)?,
                Some(("RTD", fields)) => run.interval(at, fields)?,
                Some(("HSD", fields)) => run.cell(at, fields)?,
                Some(("RTS", _)) if run.whole.is_some() => {
                    return Err(Refusal::line(at, "a second RTS line; are these two runs?"));
                }
                Some(("RTS", fields)) => run.whole = Some(Whole::read(at, fields)?),
                _ => {}
            }
        }
        Ok(run)
    }

    /// `00:00:01  (user, 1000 us period, priority 98, CPU1-noisol)`; Xenomai prints no CPU.
    fn settings(&mut self, line: usize, settings: &str) -> Result<(), Refusal> {
        let words = settings.split_once('(').map_or("", |(_, words)| words);
        for word in words.trim_end().trim_end_matches(')').split(", ") {
            if let Some(period) = word.strip_suffix(" us period") {
                self.period_us = Some(number(line, period, "the period")?);
            } else if let Some(cpu) = word.strip_prefix("CPU") {
                let cpu = cpu.split('-').next().unwrap_or(cpu);
                self.cpu = Some(number(line, cpu, "the CPU")?);
            }
        }
        Ok(())
    }

    /// `    avg|     39943|      2.200|      1.460`
    fn statistics(&mut self, line: usize, fields: &str) -> Result<(), Refusal> {
        let [kind, samples, _, _] = figures::<4>(line, fields)?;
        if kind.trim() == "avg" {
            self.counted = Some(number(line, samples.trim(), "the samples")?);
        }
        Ok(())
    }

    /// What the last line says of all samples, and what is to be said of it.
    fn summary(&self, whole: &Whole) -> Result<(Distribution, Vec<Warning>), Refusal> {
        let (count, warning) = self.samples(whole)?;
        let values = Distribution::summary(count, whole.min_ns, whole.mean_ns as f64, whole.max_ns)
            .map_err(|error| Refusal::line(whole.line, error.to_string()))?;
        let warnings = [no_histogram("xenomai latency")].into_iter().chain(warning);
        Ok((values, warnings.collect()))
    }

    /// How many samples there were, and what is to be said of the number.
    fn samples(&self, whole: &Whole) -> Result<(u64, Option<Warning>), Refusal> {
        if let Some(counted) = self.counted.filter(|counted| *counted > 0) {
            return Ok((counted, None));
        }
        let intervals = match self.intervals[0].count() {
            0 => whole.seconds.unwrap_or(0.0) as u64,
            intervals => intervals,
        };
        let each = self.period_us.and_then(|us| 1_000_000_u64.checked_div(us));
        let count = each.and_then(|each| each.checked_mul(intervals));
        let count = count.filter(|count| *count > 0).ok_or_else(|| {
            let reason = "how many samples there were does not follow from period and duration; \
                          run it with -s";
            Refusal::line(whole.line, reason)
        })?;
        let warning = Warning {
            id: "samples_estimated".to_owned(),
            seen: format!(
                "the number of samples is not in the file; {count} follows from the period and \
                 {intervals} intervals of 1 s"
            ),
            why: "there are fewer by what was overrun, and more in the interval that was not \
                  printed"
                .to_owned(),
            fix: Some("run latency with -s".to_owned()),
        };
        Ok((count, Some(warning)))
    }

    fn interval(&mut self, line: usize, fields: &str) -> Result<(), Refusal> {
        let figures = figures::<7>(line, fields)?;
        let values = extremes(line, &figures[..3])?;
        for (distribution, value) in self.intervals.iter_mut().zip(values) {
            distribution.record(value);
        }
        Ok(())
    }

    /// `    avg|   3 -  4 |     1234`
    fn cell(&mut self, line: usize, fields: &str) -> Result<(), Refusal> {
        let [kind, range, count] = figures::<3>(line, fields)?;
        if kind.trim() != "avg" {
            return Ok(());
        }
        let from = range.split_once('-').map_or(range, |(from, _)| from);
        let from: u64 = number(line, from.trim(), "the cell")?;
        let count: u64 = number(line, count.trim(), "the count")?;
        if from >= CELLS_MAX {
            return Err(Refusal::line(line, format!("cell {from} is out of range")));
        }
        let edge_ns = from * CELL_NS;
        if self.cells.last().is_some_and(|(last, _)| *last >= edge_ns) {
            return Err(Refusal::line(line, "the cells do not ascend"));
        }
        if count > 0 {
            self.cells.push((edge_ns, count));
        }
        Ok(())
    }
}

/// The `RTS` line.
struct Whole {
    line: usize,
    min_ns: i64,
    mean_ns: i64,
    max_ns: i64,
    overruns: u64,
    mode_switches: u64,
    seconds: Option<f64>,
}

impl Whole {
    fn read(line: usize, fields: &str) -> Result<Self, Refusal> {
        let figures = figures::<6>(line, fields)?;
        let [min_ns, mean_ns, max_ns] = extremes(line, &figures[..3])?;
        let clock = figures[5].trim().split('/').next().unwrap_or("");
        Ok(Self {
            line,
            min_ns,
            mean_ns,
            max_ns,
            overruns: number(line, figures[3].trim(), "the overruns")?,
            mode_switches: number(line, figures[4].trim(), "the mode switches")?,
            seconds: Some(text::seconds_of_clock(line, clock)?),
        })
    }

    /// The distribution of all samples, and what is to be said of it.
    fn samples(&self, cells: &[(u64, u64)]) -> Result<(Distribution, Vec<Warning>), Refusal> {
        let refused = |reason| Refusal::line(self.line, reason);
        let early = self.min_ns < 0;
        let unsigned = |ns: i64| u64::try_from(ns).ok();
        let mut tally = Tally {
            buckets: cells.to_vec(),
            width: CELL_NS,
            min: unsigned(self.min_ns),
            mean: (!early).then_some((self.mean_ns as f64, self.mean_ns as f64)),
            max: Some(self.max_ns.unsigned_abs().max(self.min_ns.unsigned_abs())),
            ..Tally::new(TimeUnit::Nanoseconds)
        };
        let max = tally.max.unwrap_or(0);
        let beyond = |edge: u64| max.checked_sub(edge).is_some_and(|over| over >= CELL_NS);
        if let Some((edge, count)) = tally.buckets.pop_if(|(edge, _)| beyond(*edge)) {
            tally.overflows = count;
            tally.end = Some(edge);
        }
        if !early && !self.average_fits(&tally) {
            return Err(refused(
                "the average is not that of the histogram: its cells are not 1 us wide (-B), and the output does not say how wide".to_owned(),
            ));
        }
        let values = tally
            .distribution(&mut Budget::default())
            .map_err(refused)?;
        let mut warnings = tally.warnings("latency");
        let Some(moments) = values.moments().filter(|_| early) else {
            return Ok((values, warnings));
        };
        let moments = Moments {
            min: self.min_ns,
            mean: self.mean_ns as f64,
            ..moments
        };
        let (positive, negative) = values.into_histograms();
        let values = Distribution::from_parts(positive, negative, Some(moments))
            .map_err(|error| refused(error.to_string()))?;
        warnings.push(Warning {
            id: "sign_lost".to_owned(),
            seen: format!(
                "latency: the best value is {:.3} us, and the histogram counts magnitudes",
                self.min_ns as f64 / 1000.0
            ),
            why: "low percentiles mix early and late wake-ups; the high ones are right".to_owned(),
            fix: None,
        });
        Ok((values, warnings))
    }

    /// Whether cells of 1 us can have this average; the values within a cell, and the averages
    /// of the intervals that the average is made of, were cut down to whole numbers.
    fn average_fits(&self, tally: &Tally) -> bool {
        let weighed = |(edge, count): &(u64, u64)| *edge as f64 * *count as f64;
        let count = tally.counted().unwrap_or(0).saturating_add(tally.overflows);
        let cells: f64 = tally.buckets.iter().map(weighed).sum();
        let last = tally.buckets.last().map_or(0, |(edge, _)| *edge) as f64;
        let beyond = tally.overflows as f64;
        let low = (cells + beyond * last) / count as f64;
        let high = (cells + beyond * self.max_ns as f64) / count as f64 + CELL_NS as f64;
        let slack = CELL_NS as f64 + low * 0.01;
        (low - slack..=high + slack).contains(&(self.mean_ns as f64))
    }

    fn switches(&self) -> Option<Warning> {
        (self.mode_switches > 0).then(|| Warning {
            id: "mode_switches".to_owned(),
            seen: format!(
                "{} involuntary switches to secondary mode",
                self.mode_switches
            ),
            why: "a peak may be the latency of Linux, not of Xenomai".to_owned(),
            fix: None,
        })
    }
}

/// The fields of a line between bars.
pub(super) fn figures<const N: usize>(line: usize, fields: &str) -> Result<[&str; N], Refusal> {
    let all: Vec<&str> = fields.split('|').take(N + 1).collect();
    all.try_into().map_err(|all: Vec<&str>| {
        let found = all.len();
        Refusal::line(
            line,
            format!("{found} fields instead of {N}; is the line cut off?"),
        )
    })
}

/// Minimum, mean and maximum in nanoseconds.
fn extremes(line: usize, words: &[&str]) -> Result<[i64; 3], Refusal> {
    let mut values = [0; 3];
    for (value, (word, what)) in values
        .iter_mut()
        .zip(words.iter().zip(["min", "avg", "max"]))
    {
        *value = ns_of_us(line, word, what)?;
    }
    ascending(line, values)?;
    Ok(values)
}

/// Refuses a minimum, mean and maximum that are none.
pub(super) fn ascending(line: usize, values: [i64; 3]) -> Result<(), Refusal> {
    match values.is_sorted() {
        true => Ok(()),
        false => Err(Refusal::line(line, "min, avg and max do not ascend")),
    }
}

#[cfg(test)]
mod tests;
