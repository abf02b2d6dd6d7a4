// SPDX-License-Identifier: GPL-2.0-only
//! cyclictest's `--json`, and those of cyclicdeadline and signaltest: one object a thread, with a
//! map from latency to count.
//!
//! The unit is in `resolution_in_ns`: 0 is microseconds, 1 (`-N`) nanoseconds. Overflows are not
//! counted in the file; they are what `cycles` has more than the histogram, and begin where `-h`
//! says. Without `-h` the histogram is empty or absent, and only count, minimum, mean and
//! maximum are known. A thread that never ran has no cycle. The head: [`super::rt_tests`].

use super::json::{self, Entries};
use super::rt_tests::{self, ANCHORS, Figures, File, Whole};
use super::tally::{Budget, Tally, rounded};
use super::{Importer, Refusal, TimeUnit, cyclictest_summary, text, threads};
use crate::Document;
use serde::Deserialize;

pub struct CyclictestJson;

#[derive(Deserialize)]
struct Thread {
    histogram: Option<Entries<u64, u64>>,
    cycles: Whole,
    min: Option<Whole>,
    max: Option<Whole>,
    avg: Option<f64>,
    /// -1 where the thread was not bound.
    cpu: Option<i64>,
}

impl Importer for CyclictestJson {
    fn name(&self) -> &'static str {
        "cyclictest-json"
    }

    fn recognises(&self, head: &str) -> bool {
        rt_tests::begins(head)
    }

    fn anchors(&self) -> &'static [&'static str] {
        &ANCHORS
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = &rt_tests::without_nan(text::text(content)?);
        let file: File = json::file(content)?;
        let sisters = ["cyclicdeadline", "signaltest"];
        let program = rt_tests::program(content).filter(|name| sisters.contains(name));
        let program = program.unwrap_or("cyclictest");
        let unit = match file.resolution_in_ns {
            None | Some(0) => TimeUnit::Microseconds,
            Some(1) => TimeUnit::Nanoseconds,
            Some(other) => {
                let reason = format!("resolution_in_ns is {other}; cyclictest writes 0 or 1");
                return Err(Refusal::line(1, reason));
            }
        };
        let name = match program {
            "signaltest" => "signal_latency",
            _ => "latency",
        };
        let mut document = file.document(program);
        let end = histogram_end(&document.setup.command);
        let mut budget = Budget::default();
        for (number, raw) in file.threads(content)? {
            let (line, thread): (usize, Thread) = json::part(content, raw)?;
            let refused = |reason| Refusal::line(line, format!("thread {number}: {reason}"));
            let cpu = thread.cpu.and_then(|cpu| u32::try_from(cpu).ok());
            let figures = thread.figures().map_err(refused)?;
            let buckets = thread.buckets();
            if buckets.is_empty() {
                let values = figures.summary(unit.ns()).map_err(refused)?;
                threads::add(&mut document, name, *number, cpu, values);
                continue;
            }
            let tally = tally(buckets, &figures, unit, end).map_err(refused)?;
            threads::add_tally(&mut document, name, *number, cpu, &tally, &mut budget)
                .map_err(|reason| Refusal::line(line, reason))?;
        }
        let mut all = document.series.iter();
        if all.any(|one| one.distribution.is_summary()) {
            let found = cyclictest_summary::no_histogram(program);
            document.audit.push(found);
        }
        Ok(document)
    }
}

impl Thread {
    fn figures(&self) -> Result<Figures, String> {
        let count = self.cycles.count("cycles")?;
        let (min, max) = match (self.min, self.max) {
            (Some(min), Some(max)) => (min, max),
            _ if count == 0 => (Whole(0), Whole(0)),
            _ => return Err("min or max is no number".to_owned()),
        };
        Ok(Figures {
            count,
            min,
            avg: self.avg,
            max,
        })
    }

    /// What the histogram counts.
    fn buckets(&self) -> Vec<(u64, u64)> {
        let all = self.histogram.iter().flat_map(|histogram| &histogram.0);
        all.filter(|(_, count)| *count > 0).copied().collect()
    }
}

/// Where the histogram of a command ends: `-h 60`, `-h60`, `--histogram=60`.
fn histogram_end(command: &[String]) -> Option<u64> {
    let options = [
        "-h",
        "-H",
        "--histogram=",
        "--histofall=",
        "--histogram",
        "--histofall",
    ];
    command.iter().enumerate().find_map(|(at, word)| {
        let value = options
            .iter()
            .find_map(|option| word.strip_prefix(option))?;
        let value = match value {
            "" => command.get(at + 1)?,
            value => value,
        };
        value.parse().ok()
    })
}

fn tally(
    buckets: Vec<(u64, u64)>,
    figures: &Figures,
    unit: TimeUnit,
    end: Option<u64>,
) -> Result<Tally, String> {
    let positive = |value: Whole| {
        u64::try_from(value.0).map_err(|_| format!("{} is no latency of a histogram", value.0))
    };
    let last = buckets.last().map_or(0, |(value, _)| *value);
    let mut tally = Tally {
        buckets,
        end: end.filter(|end| *end > last),
        min: Some(positive(figures.min)?),
        mean: figures.avg.map(rounded),
        max: Some(positive(figures.max)?),
        ..Tally::new(unit)
    };
    let counted = tally.counted().unwrap_or(u64::MAX);
    tally.overflows = figures
        .count
        .checked_sub(counted)
        .ok_or_else(|| format!("cycles is {}, but the histogram counts more", figures.count))?;
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;
    use crate::import::Place;

    const FILE: &str = r##"{
  "file_version": 1,
  "cmdline": "cyclictest -q -h 60",
  "rt_test_version": "2.6",
  "start_time": "Sat, 21 Nov 2026 19:10:05 +0000",
  "end_time": "Sat, 21 Nov 2026 19:10:06 +0000",
  "return_code": 0,
  "sysinfo": {"release": "6.1.0-rt", "version": "#1 SMP PREEMPT_RT", "realtime": 1},
  "num_threads": 1,
  "resolution_in_ns": 0,
  "thread": {
    "0": {
      "histogram": {"16": 1, "17": 2, "20": 1},
      "cycles": 5, "min": 16, "max": 400, "avg": 94.00, "cpu": 3, "node": 0
    }
  }
}"##;

    fn read(content: &str) -> Result<Document, Refusal> {
        CyclictestJson.read(content.as_bytes(), None)
    }

    #[test]
    fn the_file_is_understood() {
        let document = read(FILE).unwrap();
        assert_eq!(document.tool, "cyclictest 2.6");
        assert_eq!(document.seconds, Some(1.0));
        assert_eq!(document.setup.command, ["cyclictest", "-q", "-h", "60"]);
        assert_eq!(document.machine.unwrap().preemption, "PREEMPT_RT");
        let series = &document.series[0];
        assert_eq!((series.cpu, series.thread), (Some(3), Some(0)));
        let moments = series.distribution.moments().unwrap();
        assert_eq!(
            (moments.count, moments.min, moments.max),
            (5, 16_000, 400_000)
        );
        assert!((moments.mean - 94_000.0).abs() <= 5.0);
        assert!(
            document.audit[0].seen.contains("histogram: 1,"),
            "{:?}",
            document.audit
        );
    }

    #[test]
    fn both_spellings_of_the_keys_are_one() {
        let colons = FILE
            .replace("\"cmdline\"", "\"cmdline:\"")
            .replace("\"rt_test_version\"", "\"rt_test_version:\"");
        assert_eq!(read(&colons).unwrap(), read(FILE).unwrap());
    }

    #[test]
    fn without_a_histogram_the_extremes_are_known() {
        let document = read(&FILE.replace(r#"{"16": 1, "17": 2, "20": 1}"#, "{}")).unwrap();
        let values = &document.series[0].distribution;
        let moments = values.moments().unwrap();
        assert_eq!((moments.count, moments.max), (5, 400_000));
        assert_eq!((moments.mean, moments.stddev), (94_000.0, None));
        assert_eq!(document.audit[0].id, "no_histogram");
    }

    #[test]
    fn nanoseconds_stay_nanoseconds() {
        let nanoseconds = FILE.replace("_in_ns\": 0", "_in_ns\": 1");
        let document = read(&nanoseconds).unwrap();
        assert_eq!(document.series[0].distribution.moments().unwrap().min, 16);
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |from: &str, to: &str| refused_at(&CyclictestJson, FILE, from, to);
        assert_eq!(refused("\"cycles\": 5", "\"cycles\": 3").0, 12);
        assert_eq!(refused("\"cycles\": 5", "\"cycles\": x").0, 14);
        assert!(refused("\"16\": 1", "\"17\": 1").1.contains("one key"));
        assert!(
            refused("threads\": 1", "threads\": 2")
                .1
                .contains("there are 1")
        );
        assert!(
            refused("version\": 1", "version\": 7")
                .1
                .contains("artis knows 1")
        );
        let no_histogram = FILE.replace(r#"{"16": 1, "17": 2, "20": 1}"#, "{}");
        let wrong = no_histogram.replace("\"avg\": 94.00", "\"avg\": 940.00");
        let refusal = read(&wrong).unwrap_err();
        assert_eq!(refusal.place, Place::Line(12));
        assert!(refusal.reason.contains("mean"), "{}", refusal.reason);
        assert_eq!(read(&FILE[..300]).unwrap_err().place, Place::Line(9));
    }
}
