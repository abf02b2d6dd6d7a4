// SPDX-License-Identifier: GPL-2.0-only
//! An experiment file, `lab/*.toml`: what its keys mean is in `docs/experiments.md`.
//!
//! The first configuration is the one with which the work of the others is compared.

use crate::engine::bochs;
use artis_guest::experiment::{Measure, Task};
use artis_load::own::Load;
use artis_machine::CpuList;
use artis_result::experiment::Scheduler;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An experiment as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub name: String,
    pub title: String,
    pub measure: BTreeSet<Measure>,
    pub cpus: Vec<u32>,
    pub seconds: u32,
    pub seeds: Vec<u64>,
    pub loads: Vec<Load>,
    #[serde(default = "one_timer")]
    pub timers: Vec<u32>,
    /// RT0's period.
    #[serde(default = "millisecond")]
    pub interval_us: u64,
    /// Seeds of the guests that measure the kernel's part; all seeds when absent.
    pub kernel_latency_seeds: Option<Vec<u64>>,
    #[serde(rename = "configuration")]
    pub configurations: Vec<Configuration>,
}

fn one_timer() -> Vec<u32> {
    vec![1]
}

fn millisecond() -> u64 {
    1000
}

/// A kernel and its scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    pub name: String,
    pub preemption: Preemption,
    pub scheduler: Scheduler,
    /// More kernel arguments.
    #[serde(default)]
    pub append: String,
}

/// How the kernel may be preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preemption {
    /// At the next tick, or on return to user mode: today's default.
    Lazy,
    /// As soon as no spinlock is held.
    Full,
    /// A kernel built with `PREEMPT_RT`.
    Rt,
}

impl Preemption {
    pub fn name(self) -> &'static str {
        match self {
            Self::Lazy => "lazy",
            Self::Full => "full",
            Self::Rt => "rt",
        }
    }

    /// The kernel argument that asks for it.
    fn argument(self) -> Option<&'static str> {
        match self {
            Self::Lazy => Some("preempt=lazy"),
            Self::Full => Some("preempt=full"),
            Self::Rt => None,
        }
    }
}

/// Why a file is not an experiment.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: {reason}", path.display())]
    Malformed { path: PathBuf, reason: String },
}

/// One guest of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Place of its configuration in the file.
    pub configuration: usize,
    pub cpus: u32,
    pub seed: u64,
    pub task: Task,
}

impl Experiment {
    /// Reads `path`.
    ///
    /// # Errors
    /// A sentence that names the file, and the line where that is known.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|reason| Error::Malformed {
            path: path.to_owned(),
            reason,
        })
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let experiment: Self =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        experiment.check()?;
        Ok(experiment)
    }

    /// Checks what the types of the values do not say.
    fn check(&self) -> Result<(), String> {
        let unique = |what: &str, names: Vec<String>| match names
            .iter()
            .enumerate()
            .find(|(at, name)| names[..*at].contains(name))
        {
            Some((_, twice)) => Err(format!("{what} {twice} is listed twice")),
            None if names.is_empty() => Err(format!("there is no {what}")),
            None => Ok(()),
        };
        let texts = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect();
        let names = self.configurations.iter().map(|one| one.name.clone());
        unique("configuration", names.collect())?;
        unique("seed", self.seeds.iter().map(u64::to_string).collect())?;
        unique("number of cpus", texts(&self.cpus))?;
        unique("number of timers", texts(&self.timers))?;
        unique(
            "measure",
            self.measure.iter().map(|one| format!("{one:?}")).collect(),
        )?;
        let rt0 = [Measure::Latency, Measure::Responsiveness];
        if !rt0.iter().any(|one| self.measure.contains(one)) {
            return Err(
                "measure must hold \"latency\" or \"responsiveness\": every row of the table has \
                 RT0's latency"
                    .to_owned(),
            );
        }
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(format!(
                "the name {:?} must be letters, digits, - and _: it is part of file names",
                self.name
            ));
        }
        if self.cpus.iter().any(|cpus| *cpus < 2) {
            return Err("an RT CPU needs another CPU beside it: cpus must be 2 or more".to_owned());
        }
        let most = bochs::CPUS_MAX;
        if let Some(many) = self.cpus.iter().find(|cpus| **cpus > most) {
            return Err(format!(
                "cpus holds {many}, and the engine bochs emulates at most {most} CPUs"
            ));
        }
        if self.seconds == 0 || self.interval_us == 0 || self.timers.contains(&0) {
            return Err("seconds, interval_us and timers must be 1 or more".to_owned());
        }
        Ok(())
    }

    /// Every guest of the experiment; those of one row come together.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for &cpus in &self.cpus {
            for &timers in &self.timers {
                for configuration in 0..self.configurations.len() {
                    for &measure in &self.measure {
                        for &seed in self.seeds_of(measure) {
                            runs.push(Run {
                                configuration,
                                cpus,
                                seed,
                                task: self.task(configuration, cpus, timers, measure),
                            });
                        }
                    }
                }
            }
        }
        runs
    }

    fn seeds_of(&self, measure: Measure) -> &[u64] {
        match (&self.kernel_latency_seeds, measure) {
            (Some(seeds), Measure::KernelLatency) => seeds,
            _ => &self.seeds,
        }
    }

    fn task(&self, configuration: usize, cpus: u32, timers: u32, measure: Measure) -> Task {
        Task {
            measure,
            scheduler: self.configurations[configuration].scheduler,
            rt: rt_cpus(cpus),
            timers,
            loads: self.loads.clone(),
            seconds: self.seconds,
            interval_us: self.interval_us,
        }
    }
}

/// The RT CPU: the last one, because the first has most of a machine's interrupts.
fn rt_cpus(cpus: u32) -> CpuList {
    CpuList::from_iter([cpus.saturating_sub(1)])
}

impl Configuration {
    /// The kernel's name for the lab.
    pub fn kernel(&self) -> &'static str {
        match self.preemption {
            Preemption::Rt => "newest-rt",
            Preemption::Lazy | Preemption::Full => "newest",
        }
    }

    /// The kernel's arguments beside the engine's own.
    pub fn arguments(&self, rt: &CpuList) -> String {
        let isolated = (self.scheduler == Scheduler::Isolcpus).then(|| format!("isolcpus={rt}"));
        let preemption = self.preemption.argument().map(str::to_owned);
        let more = (!self.append.is_empty()).then(|| self.append.clone());
        let words: Vec<String> = [preemption, isolated, more].into_iter().flatten().collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: &str = r#"
        name = "small"
        title = "a test"
        measure = ["latency", "kernel-latency"]
        cpus = [2, 4]
        seconds = 1
        seeds = [7, 8]
        loads = ["compute", "compute", "hackbench"]
        [[configuration]]
        name = "lazy"
        preemption = "lazy"
        scheduler = "stock"
        [[configuration]]
        name = "isolcpus"
        preemption = "rt"
        scheduler = "isolcpus"
        append = "quiet"
    "#;

    #[test]
    fn an_experiment_is_all_its_combinations() {
        let experiment = Experiment::parse(SMALL).unwrap();
        let runs = experiment.runs();
        assert_eq!(runs.len(), 2 * 2 * 2 * 2);
        assert_eq!(runs[0].task.rt.to_string(), "1");
        assert_eq!(runs.last().unwrap().task.rt.to_string(), "3");
        let isolated = &experiment.configurations[1];
        assert_eq!(isolated.arguments(&rt_cpus(2)), "isolcpus=1 quiet");
        assert_eq!(isolated.kernel(), "newest-rt");
        let lazy = &experiment.configurations[0];
        assert_eq!(lazy.arguments(&rt_cpus(2)), "preempt=lazy");
    }

    #[test]
    fn every_error_is_named() {
        for (from, to, said) in [
            ("seeds = [7, 8]", "seeds = [7, 7]", "seed 7 is listed twice"),
            ("seeds = [7, 8]", "seeds = []", "there is no seed"),
            ("cpus = [2, 4]", "cpus = [1]", "another CPU"),
            ("cpus = [2, 4]", "cpus = [2, 64]", "cpus holds 64"),
            (
                "\"hackbench\"",
                "\"hackbensh\"",
                "unknown variant `hackbensh`",
            ),
            ("seconds = 1", "secunds = 1", "unknown field `secunds`"),
            ("\"small\"", "\"../small\"", "it is part of file names"),
            (
                "name = \"isolcpus\"",
                "name = \"lazy\"",
                "configuration lazy is listed twice",
            ),
        ] {
            let error = Experiment::parse(&SMALL.replace(from, to)).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    /// Files written for earlier versions of artis say "shield".
    #[test]
    fn the_old_word_for_isolcpus_is_understood() {
        let old = SMALL.replace("scheduler = \"isolcpus\"", "scheduler = \"shield\"");
        assert_ne!(old, SMALL);
        assert_eq!(Experiment::parse(&old), Experiment::parse(SMALL));
    }

    /// The files that come with artis.
    #[test]
    fn the_shipped_experiments_are_understood() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "toml") {
                names.push(Experiment::read(&path).unwrap().name);
            }
        }
        names.sort();
        assert_eq!(
            names,
            [
                "kernels",
                "load-sweep",
                "phases",
                "rowand",
                "smoke",
                "table1",
                "table1-4cpus"
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _ = Experiment::parse(&text);
        }
    }
}
