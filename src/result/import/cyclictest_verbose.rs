// SPDX-License-Identifier: GPL-2.0-only
//! cyclictest's `-v`: every sample in a line, `       0:      12:      34` for latency 34 of
//! cycle 12 of thread 0.
//!
//! All samples are there, so the distribution is whole. The cycles of a thread count up from 0:
//! a gap is a damaged file. The last line has its end, or it may be cut off within a number.
//! With `-N` the numbers are nanoseconds, which nothing in the file says, so microseconds are
//! assumed without `--unit`. Other lines, such as the number of CPUs, are skipped.

use super::tally::{Budget, Tally};
use super::text::{self, COLUMNS_MAX, lines, number};
use super::{Importer, Refusal, TimeUnit, document, threads};
use crate::Document;
use std::collections::BTreeMap;

pub struct CyclictestVerbose;

/// How wide cyclictest prints the number of a thread, and the least that the others take.
const WIDTH: usize = 8;

impl Importer for CyclictestVerbose {
    fn name(&self) -> &'static str {
        "cyclictest-verbose"
    }

    fn recognises(&self, head: &str) -> bool {
        let numbers = |line| fields(line).map(|all| all.map(|word| word.trim().parse::<u64>()));
        head.lines()
            .filter_map(numbers)
            .any(|all| all.iter().all(Result::is_ok))
    }

    fn says_unit(&self) -> bool {
        false
    }

    fn read(&self, content: &[u8], unit: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let mut samples: BTreeMap<u32, Samples> = BTreeMap::new();
        for (at, line) in lines(content) {
            let Some([thread, cycle, latency]) = fields(line) else {
                let cut = line.starts_with(' ') && line.contains(':');
                if cut && !samples.is_empty() {
                    return Err(Refusal::line(
                        at,
                        "not a whole sample; is the file cut off?",
                    ));
                }
                continue;
            };
            let thread: u32 = number(at, thread.trim(), "the thread")?;
            if thread as usize >= COLUMNS_MAX {
                let reason = format!("thread {thread}; no machine has so many CPUs");
                return Err(Refusal::line(at, reason));
            }
            let cycle: u64 = number(at, cycle.trim(), "the cycle")?;
            let latency: u64 = number(at, latency.trim(), "the latency")?;
            let known = samples.entry(thread).or_default();
            if cycle != known.count {
                let reason = format!(
                    "cycle {cycle} of thread {thread}, where {} comes next; lines are missing, or \
                     these are two runs",
                    known.count
                );
                return Err(Refusal::line(at, reason));
            }
            known.count += 1;
            *known.latencies.entry(latency).or_default() += 1;
        }
        let end = text::last_line(content);
        if samples.is_empty() {
            return Err(Refusal::line(end, "no sample up to here"));
        }
        if !content.ends_with('\n') {
            return Err(Refusal::line(
                end,
                "the line has no end; is the file cut off?",
            ));
        }
        let mut document = document("cyclictest".to_owned(), Vec::new(), Vec::new());
        let mut budget = Budget::default();
        for (thread, samples) in samples {
            let tally = Tally {
                buckets: samples.latencies.into_iter().collect(),
                ..Tally::new(unit.unwrap_or(TimeUnit::Microseconds))
            };
            threads::add_tally(&mut document, "latency", thread, None, &tally, &mut budget)
                .map_err(|reason| Refusal::line(end, reason))?;
        }
        Ok(document)
    }
}

/// The samples of a thread.
#[derive(Default)]
struct Samples {
    count: u64,
    /// How often each was.
    latencies: BTreeMap<u64, u64>,
}

/// Thread, cycle and latency.
fn fields(line: &str) -> Option<[&str; 3]> {
    let all: Vec<&str> = line.split(':').take(4).collect();
    let all: [&str; 3] = all.try_into().ok()?;
    // A time of day has three numbers too, but not in these columns.
    all.iter().all(|word| word.len() >= WIDTH).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;
    use crate::import::Place;

    const FILE: &str = "\
Max CPUs = 2
Thread 0 Interval: 1500
       0:       0:      58
       0:       1:      56
       1:       0:       7
       0:       2:      56
";

    fn read(content: &str) -> Result<Document, Refusal> {
        CyclictestVerbose.read(content.as_bytes(), None)
    }

    #[test]
    fn every_sample_counts() {
        assert!(CyclictestVerbose.recognises(FILE));
        let document = read(FILE).unwrap();
        assert_eq!(document.series[1].thread, Some(1));
        let values = &document.series[0].distribution;
        let moments = values.moments().unwrap();
        assert_eq!(
            (moments.count, moments.min, moments.max),
            (3, 56_000, 58_000)
        );
        assert!((moments.mean - 170_000.0 / 3.0).abs() < 1e-6);
        assert_eq!(values.percentile(50.0).map(|ns| ns / 1000), Some(56));
    }

    #[test]
    fn the_unit_can_be_given() {
        let unit = Some(TimeUnit::Nanoseconds);
        let document = CyclictestVerbose.read(FILE.as_bytes(), unit).unwrap();
        assert_eq!(document.series[0].distribution.moments().unwrap().max, 58);
    }

    #[test]
    fn times_of_day_are_no_samples() {
        assert!(!CyclictestVerbose.recognises("12:34:56\n 12:34:56\n"));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |from: &str, to: &str| refused_at(&CyclictestVerbose, FILE, from, to);
        assert_eq!(refused("      56", "     x56").0, 4);
        assert_eq!(refused("      58", "     -58").0, 3);
        let (line, reason) = refused("       0:       1:      56\n", "");
        assert!(
            line == 5 && reason.contains("where 1 comes next"),
            "{reason}"
        );
        let (line, reason) = refused("       1:       0:", "99999999:       0:");
        assert!(line == 5 && reason.contains("so many CPUs"), "{reason}");
        for end in [
            "       0:       2:      5",
            "       0:       2:",
            "       0:",
        ] {
            let (line, reason) = refused("       0:       2:      56\n", end);
            assert!(line == 6 && reason.contains("cut off"), "{reason}");
        }
        assert_eq!(read("Max CPUs = 2\n").unwrap_err().place, Place::Line(1));
    }
}
