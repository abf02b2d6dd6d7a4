// SPDX-License-Identifier: GPL-2.0-only
//! cyclictest's `--json`: one object a thread with a map from latency to count.
//!
//! The unit is in `resolution_in_ns`: 0 is microseconds, 1 (`-N`) nanoseconds. Some keys
//! have two spellings: rt-tests up to 2.x write `"cmdline:"` and `"rt_test_version:"`, with the
//! colon inside the quotes. Overflows are not counted in the file; they are what `cycles` has
//! more than the histogram. Without `-h` the histogram is empty, and only count, minimum, mean
//! and maximum are known.

use super::json::{self, Entries};
use super::tally::{Budget, Tally, rounded};
use super::{Importer, Refusal, TimeUnit, cyclictest_summary, date, document, text, threads};
use crate::histogram::VALUE_MAX;
use crate::{Distribution, Document, Machine};
use serde::Deserialize;
use serde_json::value::RawValue;

pub struct CyclictestJson;

#[derive(Deserialize)]
struct File<'a> {
    file_version: Option<u64>,
    #[serde(alias = "cmdline:")]
    cmdline: Option<String>,
    #[serde(alias = "rt_test_version:")]
    rt_test_version: Option<String>,
    start_time: Option<String>,
    end_time: Option<String>,
    return_code: Option<i64>,
    sysinfo: Option<Sysinfo>,
    num_threads: Option<usize>,
    resolution_in_ns: Option<u64>,
    #[serde(borrow)]
    thread: Entries<u32, &'a RawValue>,
}

#[derive(Deserialize)]
struct Sysinfo {
    release: String,
    #[serde(default)]
    version: String,
    realtime: Option<i64>,
}

#[derive(Deserialize)]
struct Thread {
    histogram: Entries<u64, u64>,
    cycles: u64,
    min: u64,
    max: u64,
    avg: f64,
    /// -1 where the thread was not bound.
    cpu: Option<i64>,
}

impl Importer for CyclictestJson {
    fn name(&self) -> &'static str {
        "cyclictest-json"
    }

    fn recognises(&self, head: &str) -> bool {
        head.trim_start().starts_with('{')
            && (head.contains("\"rt_test_version") || head.contains("\"thread\""))
            && !head.contains("\"schema\"")
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let file: File = json::file(content)?;
        if let Some(version) = file.file_version.filter(|version| *version != 1) {
            let reason = format!("file_version is {version}, and artis knows 1");
            return Err(Refusal::line(1, reason));
        }
        let unit = match file.resolution_in_ns {
            None | Some(0) => TimeUnit::Microseconds,
            Some(1) => TimeUnit::Nanoseconds,
            Some(other) => {
                let reason = format!("resolution_in_ns is {other}; cyclictest writes 0 or 1");
                return Err(Refusal::line(1, reason));
            }
        };
        let threads = file.thread.0.len();
        if let Some(said) = file.num_threads.filter(|said| *said != threads) {
            let reason = format!("num_threads is {said}, but there are {threads}");
            return Err(Refusal::line(text::last_line(content), reason));
        }
        let mut document = document("cyclictest".to_owned(), Vec::new(), Vec::new());
        let mut budget = Budget::default();
        for (number, raw) in file.thread.0 {
            let (line, thread): (usize, Thread) = json::part(content, raw)?;
            let refused = |reason| Refusal::line(line, format!("thread {number}: {reason}"));
            let cpu = thread.cpu.and_then(|cpu| u32::try_from(cpu).ok());
            if thread.histogram.0.iter().all(|(_, count)| *count == 0) {
                let values = summary(&thread, unit).map_err(refused)?;
                threads::add(&mut document, number, cpu, values);
                continue;
            }
            let tally = tally(thread, unit).map_err(refused)?;
            threads::add_tally(&mut document, number, cpu, &tally, &mut budget)
                .map_err(|reason| Refusal::line(line, reason))?;
        }
        if document
            .series
            .iter()
            .any(|one| one.distribution.is_summary())
        {
            document.audit.push(cyclictest_summary::no_histogram());
        }
        if let Some(version) = file.rt_test_version {
            document.tool = format!("cyclictest {version}");
        }
        let words = file.cmdline.unwrap_or_default();
        document.setup.command = words.split_whitespace().map(str::to_owned).collect();
        document.started = file.start_time.as_deref().and_then(date::rfc3339);
        document.seconds = file
            .start_time
            .zip(file.end_time)
            .and_then(|(start, end)| date::seconds_between(&start, &end));
        document.ended_early = file
            .return_code
            .filter(|code| *code != 0)
            .map(|code| format!("cyclictest returned {code}"));
        document.machine = file.sysinfo.map(machine);
        Ok(document)
    }
}

/// What is known of a thread without a histogram.
fn summary(thread: &Thread, unit: TimeUnit) -> Result<Distribution, String> {
    let ns = |value: u64| {
        let ns = value.checked_mul(unit.ns()).filter(|ns| *ns <= VALUE_MAX);
        ns.and_then(|ns| i64::try_from(ns).ok())
            .ok_or_else(|| format!("a latency of {value} is out of range"))
    };
    if thread.cycles == 0 {
        return Ok(Distribution::new());
    }
    let mean = thread.avg * unit.ns() as f64;
    Distribution::summary(thread.cycles, ns(thread.min)?, mean, ns(thread.max)?)
        .map_err(|error| error.to_string())
}

fn tally(thread: Thread, unit: TimeUnit) -> Result<Tally, String> {
    let mut tally = Tally {
        buckets: thread.histogram.0,
        min: Some(thread.min),
        mean: Some(rounded(thread.avg)),
        max: Some(thread.max),
        ..Tally::new(unit)
    };
    tally.buckets.retain(|(_, count)| *count > 0);
    let counted = tally.counted().unwrap_or(u64::MAX);
    tally.overflows = thread
        .cycles
        .checked_sub(counted)
        .ok_or_else(|| format!("cycles is {}, but the histogram counts more", thread.cycles))?;
    Ok(tally)
}

/// The machine, as far as `uname` says.
fn machine(sysinfo: Sysinfo) -> Machine {
    let realtime = sysinfo.realtime == Some(1) || sysinfo.version.contains("PREEMPT_RT");
    Machine {
        preemption: if realtime { "PREEMPT_RT" } else { "" }.to_owned(),
        ..Machine::of_kernel(sysinfo.release)
    }
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
