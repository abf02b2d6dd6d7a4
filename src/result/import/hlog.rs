// SPDX-License-Identifier: GPL-2.0-only
//! HdrHistogram's interval log, version 1.1 to 1.3: one compressed histogram a line.
//!
//! A line is `[Tag=NAME,]START,LENGTH,MAX,HISTOGRAM`, times in seconds. Lines of one tag are one
//! series, merged. The tags that artis writes ([`crate::export`]) hold what a series is;
//! any other tag becomes its name, and the values count as latencies in nanoseconds, which is
//! what such logs hold by custom. `MAX` is in milliseconds by custom, too; where that fits the
//! histogram's last bucket it is the exact maximum, otherwise the last bucket is.

use super::tally::Budget;
use super::text::{self, lines, number};
use super::{Importer, Refusal, TimeUnit, document};
use crate::histogram::decode;
use crate::tag::{Part, Tag};
use crate::{Distribution, Document, Series};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

pub struct Hlog;

const NS_PER_MS: f64 = 1e6;

impl Importer for Hlog {
    fn name(&self) -> &'static str {
        "hlog"
    }

    fn recognises(&self, head: &str) -> bool {
        head.contains("#[Histogram log format version")
            || head.contains("\"StartTimestamp\",\"Interval_Length\"")
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let mut log = Log::default();
        for (number, line) in lines(content) {
            if let Some(comment) = line.strip_prefix('#') {
                log.comment(number, comment)?;
            } else if !line.is_empty() && !line.starts_with('"') {
                log.interval(number, line)?;
            }
        }
        let mut series = Vec::new();
        for (tag, gathered) in log.series {
            let line = gathered.line;
            let values = gathered
                .distribution()
                .map_err(|reason| Refusal::line(line, reason))?;
            series.push(Series {
                cpu: tag.cpu,
                thread: tag.thread,
                ..Series::new(&tag.name, tag.kind, tag.unit, values)
            });
        }
        if series.is_empty() {
            let reason = "no interval, so there is nothing to import";
            return Err(Refusal::line(text::last_line(content), reason));
        }
        let mut document = document("hlog".to_owned(), series, Vec::new());
        document.started = log.started;
        document.seconds = log.times_s.map(|(first, last)| last - first);
        Ok(document)
    }
}

/// What the lines so far hold.
#[derive(Default)]
struct Log {
    started: Option<String>,
    series: BTreeMap<Tag, Gathered>,
    /// Start of the first interval and end of the last.
    times_s: Option<(f64, f64)>,
    budget: Budget,
}

impl Log {
    /// `[StartTime: 1795288204.500 (seconds since epoch), ...]`
    fn comment(&mut self, line: usize, comment: &str) -> Result<(), Refusal> {
        let Some(words) = comment.strip_prefix("[StartTime: ") else {
            return Ok(());
        };
        let seconds = words.split([' ', ']']).next().unwrap_or("");
        let seconds: f64 = number(line, seconds, "StartTime")?;
        self.started = Duration::try_from_secs_f64(seconds)
            .ok()
            // humantime knows no year 10000.
            .filter(|_| seconds < 253_402_300_800.0)
            .and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since))
            .map(|time| humantime::format_rfc3339_millis(time).to_string());
        Ok(())
    }

    fn interval(&mut self, line: usize, words: &str) -> Result<(), Refusal> {
        let (tag, rest) = match words.strip_prefix("Tag=") {
            Some(tagged) => tagged
                .split_once(',')
                .ok_or_else(|| Refusal::line(line, "a tag and nothing behind it"))?,
            None => ("latency", words),
        };
        let fields: Vec<&str> = rest.split(',').collect();
        let [start, length, max, histogram] = fields[..] else {
            let reason = format!("{} fields instead of 4; is the line cut off?", fields.len());
            return Err(Refusal::line(line, reason));
        };
        let start: f64 = number(line, start, "the start")?;
        let length: f64 = number(line, length, "the length")?;
        let max_ms: f64 = number(line, max, "the maximum")?;
        if ![start, length, max_ms]
            .iter()
            .all(|value| value.is_finite())
        {
            return Err(Refusal::line(line, "a time is infinite"));
        }
        let (first, last) = self.times_s.get_or_insert((start, start + length));
        (*first, *last) = (first.min(start), last.max(start + length));
        let histogram = decode(histogram).map_err(|reason| Refusal::line(line, reason))?;
        let (tag, part) = Tag::read(tag);
        let gathered = self.series.entry(tag).or_default();
        gathered.line = line;
        gathered
            .add(part, histogram, max_ms, &mut self.budget)
            .map_err(|reason| Refusal::line(line, reason))
    }
}

/// The intervals of one series.
#[derive(Default)]
struct Gathered {
    line: usize,
    positive: Option<Distribution>,
    /// Magnitudes.
    negative: Option<Distribution>,
}

impl Gathered {
    fn add(
        &mut self,
        part: Part,
        histogram: Histogram<u64>,
        max_ms: f64,
        budget: &mut Budget,
    ) -> Result<(), String> {
        let written = (max_ms * NS_PER_MS).round() as u64;
        let max = if histogram.equivalent(written, histogram.max()) {
            written
        } else {
            histogram.max()
        };
        let max = (!histogram.is_empty()).then(|| i64::try_from(max).unwrap_or(i64::MAX));
        let values = Distribution::from_histograms(histogram, None, max)
            .map_err(|error| error.to_string())?;
        budget.take(&values)?;
        let place = match part {
            Part::Positive => &mut self.positive,
            Part::Negative => &mut self.negative,
        };
        match place {
            Some(all) => all.try_merge(&values).map_err(|error| error.to_string()),
            None => {
                *place = Some(values);
                Ok(())
            }
        }
    }

    fn distribution(self) -> Result<Distribution, String> {
        let Some(negative) = self.negative else {
            return Ok(self.positive.unwrap_or_default());
        };
        let positive = self.positive.unwrap_or_default();
        // Where nothing is above zero, the maximum is the smallest magnitude.
        let max = positive.moments().map(|moments| moments.max);
        let (positive, _) = positive.into_histograms();
        let (magnitudes, _) = negative.into_histograms();
        Distribution::from_histograms(positive, Some(magnitudes), max)
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::encode;
    use crate::import::Place;

    fn log(lines: &[String]) -> String {
        format!(
            "#[Histogram log format version 1.3]\n#[StartTime: 1795288204.500 (seconds since epoch)]\n{}\n",
            lines.join("\n")
        )
    }

    fn histogram(values: &[u64]) -> String {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1_000_000, 3).unwrap();
        for value in values {
            histogram.record(*value).unwrap();
        }
        encode(&histogram).unwrap()
    }

    #[test]
    fn intervals_of_one_tag_are_one_series() {
        let content = log(&[
            format!("Tag=a,0.0,1.0,0.000007,{}", histogram(&[5, 7])),
            format!("Tag=b,0.0,1.0,0.000001,{}", histogram(&[1])),
            format!("Tag=a,1.0,1.5,0.000009,{}", histogram(&[9])),
        ]);
        let document = Hlog.read(content.as_bytes(), None).unwrap();
        assert_eq!(
            document.started.as_deref(),
            Some("2026-11-21T19:10:04.500Z")
        );
        assert_eq!(document.seconds, Some(2.5));
        assert_eq!(document.series.len(), 2);
        let moments = document.series[0].distribution.moments().unwrap();
        assert_eq!(
            (moments.count, moments.min, moments.max, moments.mean),
            (3, 5, 9, 7.0)
        );
    }

    #[test]
    fn the_exact_maximum_is_kept() {
        let content = log(&[format!("0.0,1.0,0.123457,{}", histogram(&[123_457]))]);
        let document = Hlog.read(content.as_bytes(), None).unwrap();
        assert_eq!(
            document.series[0].distribution.moments().unwrap().max,
            123_457
        );
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let place = |line: &str| {
            let content = log(&[line.to_owned()]);
            Hlog.read(content.as_bytes(), None).unwrap_err().place
        };
        for line in [
            "Tag=a",
            "1,2,3",
            "x,1.0,1.0,AAAA",
            "1.0,1.0,1.0,AAAA",
            "1.0,inf,1.0,AAAA",
        ] {
            assert_eq!(place(line), Place::Line(3), "{line}");
        }
        assert!(
            Hlog.read(b"#[Histogram log format version 1.3]\n", None)
                .is_err()
        );
    }
}
