// SPDX-License-Identifier: GPL-2.0-only
//! What the JSON files of all programs of rt-tests share: the head, the machine, and numbers
//! as C prints them.
//!
//! Some keys have two spellings: rt-tests up to 2.x write `"cmdline:"` and `"rt_test_version:"`,
//! with the colon inside the quotes. A mean of no samples is written as `-nan`, which is no JSON,
//! and the extremes of such a thread are numbers that were not measured.

use super::json::Entries;
use super::{Refusal, date, document, text};
use crate::histogram::VALUE_MAX;
use crate::{Distribution, Document, Machine};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A whole file, its threads not yet understood.
#[derive(serde::Deserialize)]
pub struct File<'a> {
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
    pub resolution_in_ns: Option<u64>,
    #[serde(borrow)]
    pub thread: Option<Entries<u32, &'a RawValue>>,
}

#[derive(serde::Deserialize)]
struct Sysinfo {
    release: String,
    #[serde(default)]
    version: String,
    realtime: Option<i64>,
}

/// Does this look like a file of rt-tests?
pub fn begins(head: &str) -> bool {
    head.trim_start().starts_with('{')
        && (head.contains("\"rt_test_version") || head.contains("\"thread\""))
        && !head.contains("\"schema\"")
}

/// How the lines of such a file begin.
pub const ANCHORS: [&str; 2] = ["\"file_version\"", "\"rt_test_version"];

/// The program that a file says it is from: `/usr/bin/oslat -D 2` is `oslat`.
pub fn program(head: &str) -> Option<&str> {
    let (_, behind) = head.split_once("\"cmdline")?;
    let words = behind.split_once(": \"")?.1;
    let word = words.split([' ', '"']).next()?;
    word.rsplit('/').next().filter(|word| !word.is_empty())
}

impl File<'_> {
    /// Its threads; refuses a head that artis does not know.
    pub fn threads(&self, content: &str) -> Result<&[(u32, &RawValue)], Refusal> {
        if let Some(version) = self.file_version.filter(|version| *version != 1) {
            let reason = format!("file_version is {version}, and artis knows 1");
            return Err(Refusal::line(1, reason));
        }
        let end = text::last_line(content);
        let Some(threads) = &self.thread else {
            let program = program(content).unwrap_or("a program of rt-tests");
            let reason = format!("this is a file of {program}, which holds no latencies");
            return Err(Refusal::line(end, reason));
        };
        let threads = &threads.0;
        if let Some(said) = self.num_threads.filter(|said| *said != threads.len()) {
            let reason = format!("num_threads is {said}, but there are {}", threads.len());
            return Err(Refusal::line(end, reason));
        }
        Ok(threads)
    }

    /// A document without figures, of the program called `tool`.
    pub fn document(&self, tool: &str) -> Document {
        let version = self.rt_test_version.iter().map(|it| format!(" {it}"));
        let tool = format!("{tool}{}", version.collect::<String>());
        let mut document = document(tool.clone(), Vec::new(), Vec::new());
        let words = self.cmdline.as_deref().unwrap_or_default();
        document.setup.command = words.split_whitespace().map(str::to_owned).collect();
        document.started = self.start_time.as_deref().and_then(date::rfc3339);
        let times = self.start_time.as_deref().zip(self.end_time.as_deref());
        document.seconds = times.and_then(|(start, end)| date::seconds_between(start, end));
        let failed = self.return_code.filter(|code| *code != 0);
        document.ended_early = failed.map(|code| {
            let program = tool.split(' ').next().unwrap_or_default();
            format!("{program} returned {code}")
        });
        document.machine = self.sysinfo.as_ref().map(machine);
        document
    }
}

/// The machine, as far as `uname` says.
fn machine(sysinfo: &Sysinfo) -> Machine {
    let realtime = sysinfo.realtime == Some(1) || sysinfo.version.contains("PREEMPT_RT");
    Machine {
        preemption: if realtime { "PREEMPT_RT" } else { "" }.to_owned(),
        ..Machine::of_kernel(sysinfo.release.clone())
    }
}

/// A whole number as C prints it: with a sign where it overflowed, beyond 64 bits where it is
/// nonsense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whole(pub i128);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct WholeVisitor;

        impl Visitor<'_> for WholeVisitor {
            type Value = Whole;

            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("a whole number")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Whole, E> {
                Ok(Whole(value.into()))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Whole, E> {
                Ok(Whole(value.into()))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Whole, E> {
                match value.fract() == 0.0 && value.abs() < 1e30 {
                    true => Ok(Whole(value as i128)),
                    false => Err(E::custom(format!("{value} is no whole number"))),
                }
            }
        }

        input.deserialize_any(WholeVisitor)
    }
}

impl Whole {
    /// As nanoseconds, `unit_ns` each.
    pub fn ns(self, unit_ns: u64) -> Result<i64, String> {
        let ns = self.0.checked_mul(unit_ns.into());
        ns.filter(|ns| ns.unsigned_abs() <= VALUE_MAX.into())
            .and_then(|ns| i64::try_from(ns).ok())
            .ok_or_else(|| format!("a latency of {} is out of range", self.0))
    }

    /// As a number of values.
    pub fn count(self, what: &str) -> Result<u64, String> {
        u64::try_from(self.0).map_err(|_| format!("{what} is {}, which is no count", self.0))
    }
}

/// Count, minimum, mean and maximum of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub count: u64,
    pub min: Whole,
    /// None where it is no number.
    pub avg: Option<f64>,
    pub max: Whole,
}

impl Figures {
    /// Without a sample nothing was measured, whatever stands there.
    pub fn summary(&self, unit_ns: u64) -> Result<Distribution, String> {
        if self.count == 0 {
            return Ok(Distribution::new());
        }
        let mean = self.avg.ok_or("the average is no number")? * unit_ns as f64;
        let (min, max) = (self.min.ns(unit_ns)?, self.max.ns(unit_ns)?);
        Distribution::summary(self.count, min, mean, max).map_err(|error| error.to_string())
    }
}

/// The text with `null` for what C prints instead of a number: `nan`, `-nan`, `inf`, `-inf`.
pub fn without_nan(content: &str) -> Cow<'_, str> {
    let found = |content: &str| content.contains("nan") || content.contains("inf");
    if !found(&content.to_ascii_lowercase()) {
        return Cow::Borrowed(content);
    }
    let mut plain = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '"' => string_end(rest),
            '-' | 'a'..='z' | 'A'..='Z' => {
                let word = |one: char| one == '-' || one.is_ascii_alphabetic();
                rest.find(|one| !word(one)).unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(taken);
        let name = token.trim_start_matches('-').to_ascii_lowercase();
        let is_number = matches!(name.as_str(), "nan" | "inf" | "infinity");
        plain.push_str(if is_number { "null" } else { token });
        rest = behind;
    }
    Cow::Owned(plain)
}

/// Where the string ends that the text begins with.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text[1..].find(|one| {
        let ends = one == '"' && !is_escaped;
        is_escaped = one == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_c_prints_for_no_number_is_null() {
        for (content, plain) in [
            (r#"{"avg": -nan, "min": 1}"#, r#"{"avg": null, "min": 1}"#),
            (r#"{"a": nan,"b":inf}"#, r#"{"a": null,"b":null}"#),
            (r#"{"a": -INF, "b": Infinity}"#, r#"{"a": null, "b": null}"#),
            (
                r#"{"nan": "a \" nan inf", "b": -1}"#,
                r#"{"nan": "a \" nan inf", "b": -1}"#,
            ),
            (
                r#"{"a": true, "information": null"#,
                r#"{"a": true, "information": null"#,
            ),
        ] {
            assert_eq!(without_nan(content), plain);
        }
    }

    #[test]
    fn a_thread_without_a_sample_has_no_figures() {
        let nothing = Figures {
            count: 0,
            min: Whole(1_000_000),
            avg: None,
            max: Whole(-1_000_000),
        };
        assert_eq!(nothing.summary(1000).unwrap().moments(), None);
        let one = Figures {
            count: 1,
            ..nothing
        };
        assert!(one.summary(1000).unwrap_err().contains("average"));
        let huge = Figures {
            avg: Some(1.0),
            max: Whole(i128::MAX),
            ..one
        };
        assert!(huge.summary(1000).unwrap_err().contains("out of range"));
    }

    #[test]
    fn the_program_is_the_first_word() {
        assert_eq!(
            program(r#"{"cmdline:": "/usr/bin/oslat -D 2","#),
            Some("oslat")
        );
        assert_eq!(program(r#"{"cmdline": "pmqtest"}"#), Some("pmqtest"));
        assert_eq!(program("{}"), None);
    }
}
