// SPDX-License-Identifier: GPL-2.0-only
//! Loads by name, for `--load` and `artis load`. A name means the same work here, in experiments
//! and in the demo: artis's own loads have the plain names ([`crate::own`]), and those of
//! other programs have names that say so.
//!
//! Owns the names. [`job`] finds what a load needs, [`own`] and [`program`] run and count the two
//! families, [`worker`] keeps all of them at work, and [`running`] is how a measurement starts
//! and stops them. docs/loads.md describes each load.
//! Source: piel-artis, section 3.1 (computing, input/output, network, kernel locks, cache
//! misses); altenberg-real-time-linux-talk (hackbench); mckenney-real-time-vs-real-fast, section
//! 2.2 (a build).

mod command;
mod job;
mod own;
mod ports;
mod program;
pub mod running;
mod stressng;
mod worker;

pub use running::Running;
pub use stressng::Stressor;

use crate::own::Load;
use std::fmt;
use std::str::FromStr;

/// A load with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preset {
    /// One of artis's own.
    Own(Load),
    /// make and a compiler.
    Build,
    /// hackbench with many processes, while [`Load::Hackbench`] is a few threads.
    HackbenchProcesses,
    /// One stressor of stress-ng.
    StressNg(Stressor),
}

impl Preset {
    /// Every load, in the order of `artis load list`.
    pub fn all() -> impl Iterator<Item = Self> {
        (Load::ALL.into_iter().map(Self::Own))
            .chain([Self::Build, Self::HackbenchProcesses])
            .chain(Stressor::ALL.into_iter().map(Self::StressNg))
    }

    /// Its name, as people type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own(load) => load.name(),
            Self::Build => "build",
            Self::HackbenchProcesses => "hackbench-processes",
            Self::StressNg(stressor) => stressor.load_name(),
        }
    }

    /// What it does to the machine.
    pub fn description(self) -> &'static str {
        match self {
            Self::Own(load) => load.description(),
            Self::Build => "a C program compiled over and over, offline",
            Self::HackbenchProcesses => "hackbench, large rounds of 20 processes for each CPU",
            Self::StressNg(stressor) => stressor.description(),
        }
    }

    /// What one count of its work is.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Own(load) => load.unit(),
            Self::Build => "builds",
            Self::HackbenchProcesses => Load::Hackbench.unit(),
            Self::StressNg(_) => stressng::UNIT,
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
    let names: Vec<&str> = Preset::all().map(Preset::name).collect();
    names.join(", ")
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
            match Preset::all().find(|preset| preset.name() == word) {
                Some(preset) => presets.push(preset),
                None if word == "all" => presets.extend(Preset::all()),
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
        assert_eq!(all.iter().count(), Preset::all().count());
        assert_eq!(all.iter().next(), Some(Preset::Own(Load::Cache)));
    }

    #[test]
    fn every_name_is_one_load() {
        let mut names: Vec<&str> = Preset::all().map(Preset::name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for load in Load::ALL {
            let in_experiments = serde_json::to_value(load).unwrap();
            assert_eq!(in_experiments, Preset::Own(load).name());
        }
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
            some in prop::collection::vec(
                prop::sample::select(Preset::all().collect::<Vec<_>>()), 1..9),
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
