// SPDX-License-Identifier: GPL-2.0-only
//! What a machine takes, as the table `[platform]` that `artis admit` reads. Each value has beside
//! it how it was measured; what was not measured is a comment.

use super::words::plain;
use serde::Serialize;

/// A value of the table, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    pub key: &'static str,
    /// None: left out.
    pub ns: Option<u64>,
    /// How it was measured, or why it was not.
    pub how: String,
}

/// The tick.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tick {
    pub period_ns: u64,
    pub length_ns: u64,
    pub phase_ns: u64,
    pub how: String,
}

/// A source of interrupts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interrupt {
    pub name: String,
    pub per_second: u64,
    pub length_ns: u64,
    pub how: String,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Costs {
    /// On what, when, how long.
    pub head: String,
    pub values: Vec<Value>,
    pub tick: Option<Tick>,
    /// Why there is none.
    pub no_tick: Option<String>,
    pub interrupts: Vec<Interrupt>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// The table.
pub fn text(costs: &Costs) -> String {
    let mut text = format!("# {}\n", plain(&costs.head));
    for note in &costs.notes {
        text += &format!("# {}\n", plain(note));
    }
    text += "\n[platform]\n";
    for value in &costs.values {
        text += &match value.ns {
            Some(ns) => line(value.key, &quoted(ns), &value.how),
            None => format!("# {} is left out: {}\n", value.key, plain(&value.how)),
        };
    }
    if let Some(tick) = &costs.tick {
        text += "\n[platform.tick]\n";
        text += &line(
            "period",
            &quoted(tick.period_ns),
            "of the kernel's coarse clock",
        );
        text += &line("length", &quoted(tick.length_ns), &tick.how);
        text += &line(
            "phase",
            &quoted(tick.phase_ns),
            "after the multiples of its period",
        );
    }
    if let Some(why) = &costs.no_tick {
        text += &format!("\n# the tick is left out: {}\n", plain(why));
    }
    for one in &costs.interrupts {
        text += "\n[[platform.interrupt]]\n";
        // A name is of the kernel or of a driver: a quote in it would end the text.
        let name = plain(&one.name).replace(['"', '\\'], "'");
        text += &format!("name = \"{name}\"\n");
        text += &line("per_second", &one.per_second.to_string(), &one.how);
        let how = "the longest gap beside the tick, whoever made it";
        text += &line("length", &quoted(one.length_ns), how);
    }
    text
}

fn line(key: &str, value: &str, how: &str) -> String {
    let assignment = format!("{key} = {value}");
    format!("{assignment:24}# {}\n", plain(how))
}

/// A time in microseconds, rounded up to whole nanoseconds by nature.
fn quoted(ns: u64) -> String {
    let us = super::rounded(ns as f64 / 1000.0, 3);
    format!("\"{us}us\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_admit::model::Platform;

    #[test]
    fn admit_reads_what_is_printed() {
        let costs = Costs {
            head: "artis measure costs: CPU 1".to_owned(),
            values: vec![
                Value {
                    key: "wakeup",
                    ns: Some(35_217),
                    how: "the longest of 10 wakeups".to_owned(),
                },
                Value {
                    key: "jitter",
                    ns: Some(30_000),
                    how: "that less the shortest".to_owned(),
                },
                Value {
                    key: "section",
                    ns: None,
                    how: "no tracer".to_owned(),
                },
            ],
            tick: Some(Tick {
                period_ns: 4_000_000,
                length_ns: 5_001,
                phase_ns: 0,
                how: "the longest of 5 ticks".to_owned(),
            }),
            no_tick: None,
            interrupts: vec![Interrupt {
                name: "24 \"net\\0\"\nx".to_owned(),
                per_second: 2_000,
                length_ns: 4_000,
                how: "the most in 100 ms".to_owned(),
            }],
            notes: vec!["seen, no bound".to_owned()],
        };
        let text = text(&costs);
        let read = Platform::parse(&text).unwrap();
        assert_eq!(
            (read.wakeup_ns, read.jitter_ns, read.section_ns),
            (35_217, 30_000, 0)
        );
        let tick = read.tick.unwrap();
        assert_eq!((tick.period_ns, tick.length_ns), (4_000_000, 5_001));
        assert_eq!(read.interrupts[0].period_ns, 500_000);
        assert!(text.contains("# section is left out: no tracer"), "{text}");
        let none = Costs {
            tick: None,
            no_tick: Some("none was seen".to_owned()),
            ..costs
        };
        let text = super::text(&none);
        assert!(
            text.contains("# the tick is left out: none was seen"),
            "{text}"
        );
        assert!(Platform::parse(&text).unwrap().tick.is_none());
    }
}
