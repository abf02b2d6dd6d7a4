// SPDX-License-Identifier: GPL-2.0-only
//! What pmqtest, ptsematest, svsematest, sigwaittest and rt-migrate-test of rt-tests print.
//!
//! The first four print two lines for each pair of threads,
//! `#0: ID4711, P80, CPU1, I1000; #1: ID4712, P80, CPU1, TO 0, Cycles 200` and
//! `#1 -> #0, Min    2, Cur    3, Avg    4, Max   72`, again and again without `-q`; the last of
//! each count. Only pmqtest has the time-out `TO`; the others print the same. The average was
//! rounded to whole microseconds.
//!
//! rt-migrate-test ends with a block for each task; how often it ran is the number of lines
//! `   0:` behind `Iter:`.

use super::rt_tests::{Figures, Whole};
use super::rt_tests_json::{self, BETWEEN_THREADS, MIGRATION};
use super::text::{self, COLUMNS_MAX, lines, number};
use super::{Importer, Refusal, TimeUnit, cyclictest_summary, document, threads};
use crate::Document;
use std::collections::BTreeMap;

pub struct RtTestsText;

const NS_PER_US: u64 = 1000;

impl Importer for RtTestsText {
    fn name(&self) -> &'static str {
        "rt-tests-text"
    }

    fn recognises(&self, head: &str) -> bool {
        head.lines()
            .any(|line| Pair::read_threads(1, line).is_some() || line.starts_with("Parent pid: "))
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["#0: ID", "Parent pid: "]
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let end = text::last_line(content);
        if content.lines().any(|line| line.starts_with("Parent pid: ")) {
            return migration(content, end);
        }
        let pairs = pairs(content)?;
        let is_pmqtest = pairs.values().any(|pair| pair.has_timeout);
        let tool = match is_pmqtest {
            true => "pmqtest",
            false => "ptsematest, svsematest or sigwaittest",
        };
        let warnings = vec![cyclictest_summary::no_histogram(tool)];
        let mut document = document(tool.to_owned(), Vec::new(), warnings);
        for (at, pair) in pairs {
            let figures = match pair.figures {
                Some(figures) => figures,
                None if pair.cycles == 0 => Figures::none(),
                None => {
                    let reason = format!("no line \"#{} -> #{at},\" up to here", at + 1);
                    return Err(Refusal::line(end, reason));
                }
            };
            let figures = Figures {
                count: pair.cycles,
                ..figures
            };
            let values = figures.summary(NS_PER_US);
            let values = values.map_err(|reason| Refusal::line(pair.line, reason))?;
            threads::add(
                &mut document,
                BETWEEN_THREADS,
                at / 2,
                Some(pair.cpu),
                values,
            );
        }
        Ok(document)
    }
}

/// A receiver and its sender.
struct Pair {
    line: usize,
    receiver: u32,
    cpu: u32,
    cycles: u64,
    has_timeout: bool,
    figures: Option<Figures>,
}

impl Pair {
    /// `#0: ID4711, P80, CPU1, I1000; #1: ID4712, P80, CPU1, TO 0, Cycles 200`; none for another
    /// line.
    fn read_threads(line: usize, text: &str) -> Option<Self> {
        let (receiver, sender) = text.strip_prefix('#')?.split_once("; #")?;
        let (at, rest) = receiver.split_once(": ID")?;
        let mut fields = rest.split(", ").skip(1);
        fields.next()?.strip_prefix('P')?;
        let cpu = fields.next()?.strip_prefix("CPU")?;
        let cycles = sender.rsplit_once(", Cycles ")?.1;
        Some(Self {
            line,
            receiver: at.parse().ok()?,
            cpu: cpu.parse().ok()?,
            cycles: cycles.trim().parse().ok()?,
            has_timeout: sender.contains(", TO "),
            figures: None,
        })
    }
}

/// `#1 -> #0, Min    2, Cur    3, Avg    4, Max   72` as the receiver and its figures; none for
/// another line.
fn read_figures(line: usize, text: &str) -> Result<Option<(u32, Figures)>, Refusal> {
    let Some((_, rest)) = text
        .strip_prefix('#')
        .and_then(|text| text.split_once(" -> #"))
    else {
        return Ok(None);
    };
    let Some((receiver, rest)) = rest.split_once(", ") else {
        // It was not ready yet.
        return Ok(None);
    };
    let receiver = number(line, receiver, "the receiver")?;
    let mut all = [0_i64; 4];
    let mut fields = rest.split(", ");
    for (value, label) in all.iter_mut().zip(["Min ", "Cur ", "Avg ", "Max "]) {
        let field = fields.next().and_then(|field| field.strip_prefix(label));
        let word = field.ok_or_else(|| {
            let reason = format!("no {label:?} where it belongs; is the line cut off?");
            Refusal::line(line, reason)
        })?;
        *value = number(line, word.trim(), label.trim())?;
    }
    let [min, _, avg, max] = all;
    let figures = Figures {
        count: 0,
        min: Whole(min.into()),
        avg: Some(avg as f64),
        max: Whole(max.into()),
    };
    Ok(Some((receiver, figures)))
}

/// The last lines of each pair, by the number of its receiver.
fn pairs(content: &str) -> Result<BTreeMap<u32, Pair>, Refusal> {
    let mut pairs: BTreeMap<u32, Pair> = BTreeMap::new();
    for (at, line) in lines(content) {
        if let Some(pair) = Pair::read_threads(at, line) {
            if pairs.len() >= COLUMNS_MAX {
                return Err(Refusal::line(at, "more pairs than any machine has CPUs"));
            }
            let before = pairs.get(&pair.receiver).map_or(0, |pair| pair.cycles);
            if before > pair.cycles {
                let reason = format!("{} cycles after {before}; are these two runs?", pair.cycles);
                return Err(Refusal::line(at, reason));
            }
            pairs.insert(pair.receiver, pair);
        } else if let Some((receiver, figures)) = read_figures(at, line)?
            && let Some(pair) = pairs.get_mut(&receiver)
        {
            pair.figures = Some(figures);
        }
    }
    Ok(pairs)
}

/// A task of rt-migrate-test.
struct Task {
    line: usize,
    number: u32,
    /// What its lines say, in microseconds: `Max`, `Min`, `Tot`, `Avg`.
    figures: BTreeMap<&'static str, i64>,
}

impl Task {
    fn us(&self, label: &str) -> Result<i128, Refusal> {
        let found = self.figures.get(label).map(|us| i128::from(*us));
        found.ok_or_else(|| {
            let reason = format!("{label} of task {} is missing", self.number);
            Refusal::line(self.line, reason)
        })
    }
}

/// What rt-migrate-test prints.
fn migration(content: &str, end: usize) -> Result<Document, Refusal> {
    let (tasks, mut runs) = tasks(content)?;
    if tasks.is_empty() {
        let reason = "no block \"Task 0\" up to here; is the file cut off?";
        return Err(Refusal::line(end, reason));
    }
    if runs == 0 {
        let sums: Result<Vec<_>, Refusal> = tasks
            .iter()
            .map(|task| Ok((task.us("Tot")?, task.us("Avg")?)))
            .collect();
        runs =
            rt_tests_json::runs(sums?.into_iter()).map_err(|reason| Refusal::line(end, reason))?;
    }
    let found = cyclictest_summary::no_histogram("rt-migrate-test");
    let mut document = document("rt-migrate-test".to_owned(), Vec::new(), vec![found]);
    for task in tasks {
        task.us("Avg")?;
        let figures = Figures {
            count: runs,
            min: Whole(task.us("Min")?),
            avg: Some(task.us("Tot")? as f64 / runs as f64),
            max: Whole(task.us("Max")?),
        };
        let values = figures.summary(NS_PER_US);
        let values = values.map_err(|reason| Refusal::line(task.line, reason))?;
        threads::add(&mut document, MIGRATION, task.number, None, values);
    }
    Ok(document)
}

/// The blocks of all tasks, and how many lines of a run stand before them.
fn tasks(content: &str) -> Result<(Vec<Task>, u64), Refusal> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut runs = None;
    for (line, text) in lines(content) {
        let words = text.trim();
        if text.starts_with("Iter:") {
            runs = Some(0);
        } else if let Some(rest) = text.strip_prefix(" Task ") {
            if tasks.len() >= COLUMNS_MAX {
                return Err(Refusal::line(line, "more tasks than any machine has CPUs"));
            }
            let task = rest.split(' ').next().unwrap_or_default();
            tasks.push(Task {
                line,
                number: number(line, task, "the task")?,
                figures: BTreeMap::new(),
            });
        } else if let Some((label, value)) = words.split_once(':')
            && text.starts_with(' ')
        {
            match (tasks.last_mut(), &mut runs) {
                (Some(task), _) => {
                    let mut known = ["Max", "Min", "Tot", "Avg"].into_iter();
                    if let Some(known) = known.find(|known| *known == label) {
                        let us = value.trim().trim_end_matches(" us");
                        task.figures.insert(known, number(line, us, known)?);
                    }
                }
                (None, Some(runs)) => *runs += u64::from(label.parse::<u32>().is_ok()),
                (None, None) => {}
            }
        }
    }
    Ok((tasks, runs.unwrap_or(0)))
}

impl Figures {
    /// Of a thread that never ran.
    fn none() -> Self {
        Self {
            count: 0,
            min: Whole(0),
            avg: None,
            max: Whole(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;

    const PAIRS: &str = "\
#0: ID31705, P0, CPU1, I1000; #1: ID31706, P0, CPU1, TO 0, Cycles 2
#1 -> #0, Min    1, Cur   50, Avg    4, Max    5
#2: ID31707, P0, CPU2, I1500; #3: ID31708, P0, CPU2, TO 0, Cycles 0
#3 -> #2 (not yet ready)
#0: ID31705, P0, CPU1, I1000; #1: ID31706, P0, CPU1, TO 0, Cycles 50
#1 -> #0, Min    1, Cur   50, Avg  542, Max 12160
";
    const RUNS: &str = "\
Iter:      0       1
   0:    20109      99
 len:    40109   20099
   1:    20056      69
 len:    40056   20069

Parent pid: 31768
 Task 0 (prio 2) (pid 31770):
   Max: 20109 us
   Min: 20056 us
   Tot: 40165 us
   Avg: 20082 us

 Task 1 (prio 3) (pid 31771):
   Max: 99 us
   Min: 69 us
   Tot: 168 us
   Avg: 84 us
";

    fn figures(content: &str) -> (String, Vec<(u32, u64, i64)>) {
        assert!(RtTestsText.recognises(content));
        let document = RtTestsText.read(content.as_bytes(), None).unwrap();
        let all = document.series.iter().map(|one| {
            let max = one.distribution.moments().map_or(0, |moments| moments.max);
            (one.thread.unwrap(), one.distribution.count(), max)
        });
        (document.tool.clone(), all.collect())
    }

    #[test]
    fn the_last_lines_of_each_pair_count() {
        let (tool, all) = figures(PAIRS);
        assert_eq!(tool, "pmqtest");
        assert_eq!(all, [(0, 50, 12_160_000), (1, 0, 0)]);
        let (tool, all) = figures(&PAIRS.replace(" TO 0,", ""));
        assert!(tool.contains("sigwaittest"), "{tool}");
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn each_task_of_rt_migrate_test_is_a_series() {
        let (tool, all) = figures(RUNS);
        assert_eq!(tool, "rt-migrate-test");
        assert_eq!(all, [(0, 2, 20_109_000), (1, 2, 99_000)]);
        // Without the runs, sums and averages say how many there were.
        let (_, quiet) = RUNS.split_once("\n\n").unwrap();
        assert_eq!(figures(quiet).1, all);
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |file, from, to| refused_at(&RtTestsText, file, from, to);
        assert_eq!(refused(PAIRS, "Avg  542", "Avg  5x2").0, 6);
        assert_eq!(refused(PAIRS, "Avg  542, Max 12160", "Av").0, 6);
        assert_eq!(refused(PAIRS, "Cycles 50", "Cycles 1").0, 5);
        assert!(
            refused(PAIRS, "Cycles 0", "Cycles 9")
                .1
                .contains("#3 -> #2")
        );
        assert_eq!(refused(RUNS, "Tot: 168", "Tot: x").0, 17);
        assert_eq!(refused(RUNS, "   Avg: 84 us\n", "").0, 14);
        assert!(refused(RUNS, "Tot: 168", "Tot: 1").1.contains("mean"));
    }
}
