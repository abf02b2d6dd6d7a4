// SPDX-License-Identifier: GPL-2.0-only
//! cyclictest's plain output, a line for each thread:
//! `T: 0 ( 4711) P:80 I:1000 C:  10000 Min:      3 Act:    5 Avg:    6 Max:      21`.
//! Its sisters leave one label out: signaltest the interval, cyclicdeadline the priority.
//!
//! Only count, minimum, mean and maximum are known, and no other figure is made of them. Without
//! `-q` the lines come again and again; the last of each thread counts. The mean was cut down to
//! a whole unit. With `-N` the numbers are nanoseconds, which nothing in the file says, so
//! microseconds are assumed without `--unit`.

use super::text::{self, COLUMNS_MAX, lines, number};
use super::{Importer, Refusal, TimeUnit, document, threads};
use crate::histogram::VALUE_MAX;
use crate::{Distribution, Document, Warning};
use std::collections::BTreeMap;

pub struct CyclictestSummary;

/// What stands between the numbers of a line, behind the thread's; of the first two one may be
/// missing.
const LABELS: [&str; 7] = ["P:", "I:", "C:", "Min:", "Act:", "Avg:", "Max:"];

impl Importer for CyclictestSummary {
    fn name(&self) -> &'static str {
        "cyclictest-summary"
    }

    fn recognises(&self, head: &str) -> bool {
        head.lines().any(|line| fields(line).is_some())
    }

    fn says_unit(&self) -> bool {
        false
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["T:"]
    }

    fn read(&self, content: &[u8], unit: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let unit_ns = unit.unwrap_or(TimeUnit::Microseconds).ns();
        let mut threads: BTreeMap<u32, (usize, Line)> = BTreeMap::new();
        let mut stopped = None;
        for (at, line) in lines(content) {
            if line.starts_with("# Histogram") {
                let reason = "a histogram begins here, which has more than the lines before it; \
                              read it with --from cyclictest-histogram";
                return Err(Refusal::line(at, reason));
            }
            if let Some(latency) = line.strip_prefix("# Break value: ") {
                stopped = Some(format!(
                    "a latency of {latency} was above its threshold (-b)"
                ));
            }
            if !line.starts_with("T:") {
                continue;
            }
            let line = Line::read(at, line)?;
            if let Some((_, before)) = threads.get(&line.thread)
                && before.cycles > line.cycles
            {
                let reason = format!(
                    "thread {} has {} cycles after {}; are these two runs?",
                    line.thread, line.cycles, before.cycles
                );
                return Err(Refusal::line(at, reason));
            }
            threads.insert(line.thread, (at, line));
        }
        let end = text::last_line(content);
        if threads.is_empty() {
            return Err(Refusal::line(end, "no line \"T: 0 (...\" up to here"));
        }
        let is_cut = threads.values().any(|(at, _)| *at == end) && !content.ends_with('\n');
        if is_cut {
            return Err(Refusal::line(
                end,
                "the line has no end; is the file cut off?",
            ));
        }
        let (tool, name) = match threads.values().next() {
            Some((
                _,
                Line {
                    is_timed: false, ..
                },
            )) => ("signaltest", "signal_latency"),
            Some((_, Line { is_fifo: false, .. })) => ("cyclicdeadline", "latency"),
            _ => ("cyclictest", "latency"),
        };
        let mut document = document(tool.to_owned(), Vec::new(), vec![no_histogram(tool)]);
        document.ended_early = stopped;
        for (thread, (at, line)) in threads {
            let values = line
                .distribution(unit_ns)
                .map_err(|reason| Refusal::line(at, reason))?;
            threads::add(&mut document, name, thread, None, values);
        }
        Ok(document)
    }
}

/// What is to be said of a result of `tool` without a histogram.
pub fn no_histogram(tool: &str) -> Warning {
    let fix = match tool {
        "cyclictest" => Some("run cyclictest with -h 1000, or with -v"),
        "signaltest" => Some("run signaltest with -v"),
        "cyclicdeadline" => Some("run cyclicdeadline with -h 1000"),
        "xenomai latency" => Some("run latency with -h"),
        _ => None,
    };
    Warning {
        id: "no_histogram".to_owned(),
        seen: "only count, minimum, mean and maximum of the latency are known".to_owned(),
        why: "there is no percentile and no standard deviation to compare".to_owned(),
        fix: fix.map(str::to_owned),
    }
}

/// A line of one thread, in the file's unit.
struct Line {
    thread: u32,
    cycles: u64,
    min: i64,
    mean: i64,
    max: i64,
    /// Whether it has a priority, and an interval.
    is_fifo: bool,
    is_timed: bool,
}

impl Line {
    fn read(at: usize, line: &str) -> Result<Self, Refusal> {
        let [thread, priority, interval, cycles, min, _, mean, max] = fields(line).ok_or_else(|| {
            let reason = "this is not a whole line \"T: 0 (...) P: I: C: Min: Act: Avg: Max:\"; is \
                          the file cut off?";
            Refusal::line(at, reason)
        })?;
        let thread: u32 = number(at, thread, "the thread")?;
        if thread as usize >= COLUMNS_MAX {
            let reason = format!("thread {thread}; no machine has so many CPUs");
            return Err(Refusal::line(at, reason));
        }
        // What may stand behind the maximum is the number of SMIs.
        let max = max.split(" SMI:").next().unwrap_or(max).trim();
        Ok(Self {
            thread,
            cycles: number(at, cycles, "C:")?,
            min: number(at, min, "Min:")?,
            mean: number(at, mean, "Avg:")?,
            max: number(at, max, "Max:")?,
            is_fifo: !priority.is_empty(),
            is_timed: !interval.is_empty(),
        })
    }

    fn distribution(&self, unit_ns: u64) -> Result<Distribution, String> {
        // Without a cycle, the minimum is a large number that was not measured.
        if self.cycles == 0 {
            return Ok(Distribution::new());
        }
        let in_range = |value: i64| value.unsigned_abs() <= VALUE_MAX / unit_ns;
        if ![self.min, self.mean, self.max].into_iter().all(in_range) {
            return Err(format!("thread {}: a latency is out of range", self.thread));
        }
        let ns = |value: i64| value * unit_ns as i64;
        Distribution::summary(
            self.cycles,
            ns(self.min),
            ns(self.mean) as f64,
            ns(self.max),
        )
        .map_err(|error| format!("thread {}: {error}", self.thread))
    }
}

/// Thread, priority, interval, cycles, minimum, last, mean and maximum; priority or interval may
/// be empty.
fn fields(line: &str) -> Option<[&str; 8]> {
    let (thread, rest) = line.strip_prefix("T:")?.split_once('(')?;
    let (_, mut rest) = rest.split_once(')')?;
    let mut all = [""; 8];
    all[0] = thread.trim();
    let mut current = None;
    for (label, at) in LABELS.iter().zip(1..) {
        match rest.split_once(label) {
            Some((value, behind)) => {
                if let Some(current) = current.replace(at) {
                    all[current] = value.trim();
                }
                rest = behind;
            }
            // Not both: a line cut within them would be one of another program.
            None if at <= 2 && (at == 1 || current.is_some()) => {}
            None => return None,
        }
    }
    all[7] = rest.trim();
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;
    use crate::import::Place;

    const FILE: &str = "\
# /dev/cpu_dma_latency set to 0us
policy: fifo: loadavg: 2.04 1.19 0.65 2/120 13848

T: 0 (13847) P:80 I:1000 C:     10 Min:     82 Act:   99 Avg:   99 Max:     120
T: 1 (13848) P:80 I:1500 C:      0 Min: 1000000 Act:    0 Avg:    0 Max:       0
T: 0 (13847) P:80 I:1000 C:     50 Min:     80 Act:  110 Avg:  100 Max:     127
T: 1 (13848) P:80 I:1500 C:     33 Min:     67 Act:   83 Avg:   76 Max:     105 SMI:   3
";

    fn read(content: &str) -> Result<Document, Refusal> {
        CyclictestSummary.read(content.as_bytes(), None)
    }

    #[test]
    fn the_last_line_of_each_thread_counts() {
        assert!(CyclictestSummary.recognises(FILE));
        let document = read(FILE).unwrap();
        let figures = |at: usize| {
            let moments = document.series[at].distribution.moments().unwrap();
            (moments.count, moments.min, moments.mean, moments.max)
        };
        assert_eq!(figures(0), (50, 80_000, 100_000.0, 127_000));
        assert_eq!(figures(1), (33, 67_000, 76_000.0, 105_000));
        assert_eq!(document.audit[0].id, "no_histogram");
    }

    #[test]
    fn nothing_is_made_up() {
        let document = read(FILE).unwrap();
        let values = &document.series[0].distribution;
        assert!(values.is_summary());
        assert_eq!(values.percentile(50.0), None);
        assert_eq!(values.moments().unwrap().stddev, None);
        // A thread that never woke has no minimum.
        let first: Vec<&str> = FILE.lines().take(5).collect();
        let document = read(&(first.join("\n") + "\n")).unwrap();
        assert_eq!(document.series[1].distribution.moments(), None);
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |from: &str, to: &str| refused_at(&CyclictestSummary, FILE, from, to);
        assert_eq!(refused("Min:     82", "Min:     8x").0, 4);
        assert_eq!(refused("Act:   99 Avg", "Act:   99 Xvg").0, 4);
        assert_eq!(refused("Min:     80", "Min:    800").0, 6);
        assert_eq!(refused("Avg:  100", "Avg:  900").0, 6);
        let (line, reason) = refused("C:     50", "C:      5");
        assert!(line == 6 && reason.contains("two runs"), "{reason}");
        let (line, reason) = refused(" SMI:   3\n", "");
        assert!(line == 7 && reason.contains("cut off"), "{reason}");
        let (line, reason) = refused("policy", "# Histogram\npolicy");
        assert!(line == 2 && reason.contains("--from"), "{reason}");
        let (_, reason) = refused("Max:     127", "Max: 9223372036854775807");
        assert!(reason.contains("out of range"), "{reason}");
        assert_eq!(read("# nothing\n").unwrap_err().place, Place::Line(1));
    }

    #[test]
    fn sisters_leave_a_label_out() {
        for (labels, tool, name) in [
            ("P: 0", "signaltest", "signal_latency"),
            ("I:1000", "cyclicdeadline", "latency"),
            ("P:80 I:1000", "cyclictest", "latency"),
        ] {
            let line = format!(
                "T: 0 (31733) {labels} C:     50 Min:     35 Act:11992 Avg: 3380 Max:   22282\n\
                 T: 1 (31734) {labels} C:      0 Min:1000000 Act:    0 Avg:    0 Max:-1000000\n"
            );
            let document = read(&line).unwrap();
            assert_eq!(
                (document.tool.as_str(), document.series[0].name.as_str()),
                (tool, name)
            );
            let moments = document.series[0].distribution.moments().unwrap();
            assert_eq!((moments.count, moments.max), (50, 22_282_000), "{tool}");
            assert_eq!(document.series[1].distribution.count(), 0);
        }
        assert!(!CyclictestSummary.recognises("T: 0 (1) C: 50 Min: 3 Act: 1 Avg: 3 Max: 4\n"));
    }

    #[test]
    fn a_run_that_stopped_at_its_threshold_ended_early() {
        let stopped = format!("{FILE}# Break thread: 13847\n# Break value: 127");
        let early = read(&stopped).unwrap().ended_early.unwrap();
        assert!(early.contains("127"), "{early}");
    }
}
