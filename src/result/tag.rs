// SPDX-License-Identifier: GPL-2.0-only
//! What makes two series the same one, and how an interval log's tag writes it:
//! `latency;kind=latency;unit=ns;cpu=3;thread=0`, the name percent-encoded.

use super::series::{Kind, Series, Unit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write;

/// The identity of a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    pub name: String,
    pub kind: Kind,
    pub unit: Unit,
    pub cpu: Option<u32>,
    pub thread: Option<u32>,
}

/// Which of a distribution's histograms; HdrHistogram has no values below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Positive,
    /// Magnitudes.
    Negative,
}

impl Tag {
    /// The identity of `series`.
    pub fn of(series: &Series) -> Self {
        Self {
            name: series.name.clone(),
            kind: series.kind,
            unit: series.unit,
            cpu: series.cpu,
            thread: series.thread,
        }
    }

    /// As an interval log's tag.
    pub fn write(&self, part: Part) -> String {
        let mut text = encoded(&self.name);
        let mut field = |name: &str, value: String| {
            text.push(';');
            text.push_str(name);
            text.push('=');
            text.push_str(&value);
        };
        field("kind", word(&self.kind));
        field("unit", word(&self.unit));
        if let Some(cpu) = self.cpu {
            field("cpu", cpu.to_string());
        }
        if let Some(thread) = self.thread {
            field("thread", thread.to_string());
        }
        if part == Part::Negative {
            field("part", "negative".to_owned());
        }
        text
    }

    /// Understands a tag. The tag of another program is the name of latencies in nanoseconds.
    pub fn read(text: &str) -> (Self, Part) {
        own(text).unwrap_or_else(|| {
            let foreign = Self {
                name: text.to_owned(),
                kind: Kind::Latency,
                unit: Unit::Nanoseconds,
                cpu: None,
                thread: None,
            };
            (foreign, Part::Positive)
        })
    }
}

fn own(text: &str) -> Option<(Tag, Part)> {
    let mut fields = text.split(';');
    let name = decoded(fields.next()?)?;
    let (mut kind, mut unit, mut cpu, mut thread) = (None, None, None, None);
    let mut part = Part::Positive;
    for field in fields {
        match field.split_once('=')? {
            ("kind", value) => kind = Some(of_word(value)?),
            ("unit", value) => unit = Some(of_word(value)?),
            ("cpu", value) => cpu = Some(value.parse().ok()?),
            ("thread", value) => thread = Some(value.parse().ok()?),
            ("part", "negative") => part = Part::Negative,
            _ => return None,
        }
    }
    let tag = Tag {
        name,
        kind: kind?,
        unit: unit?,
        cpu,
        thread,
    };
    Some((tag, part))
}

/// A unit enum's word in result files.
pub fn word(value: &impl Serialize) -> String {
    let word = serde_json::to_value(value).ok();
    word.and_then(|word| word.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn of_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

fn plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if plain(byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
            }
            byte if plain(byte) => bytes.push(byte),
            _ => return None,
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_again(name in ".{0,12}", cpu: Option<u32>, thread: Option<u32>, negative: bool) {
            let part = if negative { Part::Negative } else { Part::Positive };
            let tag = Tag { name, kind: Kind::ExecutionTime, unit: Unit::Count, cpu, thread };
            let text = tag.write(part);
            prop_assert!(!text.contains([',', ' ', '\n', '\r']));
            prop_assert_eq!(Tag::read(&text), (tag, part));
        }

        #[test]
        fn any_other_tag_is_a_name(text in "[^;]{0,12}") {
            prop_assert_eq!(Tag::read(&text).0.name, text);
        }
    }

    #[test]
    fn what_only_looks_like_ours_is_a_name() {
        for text in [
            "a;b",
            "a;kind=speed;unit=ns",
            "%zz;kind=latency;unit=ns",
            "a;kind=latency",
        ] {
            assert_eq!(Tag::read(text).0.name, text);
        }
    }
}
