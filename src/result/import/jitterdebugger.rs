// SPDX-License-Identifier: GPL-2.0-only
//! jitterdebugger's `results.json`: one object a thread with a map from latency to count.
//!
//! `sysinfo.resolution_in_ns` is the unit; files older than version 3 have no `sysinfo` and are
//! in microseconds. Overflows are what `count` has more than the histogram. The keys below
//! `cpu` number the threads from 0 even when `-a` bound them to other CPUs, so they count
//! as threads, and the CPU is not known.

use super::json::{self, Entries};
use super::rt_tests::without_nan;
use super::tally::{Budget, Tally, rounded};
use super::{Importer, Refusal, TimeUnit, document, text, threads};
use crate::{Document, Machine};
use serde::Deserialize;
use serde_json::value::RawValue;

pub struct Jitterdebugger;

#[derive(Deserialize)]
struct File<'a> {
    sysinfo: Option<Sysinfo>,
    #[serde(borrow)]
    cpu: Entries<u32, &'a RawValue>,
}

#[derive(Deserialize)]
struct Sysinfo {
    release: Option<String>,
    #[serde(default)]
    version: String,
    resolution_in_ns: Option<u64>,
}

#[derive(Deserialize)]
struct Thread {
    histogram: Entries<u64, u64>,
    count: u64,
    min: u64,
    max: u64,
    /// None where it is no number: without a sample.
    avg: Option<f64>,
}

impl Importer for Jitterdebugger {
    fn name(&self) -> &'static str {
        "jitterdebugger"
    }

    fn recognises(&self, head: &str) -> bool {
        head.trim_start().starts_with('{')
            && head.contains("\"cpu\"")
            && head.contains("\"histogram\"")
            && !head.contains("\"schema\"")
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = &without_nan(text::text(content)?);
        let file: File = json::file(content)?;
        let resolution = file.sysinfo.as_ref().and_then(|info| info.resolution_in_ns);
        let unit = match resolution {
            None | Some(1000) => TimeUnit::Microseconds,
            Some(1) => TimeUnit::Nanoseconds,
            Some(other) => {
                let reason =
                    format!("resolution_in_ns is {other}; jitterdebugger writes 1 or 1000");
                return Err(Refusal::line(1, reason));
            }
        };
        let mut document = document("jitterdebugger".to_owned(), Vec::new(), Vec::new());
        let mut budget = Budget::default();
        for (number, raw) in file.cpu.0 {
            let (line, thread): (usize, Thread) = json::part(content, raw)?;
            let refused = |reason| Refusal::line(line, format!("thread {number}: {reason}"));
            let tally = tally(thread, unit).map_err(refused)?;
            threads::add_tally(&mut document, "latency", number, None, &tally, &mut budget)
                .map_err(|reason| Refusal::line(line, reason))?;
        }
        document.machine = file.sysinfo.and_then(|info| {
            let realtime = info.version.contains("PREEMPT_RT");
            Some(Machine {
                preemption: if realtime { "PREEMPT_RT" } else { "" }.to_owned(),
                ..Machine::of_kernel(info.release?)
            })
        });
        Ok(document)
    }
}

fn tally(thread: Thread, unit: TimeUnit) -> Result<Tally, String> {
    let mut tally = Tally {
        buckets: thread.histogram.0,
        min: Some(thread.min),
        mean: thread.avg.map(rounded),
        max: Some(thread.max),
        ..Tally::new(unit)
    };
    tally.buckets.retain(|(_, count)| *count > 0);
    let counted = tally.counted().unwrap_or(u64::MAX);
    tally.overflows = thread
        .count
        .checked_sub(counted)
        .ok_or_else(|| format!("count is {}, but the histogram counts more", thread.count))?;
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Place;

    const FILE: &str = r##"{
  "version": 3,
  "sysinfo": {
    "sysname": "Linux", "release": "6.1.0", "version": "#1 SMP PREEMPT_RT",
    "cpus_online": 2, "resolution_in_ns": 1000
  },
  "cpu": {
    "0": {
      "histogram": {"3": 3678, "4": 220},
      "count": 3898, "min": 3, "max": 4, "avg": 3.06
    },
    "1": {
      "histogram": {"3": 2},
      "count": 3, "min": 3, "max": 1500, "avg": 502.00
    }
  }
}"##;

    fn read(content: &str) -> Result<Document, Refusal> {
        Jitterdebugger.read(content.as_bytes(), None)
    }

    #[test]
    fn the_file_is_understood() {
        let document = read(FILE).unwrap();
        assert_eq!(document.machine.as_ref().unwrap().kernel, "6.1.0");
        let counts: Vec<u64> = document
            .series
            .iter()
            .map(|series| series.distribution.count())
            .collect();
        assert_eq!(counts, [3898, 3]);
        assert_eq!(document.audit.len(), 1);
        assert!(
            document.audit[0]
                .seen
                .contains("thread 1: values beyond the histogram: 1,")
        );
    }

    #[test]
    fn older_files_have_no_sysinfo() {
        let (_, older) = FILE.split_once("  },\n").unwrap();
        let document = read(&format!("{{\n{older}")).unwrap();
        assert_eq!(document.machine, None);
        assert_eq!(document.series[0].distribution.moments().unwrap().max, 4000);
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refusal = read(&FILE.replace("\"count\": 3,", "\"count\": 1,")).unwrap_err();
        assert_eq!(refusal.place, Place::Line(12));
        assert!(refusal.reason.contains("thread 1"), "{}", refusal.reason);
        assert!(read(&FILE.replace("1000\n", "7\n")).is_err());
    }
}
