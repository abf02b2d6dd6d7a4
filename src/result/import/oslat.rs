// SPDX-License-Identifier: GPL-2.0-only
//! What oslat of rt-tests prints: a table with a row for each bucket and a column for each core.
//!
//! It measures how long each round of a busy loop took, so most values are the loop's own. All is
//! in microseconds. The last bucket also holds what lies beyond it. Rows of zeros may be left out
//! (`-z`), for a line `...`. A bucket's label is its upper edge. With `--bias` the labels begin
//! later, and are still those of the values.
//!
//! oslat adds what lies beyond the first core's histogram to the average of every core; where
//! that cannot be, the average is that of the histogram, with a warning.

use super::tally::{Budget, Tally};
use super::text::{self, COLUMNS_MAX, lines, number};
use super::{Importer, Refusal, TimeUnit};
use crate::{Document, Kind, Series, Unit, Warning};

pub struct Oslat;

impl Importer for Oslat {
    fn name(&self) -> &'static str {
        "oslat"
    }

    fn recognises(&self, head: &str) -> bool {
        head.lines().any(|line| line.starts_with("oslat V "))
            || head
                .lines()
                .any(|line| line.trim_start().starts_with("Core:\t"))
                && head.contains("Counter Freq:")
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["oslat V ", "Counter Freq:"]
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let end = text::last_line(content);
        let mut version = "";
        let mut table = Table::default();
        for (line, text) in lines(content) {
            if let Some(found) = text.strip_prefix("oslat V ") {
                version = found.trim();
            } else if let Some((label, values)) = text.split_once(":\t") {
                table.row(line, label.trim(), values)?;
            }
        }
        let tool = format!("oslat {version}").trim_end().to_owned();
        let empty = super::document(tool, Vec::new(), Vec::new());
        document(empty, &table.cores(end)?)
    }
}

/// What is known of one core, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Core {
    /// Where the file says so.
    pub line: usize,
    pub cpu: u32,
    pub min_ns: u64,
    /// None where it is no number.
    pub mean_ns: Option<f64>,
    pub max_ns: u64,
    pub seconds: Option<f64>,
    /// Label and count, ascending.
    pub buckets: Vec<(u64, u64)>,
    /// Which of its figures the table had: `Minimum`, `Average`, `Maximum`.
    pub found: Vec<&'static str>,
}

impl Core {
    /// A label in microseconds, such as `001` or `0.100`.
    pub fn ns_of_label(label: &str) -> Result<u64, String> {
        let us: Option<f64> = label.parse().ok();
        let us = us.filter(|us| (0.0..1e12).contains(us));
        us.map(|us| (us * 1000.0).round() as u64)
            .ok_or_else(|| format!("the label of a bucket is {label:?}, which is no time"))
    }

    /// The width of a bucket in nanoseconds, as far as the labels show it.
    fn width_ns(&self) -> u64 {
        let labels = || self.buckets.iter().map(|(label, _)| *label);
        let gaps = labels().zip(labels().skip(1)).map(|(one, next)| next - one);
        gaps.min().unwrap_or(1000).max(1)
    }

    fn tally(&self) -> Tally {
        let is_fine = self.buckets.iter().any(|(label, _)| label % 1000 != 0);
        let (unit, width) = match is_fine {
            true => (TimeUnit::Nanoseconds, self.width_ns()),
            false => (TimeUnit::Microseconds, 1),
        };
        let value = |ns: u64| ns / unit.ns();
        let counted = self.buckets.iter().filter(|(_, count)| *count > 0);
        let mut buckets: Vec<(u64, u64)> =
            counted.map(|(ns, count)| (value(*ns), *count)).collect();
        let max = value(self.max_ns);
        let (mut overflows, mut end) = (0, None);
        if let Some((label, count)) = buckets.pop() {
            let bucket = value(self.width_ns());
            if max > label {
                // In the last of all buckets, which holds what is beyond.
                (overflows, end) = (count, Some(label.saturating_sub(bucket)));
            } else if label - max <= bucket.max(1) {
                // The label was rounded up.
                match buckets.last_mut() {
                    Some(before) if before.0 >= max => before.1 = before.1.saturating_add(count),
                    _ => buckets.push((max, count)),
                }
            } else {
                buckets.push((label, count));
            }
        }
        Tally {
            buckets,
            width,
            overflows,
            end,
            min: Some(value(self.min_ns)),
            max: Some(max),
            ..Tally::new(unit)
        }
    }

    /// The mean in the tally's unit, as far as the histogram allows it; whether the file's is
    /// another.
    fn mean(&self, tally: &Tally) -> (Option<(f64, f64)>, bool) {
        let Some(given) = self.mean_ns.filter(|mean| mean.is_finite()) else {
            return (None, false);
        };
        let unit = tally.unit.ns() as f64;
        let weighed = |(value, count): &(u64, u64)| *value as f64 * *count as f64;
        let counted: f64 = tally.buckets.iter().map(weighed).sum();
        let count = tally.counted().unwrap_or(0) as f64 + tally.overflows as f64;
        let with = |beyond: u64| (counted + beyond as f64 * tally.overflows as f64) / count;
        let [min, max] = [tally.min, tally.max].map(|value| value.unwrap_or(0));
        let (low, high) = (with(tally.end.unwrap_or(0).min(max)), with(max));
        let given = given / unit;
        // A label is up to a bucket too high.
        let slack = self.width_ns() as f64 / unit + 0.002 * high;
        let fits = (low - slack..=high + slack).contains(&given);
        let mean = given.clamp(low, high).clamp(min as f64, max as f64);
        (Some((mean, mean)), !fits)
    }

    fn warnings(&self, named: &str, tally: &Tally) -> Vec<Warning> {
        let mut warnings = tally.warnings(named);
        warnings.retain(|one| one.id != "wide_buckets");
        let width_ns = self.width_ns();
        // Two labels that are there may not be neighbours.
        if width_ns > 1000 && self.buckets.len() > 2 {
            warnings.push(Warning {
                id: "wide_buckets".to_owned(),
                seen: format!(
                    "{named}: buckets are up to {} us wide; values count as their upper edge",
                    width_ns as f64 / 1000.0
                ),
                why: "percentiles may be too high by the width of a bucket".to_owned(),
                fix: Some("measure again with buckets of 1 us".to_owned()),
            });
        }
        warnings
    }
}

/// Adds the cores to a document.
///
/// # Errors
/// Where a core contradicts itself.
pub fn document(mut document: Document, cores: &[Core]) -> Result<Document, Refusal> {
    let mut budget = Budget::default();
    for core in cores {
        let named = format!("oslat of CPU {}", core.cpu);
        let refused = |reason| Refusal::line(core.line, format!("{named}: {reason}"));
        if core.min_ns > core.max_ns {
            return Err(refused("the minimum is above the maximum".to_owned()));
        }
        let mut tally = core.tally();
        match tally.counted() {
            Some(0) if tally.overflows == 0 => {
                return Err(refused("no bucket counts a value".to_owned()));
            }
            None => {
                return Err(refused(
                    "it counts more values than a run can have".to_owned(),
                ));
            }
            Some(_) => {}
        }
        let (mean, is_other) = core.mean(&tally);
        tally.mean = mean;
        let values = tally.distribution(&mut budget).map_err(refused)?;
        document.audit.extend(core.warnings(&named, &tally));
        if is_other {
            document.audit.push(other_mean(&named, core));
        }
        document.series.push(Series {
            cpu: Some(core.cpu),
            ..Series::new("oslat", Kind::Noise, Unit::Nanoseconds, values)
        });
    }
    let seconds = cores.iter().filter_map(|core| core.seconds);
    document.seconds = seconds.reduce(f64::max).or(document.seconds);
    Ok(document)
}

fn other_mean(named: &str, core: &Core) -> Warning {
    Warning {
        id: "average_of_another_core".to_owned(),
        seen: format!(
            "{named}: the average in the file, {:.3} us, is not that of its histogram",
            core.mean_ns.unwrap_or_default() / 1000.0
        ),
        why: "oslat adds the first core's overflows to the average of every core; the mean here \
              is the nearest that the histogram allows"
            .to_owned(),
        fix: Some("measure with more buckets (-b)".to_owned()),
    }
}

/// The rows of the table.
#[derive(Default)]
struct Table {
    cores: Vec<Core>,
}

impl Table {
    fn row(&mut self, line: usize, label: &str, values: &str) -> Result<(), Refusal> {
        let values = values.split(" (").next().unwrap_or_default();
        let words: Vec<&str> = values.split_whitespace().take(COLUMNS_MAX + 1).collect();
        if label == "Core" {
            if !self.cores.is_empty() {
                return Err(Refusal::line(line, "a second table; are these two runs?"));
            }
            if words.len() > COLUMNS_MAX || words.is_empty() {
                let reason = format!("{} cores; no machine has so many", words.len());
                return Err(Refusal::line(line, reason));
            }
            for word in words {
                let cpu = number(line, word, "the core")?;
                let core = Core {
                    cpu,
                    ..Core::default()
                };
                self.cores.push(core);
            }
            return Ok(());
        }
        let bucket = label.strip_suffix(" (us)");
        let mut figures = ["Minimum", "Average", "Maximum", "Duration"].into_iter();
        let figure = figures.find(|figure| *figure == label);
        if self.cores.is_empty() || (bucket.is_none() && figure.is_none()) {
            return Ok(());
        }
        if words.len() != self.cores.len() {
            let reason = format!("{} values for {} cores", words.len(), self.cores.len());
            return Err(Refusal::line(line, reason));
        }
        for (core, word) in self.cores.iter_mut().zip(words) {
            core.line = line;
            match (bucket, figure) {
                (Some(label), _) => core.bucket(line, label, word)?,
                (None, Some(figure)) => core.figure(line, figure, word)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn cores(self, end: usize) -> Result<Vec<Core>, Refusal> {
        let needed = ["Minimum", "Average", "Maximum"];
        let missing = |core: &Core| needed.into_iter().find(|name| !core.found.contains(name));
        let Some(core) = self.cores.first() else {
            return Err(Refusal::line(
                end,
                "no line \"Core:\" up to here; is the file cut off?",
            ));
        };
        if let Some(name) = missing(core) {
            let reason = format!("no line \"{name}:\" up to here; is the file cut off?");
            return Err(Refusal::line(end, reason));
        }
        Ok(self.cores)
    }
}

impl Core {
    fn bucket(&mut self, line: usize, label: &str, word: &str) -> Result<(), Refusal> {
        let label = Self::ns_of_label(label).map_err(|reason| Refusal::line(line, reason))?;
        if self.buckets.last().is_some_and(|(last, _)| *last >= label) {
            return Err(Refusal::line(line, "the buckets do not ascend"));
        }
        let count = number(line, word, "a count")?;
        self.buckets.push((label, count));
        Ok(())
    }

    fn figure(&mut self, line: usize, figure: &'static str, word: &str) -> Result<(), Refusal> {
        let value: f64 = number(line, word, figure)?;
        let ns = || match value {
            value if (0.0..1e15).contains(&value) => Ok((value * 1000.0).round() as u64),
            _ => Err(Refusal::line(line, format!("{figure} is out of range"))),
        };
        match figure {
            "Minimum" => self.min_ns = ns()?,
            "Maximum" => self.max_ns = ns()?,
            "Average" => self.mean_ns = Some(value * 1000.0),
            _ => self.seconds = Some(value).filter(|seconds| seconds.is_finite()),
        }
        self.found.push(figure);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;

    const FILE: &str = "\
oslat V 2.40
Total runtime: \t\t1 seconds
Test completed.

        Core:\t 0 3
Counter Freq:\t 2597 2604 (Mhz)
    001 (us):\t 990 500
    002 (us):\t 7 0
    ...
    004 (us):\t 0 500
    032 (us):\t 3 0 (including overflows)
     Minimum:\t 1 1 (us)
     Average:\t 1.420 2.820 (us)
     Maximum:\t 140 4 (us)
     Max-Min:\t 139 3 (us)
    Duration:\t 1.008 1.013 (sec)

";

    fn read(content: &str) -> Result<Document, Refusal> {
        assert!(Oslat.recognises(content));
        Oslat.read(content.as_bytes(), None)
    }

    #[test]
    fn each_core_is_a_series() {
        let document = read(FILE).unwrap();
        assert_eq!(
            (document.tool.as_str(), document.seconds),
            ("oslat 2.40", Some(1.013))
        );
        let figures = |at: usize| {
            let series = &document.series[at];
            let moments = series.distribution.moments().unwrap();
            (series.cpu.unwrap(), moments.count, moments.min, moments.max)
        };
        assert_eq!(figures(0), (0, 1000, 1000, 140_000));
        assert_eq!(figures(1), (3, 1000, 1000, 4000));
        assert_eq!(document.series[1].distribution.percentile(99.0), Some(4000));
        // 500 values of 1 and 500 of 4 us have a mean of 2.5.
        let mean = document.series[1].distribution.moments().unwrap().mean;
        assert!((mean - 2500.0).abs() < 1.0, "{mean}");
        let ids: Vec<&str> = document.audit.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["histogram_overflow"]);
    }

    #[test]
    fn an_average_that_cannot_be_is_said_to_be_another_cores() {
        let document = read(&FILE.replace("2.820", "99.123")).unwrap();
        let found = document.audit.last().unwrap();
        assert!(found.seen.contains("99.123 us"), "{found:?}");
    }

    #[test]
    fn a_bias_shifts_the_labels_only() {
        let biased = FILE
            .replace("    001 (us):\t 990 500\n", "    002 (us):\t 997 500\n")
            .replace("    002 (us):\t 7 0\n", "")
            .replace("032 (us)", "033 (us)");
        let moments = read(&biased).unwrap().series[0]
            .distribution
            .moments()
            .unwrap();
        assert_eq!((moments.min, moments.max), (1000, 140_000));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |from, to| refused_at(&Oslat, FILE, from, to);
        assert_eq!(refused("\t 0 3\n", "\t x 3\n").0, 5);
        assert_eq!(refused("990 500", "990").0, 7);
        assert_eq!(refused("002 (us)", "001 (us)").0, 8);
        assert_eq!(refused("Maximum:\t 140", "Maximum:\t nan").0, 14);
        assert!(
            refused("     Maximum:\t 140 4 (us)\n", "")
                .1
                .contains("Maximum")
        );
        assert!(refused("        Core:\t 0 3\n", "").1.contains("Core"));
        assert!(refused("Maximum:\t 140", "Maximum:\t 1").1.contains("max"));
    }
}
