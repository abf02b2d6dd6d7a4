// SPDX-License-Identifier: GPL-2.0-only
//! The histograms of rtla, the kernel's own tool: `rtla timerlat hist` and `rtla osnoise hist`.
//!
//! timerlat has up to three columns a CPU, all counted from the moment the timer was due: until
//! the interrupt handler ran (`IRQ-000`), until the thread ran (`Thr-000`), and until it was
//! back in user space (`Usr-000`). osnoise has one (`CPU-000`), the noise of one interruption.
//! After the histogram come `over:` (values beyond it), `count:`, `min:`, `avg:` and `max:`;
//! what follows, the sums of all CPUs and an analysis, is skipped.
//!
//! A CPU where nothing was above osnoise's threshold has no column. Without any column there is
//! no value at all, and the summary is empty or, from Linux 6.17 on, zeros. Those zeros are also
//! printed where every value lies beyond the histogram, which columns give away.
//! `--no-summary` leaves out all but `over:`, `--no-header` and `--no-index` too much.
//!
//! Rows without a value are left out, so the bucket size (`-b`) is not known; no row can be
//! off a multiple of it, so the largest common divisor of the rows bounds it.

use super::tally::{Budget, Tally, cut_down, rounded};
use super::text::{self, COLUMNS_MAX, lines, number};
use super::{Importer, Refusal, TimeUnit, document, rtla_frame};
use crate::names::{TIMER_TO_IRQ, TIMER_TO_THREAD, TIMER_TO_USER};
use crate::{Distribution, Document, Kind, Series, Unit};

pub struct Rtla;

impl Importer for Rtla {
    fn name(&self) -> &'static str {
        "rtla"
    }

    fn recognises(&self, head: &str) -> bool {
        let bare = || SUMMARY.iter().all(|name| has_line(head, name));
        head.lines().any(|line| title(line).is_some()) || bare()
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["# RTLA "]
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let table = Table::read(content)?;
        let mut document = document(format!("rtla {}", table.tool), Vec::new(), Vec::new());
        document.seconds = table.seconds;
        if table.columns.is_empty() {
            let (name, kind) = match table.tool {
                "osnoise" => ("osnoise", Kind::Noise),
                _ => (TIMER_TO_IRQ, Kind::Latency),
            };
            let nothing = Series::new(name, kind, Unit::Nanoseconds, Distribution::new());
            document.series.push(nothing);
        }
        let mut budget = Budget::default();
        for (column, tally) in table.tallies(text::last_line(content))? {
            let named = format!("{} of CPU {}", column.series, column.cpu);
            let refused = |reason| Refusal::line(table.end, format!("{named}: {reason}"));
            let values = tally.distribution(&mut budget).map_err(refused)?;
            document.audit.extend(tally.warnings(&named));
            document.series.push(Series {
                cpu: Some(column.cpu),
                ..Series::new(column.series, column.kind, Unit::Nanoseconds, values)
            });
        }
        Ok(document)
    }
}

/// The tool's name in the line that begins its output.
fn title(line: &str) -> Option<&str> {
    let tool = line.strip_prefix("# RTLA ")?;
    tool.trim_end().strip_suffix(" histogram")
}

/// Whether a line of the summary is there.
fn has_line(text: &str, name: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(':'))
    })
}

/// What a column counts.
#[derive(Clone, Copy)]
struct Column {
    series: &'static str,
    kind: Kind,
    cpu: u32,
}

impl Column {
    fn read(line: usize, word: &str) -> Result<Self, Refusal> {
        let (kind, cpu) = word.split_once('-').unwrap_or((word, ""));
        let (series, kind) = match kind {
            "IRQ" => (TIMER_TO_IRQ, Kind::Latency),
            "Thr" => (TIMER_TO_THREAD, Kind::Latency),
            "Usr" => (TIMER_TO_USER, Kind::Latency),
            "CPU" => ("osnoise", Kind::Noise),
            _ => {
                let reason = "a column is none of IRQ-, Thr-, Usr- and CPU- with a number";
                return Err(Refusal::line(line, reason));
            }
        };
        let cpu = number(line, cpu, "the CPU of a column")?;
        Ok(Self { series, kind, cpu })
    }
}

struct Table<'a> {
    tool: &'a str,
    unit: TimeUnit,
    seconds: Option<f64>,
    /// Whether the line that names the columns was there.
    is_named: bool,
    columns: Vec<Column>,
    buckets: Vec<Vec<(u64, u64)>>,
    last: Option<u64>,
    /// Largest common divisor of the rows, 0 before the first.
    divisor: u64,
    /// The words behind `over:`, `count:`, `min:`, `avg:`, `max:`, each with its line.
    summary: Vec<(&'a str, usize, Vec<&'a str>)>,
    /// Line of the last of them.
    end: usize,
}

const SUMMARY: [&str; 5] = ["over", "count", "min", "avg", "max"];

impl<'a> Table<'a> {
    fn read(content: &'a str) -> Result<Self, Refusal> {
        let mut all = lines(content);
        let (first, tool) = all
            .find_map(|(number, line)| Some((number, title(line)?)))
            .ok_or_else(|| {
                Refusal::line(
                    1,
                    "no line \"# RTLA ... histogram\"; --no-header leaves out what the columns are",
                )
            })?;
        let mut table = Self {
            tool,
            unit: TimeUnit::Microseconds,
            seconds: None,
            is_named: false,
            columns: Vec::new(),
            buckets: Vec::new(),
            last: None,
            divisor: 0,
            summary: Vec::new(),
            end: first,
        };
        for (number, line) in all {
            if let Some(comment) = line.strip_prefix('#') {
                table.comment(number, comment)?;
            } else if let Some(names) = line.strip_prefix("Index") {
                table.header(number, names)?;
            } else if !line.trim().is_empty() && !table.line(number, line)? {
                break;
            }
            if table.summary.len() == SUMMARY.len() {
                break;
            }
        }
        Ok(table)
    }

    fn comment(&mut self, line: usize, comment: &str) -> Result<(), Refusal> {
        if let Some(unit) = comment.strip_prefix(" Time unit is ") {
            self.unit = match unit.split_whitespace().next() {
                Some("microseconds") => TimeUnit::Microseconds,
                Some("nanoseconds") => TimeUnit::Nanoseconds,
                _ => return Err(Refusal::line(line, "the time unit is neither us nor ns")),
            };
        } else if let Some(duration) = comment.strip_prefix(" Duration:") {
            self.seconds = Some(rtla_frame::duration(line, duration)?);
        }
        Ok(())
    }

    fn header(&mut self, line: usize, names: &str) -> Result<(), Refusal> {
        let words = names.split_whitespace().take(COLUMNS_MAX);
        let columns: Result<Vec<Column>, Refusal> =
            words.map(|word| Column::read(line, word)).collect();
        if self.is_named {
            return Err(Refusal::line(line, "a second table; are these two runs?"));
        }
        self.is_named = true;
        self.columns = columns?;
        self.buckets = vec![Vec::new(); self.columns.len()];
        Ok(())
    }

    /// A row of the histogram or of the summary; false for what stands behind them.
    fn line(&mut self, line: usize, words: &'a str) -> Result<bool, Refusal> {
        if !self.is_named {
            return Err(Refusal::line(
                line,
                "a row before the line that names the columns, which --no-index leaves out",
            ));
        }
        if let Some((name, values)) = words.split_once(':')
            && SUMMARY.contains(&name)
        {
            let mut values: Vec<&str> = values.split_whitespace().take(COLUMNS_MAX + 1).collect();
            if self.columns.is_empty() && values == ["0"] {
                values.clear();
            }
            self.is_honest(line, name, &values)?;
            self.fits(line, values.len())?;
            if self.summary.iter().any(|(other, ..)| *other == name) {
                return Err(Refusal::line(line, format!("{name}: stood there already")));
            }
            self.summary.push((name, line, values));
            self.end = line;
            return Ok(true);
        }
        if self.has_over() && self.summary.len() == 1 {
            // Without a summary, all CPUs together or an analysis follow.
            return Ok(false);
        }
        let mut row = words.split_whitespace().take(COLUMNS_MAX + 2);
        let value: u64 = number(line, row.next().unwrap_or(""), "the index of a row")?;
        let counts: Result<Vec<u64>, Refusal> =
            row.map(|word| number(line, word, "a count")).collect();
        let counts = counts?;
        self.fits(line, counts.len())?;
        if self.last.is_some_and(|last| last >= value) {
            return Err(Refusal::line(line, "the rows do not ascend"));
        }
        self.last = Some(value);
        self.divisor = common_divisor(self.divisor, value);
        for (column, count) in self.buckets.iter_mut().zip(counts) {
            if count > 0 {
                column.push((value, count));
            }
        }
        Ok(true)
    }

    fn has_over(&self) -> bool {
        self.summary.iter().any(|(name, ..)| *name == "over")
    }

    /// osnoise has a column for CPUs with values only, and prints zeros where none of them is
    /// within the histogram.
    fn is_honest(&self, line: usize, name: &str, values: &[&str]) -> Result<(), Refusal> {
        let is_empty = self.last.is_none() && self.tool == "osnoise" && !self.columns.is_empty();
        match is_empty && name == "over" && values == ["0"] {
            true => Err(Refusal::line(
                line,
                "all values lie beyond the histogram, and rtla prints zeros then; measure again \
                 with more or larger buckets (-E, -b)",
            )),
            false => Ok(()),
        }
    }

    fn fits(&self, line: usize, found: usize) -> Result<(), Refusal> {
        if found == self.columns.len() {
            return Ok(());
        }
        let reason = format!("{found} values for {} columns", self.columns.len());
        Err(Refusal::line(line, reason))
    }

    /// A value of the summary, with its line; none where rtla wrote `-`.
    fn summed(&self, name: &str, at: usize, end: usize) -> Result<(usize, Option<f64>), Refusal> {
        let found = self.summary.iter().find(|(other, ..)| *other == name);
        let Some((_, line, words)) = found else {
            if name != "over" && self.summary.len() == 1 && self.has_over() {
                return Ok((self.end, None));
            }
            let reason = format!("no line \"{name}:\" up to here; is the file cut off?");
            return Err(Refusal::line(end, reason));
        };
        let value = match words[at] {
            "-" => None,
            word => Some(number::<f64>(*line, word, name)?),
        };
        let whole = value.is_none_or(|value| {
            name == "avg" || (value.fract() == 0.0 && (0.0..1e18).contains(&value))
        });
        if !whole {
            return Err(Refusal::line(
                *line,
                format!("{name}: holds no whole number"),
            ));
        }
        Ok((*line, value))
    }

    /// timerlat cuts averages down to a whole unit, osnoise rounds them.
    fn average(&self, at: usize, end: usize) -> Result<Option<(f64, f64)>, Refusal> {
        let (_, mean) = self.summed("avg", at, end)?;
        Ok(mean.map(|mean| match mean {
            whole if whole.fract() == 0.0 => cut_down(whole as u64),
            mean => rounded(mean),
        }))
    }

    /// One tally a column.
    fn tallies(&self, end: usize) -> Result<Vec<(Column, Tally)>, Refusal> {
        if self.columns.is_empty() && !self.has_over() {
            let reason = "no line \"over:\" up to here; is the file cut off?";
            return Err(Refusal::line(end, reason));
        }
        let mut tallies = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let whole = |name| {
                let (line, value) = self.summed(name, at, end)?;
                Ok::<_, Refusal>((line, value.map(|value| value as u64)))
            };
            let mut tally = Tally {
                buckets: self.buckets[at].clone(),
                width: self.divisor.max(1),
                overflows: whole("over")?.1.unwrap_or(0),
                ..Tally::new(self.unit)
            };
            let found = tally
                .counted()
                .and_then(|counted| counted.checked_add(tally.overflows));
            let (line, count) = whole("count")?;
            // Of no value, older versions print the start of the search as the minimum.
            if found != Some(0) {
                tally.min = whole("min")?.1;
                tally.mean = self.average(at, end)?;
                tally.max = whole("max")?.1;
            }
            if self.summary.len() > 1 && found != Some(count.unwrap_or(0)) {
                let reason = format!(
                    "the count of {} of CPU {} is not the sum of its rows",
                    column.series, column.cpu
                );
                return Err(Refusal::line(line, reason));
            }
            tallies.push((*column, tally));
        }
        Ok(tallies)
    }
}

fn common_divisor(one: u64, two: u64) -> u64 {
    if two == 0 {
        one
    } else {
        common_divisor(two, one % two)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;

    const FILE: &str = "\
# RTLA timerlat histogram
# Time unit is microseconds (us)
# Duration:   1 00:10:01
Index   IRQ-001   Thr-001   Usr-001
0           900         0         0
1            99       990         0
12            0         9         0
over:         1         1         0
count:     1000      1000         0
min:          0         1         -
avg:          0         1         -
max:        300       310         -
ALL:        IRQ       Thr       Usr
count:     1000      1000         0
  Saving trace to timerlat_trace.txt
";

    fn read(content: &str) -> Result<Document, Refusal> {
        Rtla.read(content.as_bytes(), None)
    }

    fn refused(from: &str, to: &str) -> (usize, String) {
        refused_at(&Rtla, FILE, from, to)
    }

    #[test]
    fn the_file_is_understood() {
        let document = read(FILE).unwrap();
        assert_eq!(document.tool, "rtla timerlat");
        assert_eq!(document.seconds, Some(87_001.0));
        let names: Vec<&str> = document
            .series
            .iter()
            .map(|series| series.name.as_str())
            .collect();
        assert_eq!(names, ["timer_to_irq", "timer_to_thread", "timer_to_user"]);
        let moments = document.series[1].distribution.moments().unwrap();
        assert_eq!(
            (moments.count, moments.min, moments.max),
            (1000, 1000, 310_000)
        );
        assert_eq!(document.series[2].distribution.count(), 0);
        assert_eq!(document.series[0].cpu, Some(1));
        assert_eq!(document.audit.len(), 2);
    }

    #[test]
    fn osnoise_is_noise_and_may_be_in_nanoseconds() {
        let content = "# RTLA osnoise histogram\n# Time unit is nanoseconds (ns)\n\
            # Duration:   0 00:00:05\nIndex   CPU-000\n100 3\n300 1\nover: 0\ncount: 4\nmin: 110\n\
            avg: 160.50\nmax: 320\n";
        let document = read(content).unwrap();
        let series = &document.series[0];
        assert_eq!(
            (series.name.as_str(), series.kind),
            ("osnoise", Kind::Noise)
        );
        let moments = series.distribution.moments().unwrap();
        assert_eq!((moments.min, moments.max), (110, 320));
        assert!((moments.mean - 160.5).abs() < 0.01);
        assert!(document.audit.is_empty(), "{:?}", document.audit);
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        assert_eq!(refused("microseconds (us)", "weeks").0, 2);
        assert_eq!(refused("00:10:01", "00:10").0, 3);
        assert_eq!(refused("Usr-001", "Abc-001").0, 4);
        assert_eq!(refused("900", "-900").0, 5);
        assert_eq!(refused("900", "900 1").0, 5);
        assert_eq!(refused("12 ", "1 ").0, 7);
        assert_eq!(refused("1000", "1001").0, 9);
        assert_eq!(refused("min:          0", "min:          5").0, 12);
        assert_eq!(refused("max:        300", "max:        0.5").0, 12);
        assert!(
            refused("Index   IRQ-001   Thr-001   Usr-001\n", "")
                .1
                .contains("before")
        );
        let cut = &FILE[..FILE.find("max:").unwrap()];
        assert!(read(cut).unwrap_err().reason.contains("\"max:\""));
        assert_eq!(refused("over:         1 ", "over:         x ").0, 8);
        let twice = FILE.replace("12            0", "Index   IRQ-001\n12            0");
        assert!(read(&twice).unwrap_err().reason.contains("two runs"));
    }

    #[test]
    fn nothing_above_the_threshold_is_a_result() {
        let head = "# RTLA osnoise histogram\n# Time unit is microseconds (us)\n\
            # Duration:   0 00:00:05\nIndex\n";
        for summary in [
            "over:\ncount:\nmin:\navg:\nmax:\n",
            "over: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n",
            "over: \n",
        ] {
            let document = read(&format!("{head}{summary}")).unwrap();
            assert_eq!(document.seconds, Some(5.0));
            let series = &document.series[0];
            assert_eq!(
                (series.name.as_str(), series.distribution.count()),
                ("osnoise", 0)
            );
        }
        assert!(read(head).unwrap_err().reason.contains("cut off"));
        // The same zeros below a column: rtla prints them where every value is beyond.
        for columns in ["Index   CPU-001\n", "Index   CPU-001   CPU-003\n"] {
            let zeros = "over: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n";
            let beyond = read(&format!("{}{zeros}", head.replace("Index\n", columns)));
            assert!(beyond.unwrap_err().reason.contains("beyond the histogram"));
        }
    }

    #[test]
    fn a_histogram_without_a_summary_is_whole() {
        let (rows, rest) = FILE.split_once("count:").unwrap();
        let (_, all) = rest.split_once("ALL:").unwrap();
        let rows = rows.replace("over:         1         1", "over:         0         0");
        for content in [rows.clone(), format!("{rows}ALL:{all}")] {
            let document = read(&content).unwrap();
            let moments = document.series[1].distribution.moments().unwrap();
            assert_eq!((moments.count, moments.max), (999, 12_000));
        }
        // Some lie beyond, and nothing says how far.
        let over = rows.replace("over:         0", "over:         1");
        assert!(read(&over).unwrap_err().reason.contains("how far"));
    }

    #[test]
    fn a_column_without_a_value_has_no_minimum() {
        let older = FILE.replace(
            "min:          0         1         -",
            "min:          0         1 18446744073709551615",
        );
        let older = older.replace(
            "max:        300       310         -",
            "max:        300       310         0",
        );
        assert_eq!(read(&older).unwrap().series[2].distribution.count(), 0);
    }
}
