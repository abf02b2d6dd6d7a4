// SPDX-License-Identifier: GPL-2.0-only
//! Loads with a name, for `--load` and `artis load`: the paper's five, hackbench, fork and build.
//!
//! Owns the names and what each stands for; [`job`] says which program does the work, [`stressng`]
//! and [`worker`] how it is run and counted, [`ports`] on which TCP ports, [`running`] is how a
//! measurement starts and stops it.
//! Source: piel-artis, section 3.1 (computing, input/output, network, kernel locks, cache
//! misses); altenberg-real-time-linux-talk (hackbench); mckenney-real-time-vs-real-fast, section
//! 2.2 (a build).

mod job;
mod ports;
pub mod running;
mod stressng;
mod worker;

pub use running::Running;

use std::fmt;
use std::str::FromStr;

/// A load with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preset {
    Compute,
    Io,
    Network,
    Locks,
    Cache,
    Hackbench,
    Fork,
    Build,
}

impl Preset {
    pub const ALL: [Self; 8] = [
        Self::Compute,
        Self::Io,
        Self::Network,
        Self::Locks,
        Self::Cache,
        Self::Hackbench,
        Self::Fork,
        Self::Build,
    ];

    /// Its name, as people type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Io => "io",
            Self::Network => "network",
            Self::Locks => "locks",
            Self::Cache => "cache",
            Self::Hackbench => "hackbench",
            Self::Fork => "fork",
            Self::Build => "build",
        }
    }

    /// What it does to the machine.
    pub fn description(self) -> &'static str {
        match self {
            Self::Compute => "integer and floating-point work in user mode",
            Self::Io => "files written and read at random places, each write down to the disk",
            Self::Network => "TCP over the loopback device",
            Self::Locks => "processes that fight for locks in the kernel (file locks)",
            Self::Cache => "reads and writes that miss the cache",
            Self::Hackbench => "many processes that send each other messages: wakeups",
            Self::Fork => "processes made and ended",
            Self::Build => "a C program compiled over and over, offline",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Presets, each at most once, in the order in which they were named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presets(Vec<Preset>);

/// A word that is no preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no load {word:?}; there are {}, all", names())]
pub struct Unknown {
    word: String,
}

fn names() -> String {
    Preset::ALL.map(Preset::name).join(", ")
}

impl Presets {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Preset> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Preset> for Presets {
    fn from_iter<T: IntoIterator<Item = Preset>>(presets: T) -> Self {
        let mut unique = Vec::new();
        for preset in presets {
            if !unique.contains(&preset) {
                unique.push(preset);
            }
        }
        Self(unique)
    }
}

/// Names with commas between them; `all` is every one.
impl FromStr for Presets {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let mut presets = Vec::new();
        for word in text.split(',').map(str::trim) {
            match Preset::ALL.iter().find(|preset| preset.name() == word) {
                Some(preset) => presets.push(*preset),
                None if word == "all" => presets.extend(Preset::ALL),
                None => {
                    return Err(Unknown {
                        word: word.to_owned(),
                    });
                }
            }
        }
        Ok(presets.into_iter().collect())
    }
}

impl fmt::Display for Presets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Preset::name).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_read_once_each_and_in_order() {
        let read: Presets = "io, compute,io".parse().unwrap();
        assert_eq!(read.to_string(), "io,compute");
        let all: Presets = "cache,all".parse().unwrap();
        assert_eq!(all.iter().count(), Preset::ALL.len());
        assert_eq!(all.iter().next(), Some(Preset::Cache));
    }

    #[test]
    fn an_unknown_name_is_quoted_beside_the_known_ones() {
        let error = "compute,oi".parse::<Presets>().unwrap_err().to_string();
        assert!(
            error.contains("\"oi\"") && error.contains("compute, io"),
            "{error}"
        );
        assert!("".parse::<Presets>().is_err());
        assert!("io,".parse::<Presets>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_again(
            some in prop::collection::vec(prop::sample::select(&Preset::ALL[..]), 1..9),
        ) {
            let some: Presets = some.into_iter().collect();
            prop_assert_eq!(some.to_string().parse::<Presets>().unwrap(), some);
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = text.parse::<Presets>();
        }
    }
}
