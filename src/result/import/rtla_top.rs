// SPDX-License-Identifier: GPL-2.0-only
//! The table of `rtla timerlat top`: a line for each CPU, printed again and again without `-q`;
//! the last frame counts.
//!
//! Groups are separated by bars: how many timers there were, then the last value, minimum,
//! average and maximum until the interrupt, until the thread and, with threads in user mode
//! (`-u`), until it was back in user space. Averages were cut down to whole units; `-` stands
//! where nothing was measured. The count is that of the interrupts; a thread has as many, or one
//! less where the run stopped at a threshold.

use super::rtla_frame::Frame;
use super::text::{self, lines, number};
use super::{Importer, Refusal, TimeUnit, document, rtla_frame};
use crate::histogram::VALUE_MAX;
use crate::names::{TIMER_TO_IRQ, TIMER_TO_THREAD, TIMER_TO_USER};
use crate::{Distribution, Document, Kind, Series, Unit, Warning};

pub struct RtlaTop;

/// What a group measures.
const GROUPS: [&str; 3] = [TIMER_TO_IRQ, TIMER_TO_THREAD, TIMER_TO_USER];

impl Importer for RtlaTop {
    fn name(&self) -> &'static str {
        "rtla-timerlat-top"
    }

    fn recognises(&self, head: &str) -> bool {
        head.lines().any(is_header)
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["CPU COUNT"]
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let (frame, unit) = last_frame(content)?;
        let end = text::last_line(content);
        let mut document = document("rtla timerlat".to_owned(), Vec::new(), Vec::new());
        document.seconds = frame.seconds;
        for row in &frame.rows {
            for (name, group) in GROUPS.iter().zip(&row.groups) {
                let refused = |reason| Refusal::line(row.line, format!("{name}: {reason}"));
                let values = group.distribution(row.count, unit).map_err(refused)?;
                document.series.push(Series {
                    cpu: Some(row.cpu),
                    ..Series::new(name, Kind::Latency, Unit::Nanoseconds, values)
                });
            }
        }
        if document.series.is_empty() {
            let reason = "no line of a CPU below \"CPU COUNT\"; is the file cut off?";
            return Err(Refusal::line(end, reason));
        }
        document.audit.push(Warning {
            id: "no_histogram".to_owned(),
            seen: "only count, minimum, mean and maximum of the latencies are known; the count is \
                   that of the interrupts, and a thread may have one less"
                .to_owned(),
            why: "there is no percentile and no standard deviation to compare".to_owned(),
            fix: Some("run rtla timerlat hist".to_owned()),
        });
        Ok(document)
    }
}

fn is_header(line: &str) -> bool {
    line.starts_with("CPU COUNT ") && line.contains(" cur ") && line.contains(" avg ")
}

/// Minimum, mean and maximum; none where nothing was measured.
struct Group(Option<[u64; 3]>);

impl Group {
    /// The last value, minimum, average and maximum, or four dashes.
    fn read(line: usize, words: &str) -> Result<Self, Refusal> {
        let words: Vec<&str> = words.split_whitespace().take(5).collect();
        let [_, min, avg, max] = words[..] else {
            let reason = "not four values between two bars; is the line cut off?";
            return Err(Refusal::line(line, reason));
        };
        if [min, avg, max].iter().all(|word| *word == "-") {
            return Ok(Self(None));
        }
        let value = |word, what| number(line, word, what);
        Ok(Self(Some([
            value(min, "min")?,
            value(avg, "avg")?,
            value(max, "max")?,
        ])))
    }

    fn distribution(&self, count: u64, unit: TimeUnit) -> Result<Distribution, String> {
        let Some([min, avg, max]) = self.0 else {
            return Ok(Distribution::new());
        };
        if count == 0 {
            return Err("values, but no interrupt is counted".to_owned());
        }
        let ns = |value: u64| {
            let ns = value.checked_mul(unit.ns()).filter(|ns| *ns <= VALUE_MAX);
            ns.and_then(|ns| i64::try_from(ns).ok())
                .ok_or_else(|| format!("a latency of {value} is out of range"))
        };
        let (min, mean, max) = (ns(min)?, ns(avg)? as f64, ns(max)?);
        Distribution::summary(count, min, mean, max).map_err(|error| error.to_string())
    }
}

struct Row {
    line: usize,
    cpu: u32,
    count: u64,
    groups: Vec<Group>,
}

impl Row {
    /// `  0 #60001     |        0         0         0         3 |        2  …`; none for another
    /// line.
    fn read(line: usize, text: &str) -> Result<Option<Self>, Refusal> {
        let mut groups = text.split('|');
        let head = groups.next().unwrap_or_default();
        let Some((cpu, count)) = head.split_once('#') else {
            return Ok(None);
        };
        let Ok(cpu) = cpu.trim().parse() else {
            // The line of all CPUs.
            return Ok(None);
        };
        let groups: Result<Vec<Group>, Refusal> = groups
            .take(4)
            .map(|words| Group::read(line, words))
            .collect();
        let groups = groups?;
        if !(2..=3).contains(&groups.len()) {
            let reason = format!("{} groups of values; is the line cut off?", groups.len());
            return Err(Refusal::line(line, reason));
        }
        Ok(Some(Self {
            line,
            cpu,
            count: number(line, count.trim(), "the count")?,
            groups,
        }))
    }
}

/// The last table, and its unit.
fn last_frame(content: &str) -> Result<(Frame<Row>, TimeUnit), Refusal> {
    let mut frame = Frame::default();
    let mut unit = TimeUnit::Microseconds;
    let mut is_within = false;
    for (line, text) in lines(content) {
        if let Some((duration, rest)) = text.split_once("|          IRQ Timer Latency (") {
            frame.begin(line, rtla_frame::duration(line, duration)?)?;
            if rest.starts_with("ns)") {
                unit = TimeUnit::Nanoseconds;
            }
            is_within = false;
        } else if is_header(text) {
            is_within = true;
        } else if is_within && text.contains('#') && text.contains('|') {
            match Row::read(line, text)? {
                Some(row) => frame.push(line, row)?,
                // The line of all CPUs is the last.
                None => is_within = false,
            }
        }
    }
    Ok((frame.end(content)?, unit))
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;

    const FILE: &str = "\
                                     Timer Latency                                              
  0 00:00:01   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)
CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max
  0 #1000      |        0         0         0         3 |        2         1         2        19
                                     Timer Latency                                              
  0 00:01:02   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)
CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max
  0 #62000     |        0         0         0        13 |        2         1         2        29
  3 #61000     |        1         0         0        11 |        -         -         -         -
---------------|----------------------------------------|---------------------------------------
ALL #123000 e0 |                  0         0        13 |                  1         2        29
rtla timerlat hit stop tracing
## CPU 3 hit stop tracing, analyzing it ##
";

    fn read(content: &str) -> Vec<(String, u32, u64, f64, i64)> {
        assert!(RtlaTop.recognises(content));
        let document = RtlaTop.read(content.as_bytes(), None).unwrap();
        let all = document.series.iter().map(|one| {
            let moments = one.distribution.moments();
            let (mean, max) = moments.map_or((-1.0, -1), |it| (it.mean, it.max));
            (
                one.name.clone(),
                one.cpu.unwrap(),
                one.distribution.count(),
                mean,
                max,
            )
        });
        all.collect()
    }

    #[test]
    fn the_last_table_counts() {
        let (irq, thread) = ("timer_to_irq".to_owned(), "timer_to_thread".to_owned());
        assert_eq!(
            read(FILE),
            [
                (irq.clone(), 0, 62_000, 0.0, 13_000),
                (thread.clone(), 0, 62_000, 2000.0, 29_000),
                (irq, 3, 61_000, 0.0, 11_000),
                (thread, 3, 0, -1.0, -1),
            ]
        );
        let document = RtlaTop.read(FILE.as_bytes(), None).unwrap();
        assert_eq!(document.seconds, Some(62.0));
        assert_eq!(document.series[0].distribution.percentile(50.0), None);
    }

    #[test]
    fn threads_in_user_mode_are_a_third_group_and_nanoseconds_are_said() {
        let user = "\
  0 00:00:05   |          IRQ Timer Latency (ns)        |         Thread Timer Latency (ns)      \
|    Ret user Timer Latency (ns)
CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max \
|      cur       min       avg       max
  2 #5000      |      300       200       250       900 |     1500      1200      1300      1900 \
|     1700      1400      1500      2100
";
        let all = read(user);
        assert_eq!(all[2], ("timer_to_user".to_owned(), 2, 5000, 1500.0, 2100));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |from, to| refused_at(&RtlaTop, FILE, from, to);
        assert_eq!(refused("00:01:02", "00:01").0, 6);
        assert_eq!(
            refused("#62000", "#6x"),
            (8, "the count is \"6x\", which is no such number".into())
        );
        assert_eq!(refused("         2        29\n", "         2\n").0, 8);
        assert_eq!(refused("00:01:02", "00:00:00").0, 6);
        assert!(
            refused(
                "         1         2        29\n",
                "         3         2        29\n"
            )
            .1
            .contains("mean")
        );
        let cut = &FILE[..FILE.find("  0 #62000").unwrap()];
        assert!(
            RtlaTop
                .read(cut.as_bytes(), None)
                .unwrap_err()
                .reason
                .contains("fewer CPUs")
        );
    }
}
