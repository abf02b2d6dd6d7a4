// SPDX-License-Identifier: GPL-2.0-only
//! oslat's `--json`: one object a core, with the histogram of how long a loop took.
//!
//! Buckets are labelled in microseconds by their upper edge, extremes are those of the values: up
//! to rt-tests 2.4 both are rounded up, later only the labels. With buckets that are no whole
//! microseconds (`-W`) the labels have three decimals, and the extremes, but not the average, are
//! nanoseconds. The rest is in [`super::oslat`].

use super::json::{self, Entries};
use super::oslat::{Core, document};
use super::rt_tests::{self, ANCHORS, File, Whole};
use super::{Importer, Refusal, TimeUnit, text};
use crate::Document;
use serde::Deserialize;

pub struct OslatJson;

#[derive(Deserialize)]
struct Thread {
    cpu: u32,
    min: Whole,
    avg: Option<f64>,
    max: Whole,
    duration: Option<f64>,
    histogram: Entries<String, u64>,
}

impl Importer for OslatJson {
    fn name(&self) -> &'static str {
        "oslat-json"
    }

    fn recognises(&self, head: &str) -> bool {
        rt_tests::begins(head) && head.contains("\"freq\"") && head.contains("\"duration\"")
    }

    fn anchors(&self) -> &'static [&'static str] {
        &ANCHORS
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = &rt_tests::without_nan(text::text(content)?);
        let file: File = json::file(content)?;
        let mut cores = Vec::new();
        for (number, raw) in file.threads(content)? {
            let (line, thread): (usize, Thread) = json::part(content, raw)?;
            let refused = |reason| Refusal::line(line, format!("thread {number}: {reason}"));
            cores.push(thread.core(line).map_err(refused)?);
        }
        document(file.document("oslat"), &cores)
    }
}

impl Thread {
    fn core(self, line: usize) -> Result<Core, String> {
        let is_fine = self
            .histogram
            .0
            .iter()
            .any(|(label, _)| label.contains('.'));
        let unit_ns = if is_fine { 1 } else { 1000 };
        let mut buckets = Vec::new();
        for (label, count) in self.histogram.0 {
            buckets.push((Core::ns_of_label(&label)?, count));
        }
        buckets.sort_unstable();
        let value = |value: Whole, what| {
            let ns = value.ns(unit_ns)?;
            u64::try_from(ns).map_err(|_| format!("{what} is below zero"))
        };
        Ok(Core {
            line,
            cpu: self.cpu,
            min_ns: value(self.min, "min")?,
            mean_ns: self.avg.map(|us| us * 1000.0),
            max_ns: value(self.max, "max")?,
            seconds: self.duration,
            buckets,
            ..Core::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{
  "file_version": 1,
  "cmdline:": "oslat -D 2 -c 0 -C 1 -q --json=oslat.json",
  "rt_test_version:": "2.40",
  "start_time": "Mon, 30 Nov 2026 05:33:04 +0000",
  "end_time": "Mon, 30 Nov 2026 05:33:07 +0000",
  "return_code": 0,
  "num_threads": 1,
  "thread": {
    "0": {
      "cpu": 3, "freq": 2597, "min": 1, "avg": 1.42, "max": 140, "duration": 1.999,
      "histogram": { "1": 990, "2": 7, "32": 3 }
    }
  }
}
"#;

    fn read(content: &str) -> Result<Document, Refusal> {
        assert!(OslatJson.recognises(content));
        OslatJson.read(content.as_bytes(), None)
    }

    #[test]
    fn the_last_bucket_holds_what_is_beyond() {
        let document = read(FILE).unwrap();
        assert_eq!(
            (document.tool.as_str(), document.seconds),
            ("oslat 2.40", Some(1.999))
        );
        let series = &document.series[0];
        assert_eq!((series.name.as_str(), series.cpu), ("oslat", Some(3)));
        let values = &series.distribution;
        let moments = values.moments().unwrap();
        assert_eq!(
            (moments.count, moments.min, moments.max),
            (1000, 1000, 140_000)
        );
        assert!((moments.mean - 1420.0).abs() < 0.1, "{moments:?}");
        assert_eq!(values.percentile(99.0).map(|ns| ns / 1000), Some(1));
        assert_eq!(values.percentile(99.9), None);
        assert_eq!(values.beyond().from(), Some(31_000));
    }

    #[test]
    fn fine_buckets_have_extremes_in_nanoseconds() {
        let fine = FILE
            .replace("\"min\": 1", "\"min\": 75")
            .replace("\"max\": 140", "\"max\": 140300")
            .replace("\"avg\": 1.42", "\"avg\": 0.4")
            .replace(
                r#""1": 990, "2": 7, "32": 3"#,
                r#""0.100": 990, "0.200": 7, "3.200": 3"#,
            );
        let document = read(&fine).unwrap();
        let moments = document.series[0].distribution.moments().unwrap();
        assert_eq!((moments.min, moments.max), (75, 140_300));
        assert!((moments.mean - 400.0).abs() < 1.0, "{moments:?}");
    }

    #[test]
    fn later_versions_round_labels_up_and_extremes_down() {
        let later = FILE
            .replace("\"min\": 1", "\"min\": 0")
            .replace("\"max\": 140", "\"max\": 31")
            .replace("\"avg\": 1.42", "\"avg\": 1.1");
        let moments = read(&later).unwrap().series[0]
            .distribution
            .moments()
            .unwrap();
        assert_eq!((moments.min, moments.max), (0, 31_000));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |from: &str, to: &str| {
            let refusal = read(&FILE.replace(from, to)).unwrap_err();
            format!("{refusal:?}")
        };
        assert!(refused("\"max\": 140", "\"max\": 7").contains("Line(10)"));
        assert!(refused("\"32\": 3", "\"x\": 3").contains("label"));
        assert!(refused("\"min\": 1,", "\"min\": -1,").contains("below zero"));
    }
}
