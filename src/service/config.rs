// SPDX-License-Identifier: GPL-2.0-only
//! The configuration file of `artis sched run`: TOML, every key optional.
//!
//! Owns which keys there are and what their values may be; knows no machine. docs/install.md and
//! packaging/sched.toml show the file.

use artis_machine::CpuList;
use artis_partition::plan::EXIT_LATENCY_US_MAX;
use artis_sched::detector::Detector;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use std::fmt;

/// A file that is not understood: the line, and what may stand there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Error {
    pub line: usize,
    pub reason: String,
}

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub rt: Option<CpuList>,
    /// None: what suits the machine.
    pub detector: Option<Detector>,
    /// Take the RT CPUs offline and online before the start.
    pub cycle: bool,
    /// None: the machine is not partitioned.
    pub partition: Option<Partition>,
}

/// The section `[partition]`, with the meanings and defaults of `artis partition apply`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Lowest priority of any RT0 task, 1 to 99.
    pub priority: u32,
    pub rt0_irqs: Vec<u32>,
    /// Longest time to leave an idle state of an RT CPU, microseconds.
    pub exit_latency_us_max: u32,
    pub no_throttling: bool,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    rt: Option<Cpus>,
    detector: Option<DetectorName>,
    #[serde(default)]
    cycle: bool,
    partition: Option<StoredPartition>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section [partition]")]
struct StoredPartition {
    priority: Option<Whole<1, 99>>,
    #[serde(default)]
    rt0_irq: Numbers,
    exit_latency_us: Option<Whole<0, { u32::MAX }>>,
    #[serde(default)]
    no_throttling: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DetectorName {
    Auto,
    Breakpoint,
    Syscall,
    Entry,
}

impl Config {
    /// Understands a configuration file.
    ///
    /// # Errors
    /// [`Error`], a sentence.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let stored: Stored = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start).min(text.len());
            let before = &text.as_bytes()[..start];
            Error {
                line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
                reason: error.message().replace('\n', " "),
            }
        })?;
        Ok(Self {
            rt: stored.rt.map(|cpus| cpus.0),
            detector: match stored.detector {
                None | Some(DetectorName::Auto) => None,
                Some(DetectorName::Breakpoint) => Some(Detector::Breakpoint),
                Some(DetectorName::Syscall) => Some(Detector::Syscall),
                Some(DetectorName::Entry) => Some(Detector::Entry),
            },
            cycle: stored.cycle,
            partition: stored.partition.map(|stored| Partition {
                priority: stored.priority.map_or(99, |number| number.0),
                rt0_irqs: stored.rt0_irq.0,
                exit_latency_us_max: stored
                    .exit_latency_us
                    .map_or(EXIT_LATENCY_US_MAX, |number| number.0),
                no_throttling: stored.no_throttling,
            }),
        })
    }
}

/// CPUs: a string, or the number of one CPU.
struct Cpus(CpuList);

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Cpus;
            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("CPU numbers in quotes, such as \"1\" or \"2-3,6\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Cpus, E> {
                text.parse().map(Cpus).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Cpus, E> {
                self.visit_str(&number.to_string())
            }
        }
        from.deserialize_any(Words)
    }
}

/// A whole number within a range.
struct Whole<const FIRST: u32, const LAST: u32>(u32);

impl<'de, const FIRST: u32, const LAST: u32> Deserialize<'de> for Whole<FIRST, LAST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Words<const FIRST: u32, const LAST: u32>;
        impl<const FIRST: u32, const LAST: u32> Visitor<'_> for Words<FIRST, LAST> {
            type Value = Whole<FIRST, LAST>;
            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                write!(out, "a whole number from {FIRST} to {LAST}")
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
                let fits = |number: &u32| (FIRST..=LAST).contains(number);
                let number_here = u32::try_from(number).ok().filter(fits);
                number_here.map(Whole).ok_or_else(|| {
                    E::custom(format!(
                        "{number} is out of range; write a whole number from {FIRST} to {LAST}"
                    ))
                })
            }
        }
        from.deserialize_any(Words)
    }
}

/// Numbers of interrupts: a list, or one of them.
#[derive(Default)]
struct Numbers(Vec<u32>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Numbers;
            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("numbers of interrupts, such as [24, 25]; `artis irq` lists them")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Numbers, A::Error> {
                let mut numbers = Vec::new();
                while let Some(Whole::<0, { u32::MAX }>(number)) = list.next_element()? {
                    numbers.push(number);
                }
                Ok(Numbers(numbers))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Numbers, E> {
                let number = u32::try_from(number)
                    .map_err(|_| E::custom(format!("there is no interrupt {number}")))?;
                Ok(Numbers(vec![number]))
            }
        }
        from.deserialize_any(Words).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_file_says_nothing() {
        assert_eq!(Config::parse("# nothing\n").unwrap(), Config::default());
    }

    #[test]
    fn every_key_is_understood() {
        let text = "rt = \"2-3\"\ndetector = \"entry\"\ncycle = true\n[partition]\npriority = 80\n\
                    rt0_irq = [24, 25]\nexit_latency_us = 10\nno_throttling = true\n";
        let expected = Config {
            rt: Some("2-3".parse().unwrap()),
            detector: Some(Detector::Entry),
            cycle: true,
            partition: Some(Partition {
                priority: 80,
                rt0_irqs: vec![24, 25],
                exit_latency_us_max: 10,
                no_throttling: true,
            }),
        };
        assert_eq!(Config::parse(text).unwrap(), expected);
        let short = Config::parse("rt = 3\ndetector = \"auto\"\n[partition]\nrt0_irq = 9").unwrap();
        assert_eq!(short.rt, Some("3".parse().unwrap()));
        assert_eq!(short.detector, None);
        let partition = short.partition.unwrap();
        assert_eq!((partition.priority, partition.exit_latency_us_max), (99, 2));
        assert_eq!(partition.rt0_irqs, [9]);
        for (word, detector) in [
            ("breakpoint", Detector::Breakpoint),
            ("syscall", Detector::Syscall),
        ] {
            let named = Config::parse(&format!("detector = \"{word}\"")).unwrap();
            assert_eq!(named.detector, Some(detector));
        }
    }

    /// The file that is installed, as it is and with every key that it shows.
    #[test]
    fn the_installed_file_is_understood() {
        let installed = include_str!("../../packaging/sched.toml");
        assert_eq!(Config::parse(installed).unwrap(), Config::default());
        let is_key = |line: &&str| line.contains(" = ") || line.starts_with("#[");
        let keys = installed.lines().filter(is_key);
        let keys: Vec<&str> = keys.map(|line| line.trim_start_matches('#')).collect();
        let config = Config::parse(&keys.join("\n")).unwrap();
        assert!(
            config.rt.is_some() && config.partition.is_some(),
            "{config:?}"
        );
        // Every key of both tables is shown.
        for key in ["rt", "detector", "cycle"].iter().chain(&[
            "priority",
            "rt0_irq",
            "exit_latency_us",
            "no_throttling",
        ]) {
            let shown = |line: &str| line.split(" = ").next() == Some(key);
            assert_eq!(
                keys.iter().copied().filter(|line| shown(line)).count(),
                1,
                "{key}"
            );
        }
    }

    /// The example of docs/install.md has every key, and the defaults that it says.
    #[test]
    fn the_documented_file_is_understood() {
        let page = include_str!("../../docs/install.md");
        let (_, example) = page.split_once("```toml\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let config = Config::parse(example).unwrap();
        let defaults = Config::parse("rt = \"2-3,6\"\n[partition]\n").unwrap();
        assert_eq!(config, defaults);
        for key in [
            "detector",
            "cycle",
            "priority",
            "rt0_irq",
            "exit_latency_us",
            "no_throttling",
        ] {
            assert!(example.contains(&format!("\n{key} = ")), "{key}");
        }
        // So is the refusal that it shows.
        let error = Config::parse("rt = \"1\"\ncpus = 4\n").unwrap_err();
        assert!(page.contains(&format!("sched.toml: {error}\n")), "{error}");
    }

    #[test]
    fn what_is_not_understood_has_its_line_and_what_may_stand_there() {
        let bad: &[(&str, usize, &[&str])] = &[
            (
                "rt = \"1\"\ncpus = 1",
                2,
                &["`cpus`", "`rt`", "`detector`", "`partition`"],
            ),
            (
                "rt = \"1\"\n[partition]\nshield = true",
                3,
                &["`shield`", "`priority`", "`rt0_irq`"],
            ),
            ("[sched]\nrt = 1", 1, &["`sched`", "`rt`"]),
            (
                "\nrt = \"x\"",
                2,
                &["\"x\" is not a CPU number; write CPU numbers such as 1"],
            ),
            ("rt = \"\"", 1, &["empty", "such as 1"]),
            ("rt = -1", 1, &["CPU number"]),
            ("rt = [1]", 1, &["expected CPU numbers in quotes"]),
            ("rt = true", 1, &["expected CPU numbers in quotes"]),
            (
                "detector = \"ebpf\"",
                1,
                &["`ebpf`", "`auto`", "`syscall`", "`entry`"],
            ),
            ("cycle = \"yes\"", 1, &["expected a boolean"]),
            (
                "[partition]\npriority = 0",
                2,
                &["0 is out of range", "from 1 to 99"],
            ),
            ("[partition]\npriority = 100", 2, &["from 1 to 99"]),
            (
                "[partition]\npriority = \"99\"",
                2,
                &["expected a whole number from 1 to 99"],
            ),
            ("[partition]\nrt0_irq = \"eth0\"", 2, &["artis irq"]),
            (
                "[partition]\nrt0_irq = [24, -1]",
                2,
                &["-1 is out of range"],
            ),
            (
                "[partition]\nexit_latency_us = 2.5",
                2,
                &["a whole number from 0"],
            ),
            ("rt = \"1\"\nrt = \"2\"", 2, &["duplicate key"]),
            ("rt = 1\ndetector", 2, &["expected"]),
            ("partition = true", 1, &["expected a section [partition]"]),
        ];
        for (text, line, says) in bad {
            let error = Config::parse(text).unwrap_err();
            assert_eq!(error.line, *line, "{text:?}: {error}");
            for part in *says {
                assert!(error.to_string().contains(part), "{text:?}: {error}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_configuration_or_an_error_in_one_line(text in "\\PC*|(rt|cycle|\\[partition\\]|=|\"|[0-9]|\n| )*") {
            if let Err(error) = Config::parse(&text) {
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }
}
