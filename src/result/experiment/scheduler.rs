// SPDX-License-Identifier: GPL-2.0-only
//! Who schedules in a configuration of an experiment, as a word of files: `artis`,
//! `scx_bpfland@1.1.4`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who schedules, and how the real-time CPU is kept for its task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scheduler {
    /// The kernel's own; the CPU is not kept.
    Stock,
    /// The kernel's own; kept by `isolcpus=`. Earlier versions of artis wrote `shield`.
    Isolcpus,
    Artis,
    /// Another scheduler on sched_ext; the CPU is not kept.
    Published(Published),
}

/// A sched_ext scheduler that is published as a crate, in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Published {
    name: String,
    version: String,
}

/// A word that names no scheduler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the scheduler {0:?} must be \"stock\", \"isolcpus\", \"artis\", or a crate of the sched_ext \
     project with its version, as \"scx_bpfland@1.1.4\""
)]
pub struct WrongScheduler(pub String);

const STOCK: &str = "stock";
const ISOLCPUS: &str = "isolcpus";
const ISOLCPUS_ONCE: &str = "shield";
const ARTIS: &str = "artis";
/// How the names of the sched_ext project's crates begin.
const PREFIX: &str = "scx_";

impl Published {
    /// Reads `NAME@VERSION`, as cargo does.
    fn parse(word: &str) -> Option<Self> {
        let (name, version) = word.split_once('@')?;
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        let named = name.strip_prefix(PREFIX)?;
        // The name becomes that of a file, the version a part of one. A version with fewer numbers
        // would mean the newest of several.
        let numbers: Vec<&str> = version.split('.').collect();
        let number = |text: &&str| text.parse::<u32>().is_ok_and(|it| it.to_string() == **text);
        let fits = !named.is_empty()
            && named.chars().all(|letter| plain(letter) || letter == '_')
            && numbers.len() == 3
            && numbers.iter().all(number);
        fits.then(|| Self {
            name: name.to_owned(),
            version: version.to_owned(),
        })
    }

    /// The crate's name, and its program's: `scx_bpfland`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the name begins under which the kernel knows it: `bpfland`.
    pub fn ops(&self) -> &str {
        self.name.strip_prefix(PREFIX).unwrap_or(&self.name)
    }
}

impl fmt::Display for Published {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}@{}", self.name, self.version)
    }
}

impl TryFrom<String> for Scheduler {
    type Error = WrongScheduler;

    fn try_from(word: String) -> Result<Self, WrongScheduler> {
        match word.as_str() {
            STOCK => Ok(Self::Stock),
            ISOLCPUS | ISOLCPUS_ONCE => Ok(Self::Isolcpus),
            ARTIS => Ok(Self::Artis),
            other => Published::parse(other)
                .map(Self::Published)
                .ok_or(WrongScheduler(word)),
        }
    }
}

impl From<Scheduler> for String {
    fn from(scheduler: Scheduler) -> Self {
        match scheduler {
            Scheduler::Stock => STOCK.to_owned(),
            Scheduler::Isolcpus => ISOLCPUS.to_owned(),
            Scheduler::Artis => ARTIS.to_owned(),
            Scheduler::Published(one) => one.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(word: &str) -> Result<Scheduler, WrongScheduler> {
        Scheduler::try_from(word.to_owned())
    }

    #[test]
    fn what_is_written_is_read_again() {
        for word in ["stock", "isolcpus", "artis", "scx_bpfland@1.1.4"] {
            assert_eq!(String::from(read(word).unwrap()), word);
        }
        assert_eq!(read("shield"), Ok(Scheduler::Isolcpus));
    }

    #[test]
    fn a_published_one_has_a_name_a_version_and_a_name_in_the_kernel() {
        let Ok(Scheduler::Published(one)) = read("scx_flatcg_2@10.0.12") else {
            panic!("not understood");
        };
        assert_eq!(
            (one.name(), one.ops(), one.to_string().as_str()),
            ("scx_flatcg_2", "flatcg_2", "scx_flatcg_2@10.0.12")
        );
    }

    #[test]
    fn other_words_are_refused_with_what_could_be_written() {
        for word in [
            "",
            "atris",
            "scx_bpfland",
            "scx_bpfland@",
            "scx_bpfland@1.1",
            "scx_bpfland@1.1.04",
            "scx_bpfland@1.1.+4",
            "scx_bpfland@1.1.4/../..",
            "scx_@1.1.4",
            "scx_../x@1.1.4",
            "ripgrep@14.0.0",
        ] {
            let complaint = read(word).unwrap_err().to_string();
            assert!(complaint.contains("scx_bpfland@1.1.4"), "{complaint}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = read(&text);
        }
    }
}
