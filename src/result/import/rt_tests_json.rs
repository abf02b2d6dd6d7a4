// SPDX-License-Identifier: GPL-2.0-only
//! The JSON files of the other programs of rt-tests, which have no histogram: pmqtest,
//! ptsematest, svsematest and sigwaittest (a sender wakes a receiver) and rt-migrate-test.
//!
//! All times are microseconds. rt-migrate-test does not say how often it ran; the sum and the
//! average of each task allow one number or several.

use super::json;
use super::rt_tests::{self, ANCHORS, Figures, File, Whole};
use super::{Importer, Refusal, TimeUnit, cyclictest_summary, text, threads};
use crate::Document;
use serde::Deserialize;
use std::cmp::Ordering;

pub struct RtTestsJson;

const NS_PER_US: u64 = 1000;

/// The latency from one thread to the other, through the kernel.
pub const BETWEEN_THREADS: &str = "ipc_latency";
/// How long a task that had been woken waited for a CPU.
pub const MIGRATION: &str = "migration_latency";

#[derive(Deserialize)]
struct Pair {
    sender: Sender,
    receiver: Receiver,
}

#[derive(Deserialize)]
struct Sender {
    samples: Whole,
}

#[derive(Deserialize)]
struct Receiver {
    cpu: Option<i64>,
    min: Whole,
    avg: Option<f64>,
    max: Whole,
}

/// Of rt-migrate-test.
#[derive(Deserialize)]
struct Task {
    min: Whole,
    avg: Whole,
    max: Whole,
    total: Whole,
}

impl Importer for RtTestsJson {
    fn name(&self) -> &'static str {
        "rt-tests-json"
    }

    fn recognises(&self, head: &str) -> bool {
        let has_cycles = || head.contains("\"cycles\"");
        let pairs = || head.contains("\"sender\"") && head.contains("\"receiver\"");
        let tasks = || head.contains("\"prio\"") && head.contains("\"total\"");
        // With a head, and without threads or with those of another kind: it is named.
        let named = || {
            let known = ["cyclictest", "cyclicdeadline", "signaltest"];
            head.contains("\"rt_test_version")
                && rt_tests::program(head).is_some_and(|program| !known.contains(&program))
        };
        rt_tests::begins(head) && !has_cycles() && (pairs() || tasks() || named())
    }

    fn anchors(&self) -> &'static [&'static str] {
        &ANCHORS
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = &rt_tests::without_nan(text::text(content)?);
        let program = rt_tests::program(content).unwrap_or("rt-tests").to_owned();
        let file: File = json::file(content)?;
        let mut document = file.document(&program);
        let all = file.threads(content)?;
        let has = |key: &str| all.iter().all(|(_, raw)| raw.get().contains(key));
        if has("\"receiver\"") {
            for (number, raw) in all {
                let (line, pair): (usize, Pair) = json::part(content, raw)?;
                let refused = |reason| Refusal::line(line, format!("thread {number}: {reason}"));
                let receiver = pair.receiver;
                let figures = Figures {
                    count: pair.sender.samples.count("samples").map_err(refused)?,
                    min: receiver.min,
                    avg: receiver.avg,
                    max: receiver.max,
                };
                let values = figures.summary(NS_PER_US).map_err(refused)?;
                let cpu = receiver.cpu.and_then(|cpu| u32::try_from(cpu).ok());
                threads::add(&mut document, BETWEEN_THREADS, *number, cpu, values);
            }
        } else if has("\"total\"") {
            let end = text::last_line(content);
            let tasks: Result<Vec<(u32, Task)>, Refusal> = all
                .iter()
                .map(|(number, raw)| Ok((*number, json::part(content, raw)?.1)))
                .collect();
            let tasks = tasks?;
            let sums = tasks.iter().map(|(_, task)| (task.total.0, task.avg.0));
            let count = runs(sums).map_err(|reason| Refusal::line(end, reason))?;
            for (number, task) in &tasks {
                let values = task.figures(count).summary(NS_PER_US);
                let values = values.map_err(|reason| Refusal::line(end, reason))?;
                threads::add(&mut document, MIGRATION, *number, None, values);
            }
        } else {
            let reason = format!("this is a file of {program}, of which artis reads no figures");
            return Err(Refusal::line(1, reason));
        }
        document
            .audit
            .push(cyclictest_summary::no_histogram(&program));
        Ok(document)
    }
}

impl Task {
    fn figures(&self, count: u64) -> Figures {
        Figures {
            count,
            min: self.min,
            avg: Some(self.total.0 as f64 / count.max(1) as f64),
            max: self.max,
        }
    }
}

/// How many runs have these sums and averages, which were cut down to whole microseconds.
pub fn runs(sums: impl Iterator<Item = (i128, i128)>) -> Result<u64, String> {
    let (mut least, mut most) = (1, i128::MAX);
    for (total, avg) in sums {
        if total < 0 || avg < 0 || total > 1 << 62 {
            return Err(format!(
                "a sum of {total} us, with an average of {avg}, is none"
            ));
        }
        // avg * runs <= total < (avg + 1) * runs.
        least = least.max(total / (avg + 1) + 1);
        most = most.min(total.checked_div(avg).unwrap_or(i128::MAX));
    }
    match least.cmp(&most) {
        Ordering::Equal => u64::try_from(least).map_err(|error| error.to_string()),
        Ordering::Greater => Err("sums and averages of the tasks contradict each other".to_owned()),
        Ordering::Less => Err(
            "how often it ran is not in the file, and sums and averages allow several \
                      numbers; use what it printed (without --json)"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(program: &str, threads: &str) -> String {
        format!(
            r#"{{
  "file_version": 1,
  "cmdline:": "/usr/bin/{program} -l 200 -q --json=a.json",
  "rt_test_version:": "2.40",
  "return_code": 0,
  "num_threads": 1,
  "thread": {{
    "0": {threads}
  }}
}}
"#
        )
    }

    const PAIR: &str = r#"{
      "sender": { "cpu": 0, "priority": 0, "samples": 200, "interval": 1000 },
      "receiver": { "cpu": 3, "priority": 0, "min": 2, "avg": 3.79, "max": 72 }
    }"#;

    fn read(content: &str) -> Result<Document, Refusal> {
        assert!(RtTestsJson.recognises(content), "{content}");
        RtTestsJson.read(content.as_bytes(), None)
    }

    #[test]
    fn a_pair_of_threads_is_a_summary() {
        let document = read(&file("pmqtest", PAIR)).unwrap();
        assert_eq!(document.tool, "pmqtest 2.40");
        let series = &document.series[0];
        assert_eq!((series.name.as_str(), series.cpu), ("ipc_latency", Some(3)));
        let moments = series.distribution.moments().unwrap();
        assert_eq!(
            (moments.count, moments.min, moments.max),
            (200, 2000, 72_000)
        );
        assert_eq!((moments.mean, moments.stddev), (3790.0, None));
        assert_eq!(series.distribution.percentile(50.0), None);
    }

    #[test]
    fn a_receiver_that_was_never_woken_has_no_figures() {
        let none = PAIR
            .replace("200", "0")
            .replace("3.79", "-nan")
            .replace("2,", "-1,");
        let document = read(&file("sigwaittest", &none)).unwrap();
        assert_eq!(document.series[0].distribution.count(), 0);
    }

    #[test]
    fn the_runs_of_rt_migrate_test_follow_from_its_sums() {
        let task = r#"{ "prio": 2, "min": 20051, "avg": 20072, "max": 20109, "total": 60216 }"#;
        let document = read(&file("rt-migrate-test", task)).unwrap();
        let moments = document.series[0].distribution.moments().unwrap();
        assert_eq!((moments.count, moments.mean), (3, 20_072_000.0));
        let several = task.replace("20051", "0").replace("20072", "1");
        let refusal = read(&file("rt-migrate-test", &several)).unwrap_err();
        assert!(refusal.reason.contains("several numbers"), "{refusal:?}");
    }

    #[test]
    fn another_program_is_named() {
        for threads in ["{ \"inversions\": 5 }", "{}"] {
            let refusal = read(&file("pi_stress", threads)).unwrap_err();
            assert!(refusal.reason.contains("pi_stress"), "{refusal:?}");
        }
        let head = file("hackbench", "{}").replace("\"thread\"", "\"other\"");
        assert!(read(&head).unwrap_err().reason.contains("hackbench"));
        assert!(!RtTestsJson.recognises(&file("cyclictest", "{ \"cycles\": 1 }")));
    }
}
