// SPDX-License-Identifier: GPL-2.0-only
//! The tables of `rtla osnoise top` and `rtla hwnoise`: a line for each CPU, printed again and
//! again without `-q`; the last one counts.
//!
//! A line has the number of periods, how long was measured, the noise in all, the part of the time
//! that was left, the most noise in a period, the longest single one, and how often hardware and
//! NMIs interrupted; osnoise also interrupts, soft interrupts and threads. Times are microseconds.
//! Nothing is known of a single period, so each figure is a series with this one value.

use super::rtla_frame::{self, Frame};
use super::text::{self, lines, number};
use super::{Importer, Refusal, TimeUnit, document};
use crate::histogram::VALUE_MAX;
use crate::{Distribution, Document, Kind, Series, Unit, Warning};

pub struct RtlaNoise;

const NS_PER_US: u64 = 1000;
/// What the columns count, in their order.
const COUNTS: [&str; 5] = ["hw", "nmi", "irq", "softirq", "thread"];
/// hwnoise has these of them.
const HARDWARE: usize = 2;

impl Importer for RtlaNoise {
    fn name(&self) -> &'static str {
        "rtla-noise-top"
    }

    fn recognises(&self, head: &str) -> bool {
        head.lines().any(is_header)
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["CPU Period"]
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let frame = last_frame(content)?;
        let Some(first) = frame.rows.first() else {
            let reason = "no line of a CPU below \"CPU Period\"; is the file cut off?";
            return Err(Refusal::line(text::last_line(content), reason));
        };
        let tool = match first.counts.len() {
            HARDWARE => "hwnoise",
            _ => "osnoise",
        };
        let mut document = document(format!("rtla {tool}"), Vec::new(), vec![single()]);
        document.seconds = frame.seconds;
        for row in &frame.rows {
            if row.counts.len() != first.counts.len() {
                return Err(Refusal::line(
                    row.line,
                    "more or fewer columns than the line before",
                ));
            }
            document.series.extend(row.series(tool)?);
        }
        Ok(document)
    }
}

fn single() -> Warning {
    Warning {
        id: "no_histogram".to_owned(),
        seen: "sums, maxima and counts of the whole run are known, each as one value".to_owned(),
        why: "there is no percentile and no mean of a period to compare".to_owned(),
        fix: Some("run rtla osnoise hist".to_owned()),
    }
}

fn is_header(line: &str) -> bool {
    line.starts_with("CPU Period ") && line.contains("Max Noise")
}

fn last_frame(content: &str) -> Result<Frame<Row>, Refusal> {
    let mut frame = Frame::default();
    let mut is_within = false;
    for (line, text) in lines(content) {
        if let Some((duration, _)) = text
            .strip_prefix("duration:")
            .and_then(|rest| rest.split_once("| time is in us"))
        {
            frame.begin(line, rtla_frame::duration(line, duration)?)?;
            is_within = false;
        } else if is_header(text) {
            is_within = true;
        } else if is_within {
            match Row::read(line, text)? {
                Some(row) => frame.push(line, row)?,
                None => is_within = false,
            }
        }
    }
    frame.end(content)
}

struct Row {
    line: usize,
    cpu: u32,
    runtime_us: u64,
    noise_us: u64,
    period_max_us: u64,
    single_max_us: u64,
    counts: Vec<u64>,
}

impl Row {
    /// `  3 #4  3000000  71  99.99763  31  31  5  1`; none for another line.
    fn read(line: usize, text: &str) -> Result<Option<Self>, Refusal> {
        let Some((cpu, rest)) = text.split_once('#') else {
            return Ok(None);
        };
        let Ok(cpu) = cpu.trim().parse() else {
            return Ok(None);
        };
        let words: Vec<&str> = rest.split_whitespace().take(12).collect();
        let [
            _,
            runtime,
            noise,
            available,
            period_max,
            single_max,
            counts @ ..,
        ] = &words[..]
        else {
            return Err(Refusal::line(line, "too few columns; is the line cut off?"));
        };
        if ![HARDWARE, COUNTS.len()].contains(&counts.len()) {
            let reason = format!("{} columns; is the line cut off?", words.len());
            return Err(Refusal::line(line, reason));
        }
        let value = |word: &str, what| number::<u64>(line, word, what);
        let counts: Result<Vec<u64>, Refusal> =
            counts.iter().map(|word| value(word, "a count")).collect();
        let row = Self {
            line,
            cpu,
            runtime_us: value(runtime, "the runtime")?,
            noise_us: value(noise, "the noise")?,
            period_max_us: value(period_max, "the maximum")?,
            single_max_us: value(single_max, "the longest")?,
            counts: counts?,
        };
        row.check(number(line, available, "what is available")?)?;
        Ok(Some(row))
    }

    fn check(&self, available: f64) -> Result<(), Refusal> {
        let refused = |reason: &str| Err(Refusal::line(self.line, reason));
        if self.runtime_us == 0 || self.runtime_us > VALUE_MAX / NS_PER_US {
            return refused("the runtime is out of range");
        }
        if self.noise_us > self.runtime_us || self.period_max_us > self.noise_us {
            return refused("there is more noise than there can be");
        }
        if self.single_max_us > self.period_max_us {
            return refused("the longest noise is longer than all of a period");
        }
        let left = 100.0 - self.noise_us as f64 * 100.0 / self.runtime_us as f64;
        // It was cut down to five decimals.
        match (left - available).abs() <= 1.1e-5 {
            true => Ok(()),
            false => refused("what is available is not what the noise leaves of the runtime"),
        }
    }

    /// Each figure as a series of one value.
    fn series(&self, tool: &str) -> Result<Vec<Series>, Refusal> {
        let one = |name: String, kind, unit, value: u64| {
            let mut values = Distribution::new();
            values.record(i64::try_from(value).unwrap_or(i64::MAX));
            Series {
                cpu: Some(self.cpu),
                ..Series::new(&name, kind, unit, values)
            }
        };
        let times = [
            (format!("{tool}_total"), Kind::Noise, self.noise_us),
            (
                format!("{tool}_of_period_max"),
                Kind::Noise,
                self.period_max_us,
            ),
            (
                format!("{tool}_single_max"),
                Kind::Noise,
                self.single_max_us,
            ),
            ("runtime".to_owned(), Kind::Duration, self.runtime_us),
        ];
        let times = times.into_iter().map(|(name, kind, us)| {
            one(name, kind, Unit::Nanoseconds, us.saturating_mul(NS_PER_US))
        });
        if self.counts.iter().any(|count| *count > VALUE_MAX) {
            return Err(Refusal::line(self.line, "a count is out of range"));
        }
        let counts = COUNTS
            .iter()
            .zip(&self.counts)
            .map(|(name, count)| one(format!("{name}_count"), Kind::Count, Unit::Count, *count));
        Ok(times.chain(counts).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;

    const FILE: &str = "\
                                          Hardware-related Noise
duration:   0 00:00:02 | time is in us
CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI
  3 #2           1500000           40    99.99733          31           31           3            1
                                          Hardware-related Noise
duration:   0 00:00:04 | time is in us
CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI
  2 #4           3000000            5    99.99983           2            2           4            0
  3 #4           3000000           71    99.99763          31           30           5            1
";

    fn read(content: &str) -> (String, Vec<(String, u32, i64)>) {
        assert!(RtlaNoise.recognises(content));
        let document = RtlaNoise.read(content.as_bytes(), None).unwrap();
        let all = document.series.iter().map(|one| {
            let moments = one.distribution.moments().unwrap();
            assert_eq!((moments.count, moments.min), (1, moments.max));
            (one.name.clone(), one.cpu.unwrap(), moments.max)
        });
        (document.tool.clone(), all.collect())
    }

    #[test]
    fn the_last_table_counts() {
        let (tool, all) = read(FILE);
        assert_eq!(tool, "rtla hwnoise");
        let of_3: Vec<(&str, i64)> = all
            .iter()
            .filter(|(_, cpu, _)| *cpu == 3)
            .map(|(name, _, value)| (name.as_str(), *value))
            .collect();
        assert_eq!(
            of_3,
            [
                ("hwnoise_total", 71_000),
                ("hwnoise_of_period_max", 31_000),
                ("hwnoise_single_max", 30_000),
                ("runtime", 3_000_000_000),
                ("hw_count", 5),
                ("nmi_count", 1)
            ]
        );
        assert_eq!(all.len(), 12);
    }

    #[test]
    fn osnoise_has_more_counts() {
        let more = FILE
            .replace(
                "          NMI\n",
                "          NMI          IRQ      Softirq       Thread\n",
            )
            .replace(
                "            1\n",
                "            1          100           20            7\n",
            )
            .replace(
                "            0\n",
                "            0            0            0            0\n",
            );
        let (tool, all) = read(&more);
        assert_eq!(tool, "rtla osnoise");
        assert!(all.contains(&("thread_count".to_owned(), 3, 7)), "{all:?}");
        assert!(
            all.contains(&("osnoise_total".to_owned(), 3, 71_000)),
            "{all:?}"
        );
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |from, to| refused_at(&RtlaNoise, FILE, from, to);
        assert_eq!(refused("00:00:04", "00:04").0, 6);
        assert_eq!(refused("           71 ", "           7x ").0, 9);
        assert_eq!(refused("           71 ", "           72 ").0, 9);
        assert_eq!(refused("           30 ", "           32 ").0, 9);
        assert_eq!(
            refused("           5            1\n", "           5\n").0,
            9
        );
        assert!(refused("  3 #4           3000000           71    99.99763          31           30           5            1\n", "  3 #").1.contains("cut off"));
    }
}
