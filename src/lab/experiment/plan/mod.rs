// SPDX-License-Identifier: GPL-2.0-only
//! An experiment file, `lab/*.toml`: what its keys mean is in `docs/experiments.md`.
//!
//! The first configuration is the one with which the work of the others is compared.

mod measures;
mod set;

use super::loads::LoadSets;
use crate::Error as LabError;
use crate::engine::bochs;
use crate::kernel::Flavour;
use crate::kernel::Kernel;
use artis_admit::model::Policy;
use artis_guest::experiment::groups::Groups;
use artis_guest::experiment::{Answer, Event, Measure, Releases, Task};
use artis_load::own::Load;
use artis_machine::CpuList;
use artis_result::damage::Fault;
use artis_result::experiment::{CacheCycles, Scheduler};
use artis_result::file;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An experiment as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub name: String,
    pub title: String,
    pub measure: BTreeSet<Measure>,
    /// What `responsiveness` measures.
    #[serde(default = "all_answers")]
    pub answers: BTreeSet<Answer>,
    pub cpus: Vec<u32>,
    pub seconds: u32,
    pub seeds: Vec<u64>,
    /// What runs beside RT0, one set at a time.
    pub loads: LoadSets,
    /// Each load runs once for so many CPUs; once when absent.
    cpus_per_load: Option<u32>,
    #[serde(default = "one_timer")]
    pub timers: Vec<u32>,
    /// What wakes RT0; a row for each.
    #[serde(default = "a_timer")]
    pub events: Vec<Event>,
    /// RT0's period; see [`Experiment::interval_us`].
    #[serde(rename = "interval_us")]
    interval: Option<u64>,
    /// Where RT0's first wakeup is due, us after a tick; none: it goes through all places.
    pub place_us: Option<u64>,
    /// What misses of modelled caches cost.
    pub caches: Option<CacheCycles>,
    #[serde(default)]
    pub groups: Groups,
    /// Gates: what the experiment is to show, in the language of `artis compare`. A configuration's
    /// name stands for each of its rows.
    #[serde(default)]
    pub wanted: Vec<String>,
    /// Seeds of the guests that measure the kernel's part; all seeds when absent.
    pub kernel_latency_seeds: Option<Vec<u64>>,
    /// What `set` measures, by the names that configurations use.
    #[serde(rename = "set", default)]
    sets: BTreeMap<String, toml::Table>,
    #[serde(rename = "configuration")]
    pub configurations: Vec<Configuration>,
}

/// What the number of this key may be.
fn allowed(key: &str) -> Option<String> {
    let (first, last) = match key {
        "cpus" => (2, u64::from(bochs::CPUS_MAX)),
        "seconds" | "timers" | "cpus_per_load" => (1, u64::from(u32::MAX)),
        // TOML has numbers of 63 bits.
        "interval_us" => (1, i64::MAX.unsigned_abs()),
        "seeds" | "kernel_latency_seeds" | "place_us" => (0, i64::MAX.unsigned_abs()),
        _ => return None,
    };
    let note = match key {
        "cpus" => ", because an RT CPU needs another beside it, and the engine has no more",
        _ => "",
    };
    Some(format!("write a whole number from {first} to {last}{note}"))
}

fn out_of_range(key: &str, value: &u32) -> String {
    let allowed = allowed(key).unwrap_or_default();
    format!("{key}: {value} is out of range; {allowed}")
}

fn all_answers() -> BTreeSet<Answer> {
    [Answer::Wakeups, Answer::Commands, Answer::Messages].into()
}

fn one_timer() -> Vec<u32> {
    vec![1]
}

fn a_timer() -> Vec<Event> {
    vec![Event::Timer]
}

/// RT0's period where the file names none. It has no divisor in common with any kernel's tick, so
/// the wakeups go through every place of it: in 4 s each microsecond of a tick of 4 ms comes once.
const INTERVAL_US: u64 = 1003;
/// The same where RT0 keeps its place: the tick of Debian's kernels.
const INTERVAL_OF_PLACE_US: u64 = 4000;

/// A kernel and its scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    pub name: String,
    /// The release; the newest one when absent.
    kernel: Option<String>,
    pub preemption: Preemption,
    pub scheduler: Scheduler,
    /// More kernel arguments.
    #[serde(default)]
    pub append: String,
    /// The light watch of `artis top` looks at RT0's wakeups.
    #[serde(default)]
    pub watch: bool,
    /// Which of the tables `[set.NAME]` it runs.
    set: Option<String>,
    /// Instead of the set's own.
    policy: Option<Policy>,
    #[serde(default)]
    releases: Releases,
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
    #[error(transparent)]
    Unreadable(#[from] file::Error),
    #[error("{}: {reason}", path.display())]
    Malformed { path: PathBuf, reason: String },
}

/// One guest of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Place of its configuration in the file.
    pub configuration: usize,
    /// Place of its loads among [`Experiment::loads`].
    pub loads: usize,
    pub cpus: u32,
    pub seed: u64,
    pub task: Task,
}

/// What a row of the table is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOf {
    /// Place in the file.
    pub configuration: usize,
    /// Place among [`Experiment::loads`].
    pub loads: usize,
    pub cpus: u32,
    pub timers: u32,
    pub event: Event,
}

impl RowOf {
    /// The row that the work of this one is compared with.
    pub fn reference(self) -> Self {
        Self {
            configuration: 0,
            ..self
        }
    }

    /// Whether the run is one of this row's.
    pub fn has(&self, run: &Run) -> bool {
        let of_run = Self {
            configuration: run.configuration,
            loads: run.loads,
            cpus: run.cpus,
            timers: run.task.timers,
            event: run.task.event,
        };
        *self == of_run
    }
}

impl Experiment {
    /// Reads `path`.
    ///
    /// # Errors
    /// A sentence that names the file, and the line where that is known.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let malformed = |reason| Error::Malformed {
            path: path.to_owned(),
            reason,
        };
        let text = String::from_utf8(file::read_text(path)?)
            .map_err(|_| malformed("it is no text; name an experiment file".to_owned()))?;
        Self::parse(&text).map_err(malformed)
    }

    /// Leaves only these configurations, in the order of the file. Rows are then compared with the
    /// first of them.
    ///
    /// # Errors
    /// A sentence that names one that is not there, and those that are.
    pub fn keep_only(&mut self, names: &[String]) -> Result<(), String> {
        let there: Vec<&str> = self
            .configurations
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        if let Some(name) = names.iter().find(|name| !there.contains(&name.as_str())) {
            return Err(format!(
                "there is no configuration {name:?} in {}; it has {}",
                self.name,
                there.join(", ")
            ));
        }
        self.configurations.retain(|one| names.contains(&one.name));
        Ok(())
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let experiment: Self = toml::from_str(text).map_err(|error| {
            Fault::in_toml(text, error.span(), error.message(), &allowed).to_string()
        })?;
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
        let events = self.events.iter().map(|event| event.name().to_owned());
        unique("event", events.collect())?;
        self.check_measures()?;
        self.check_sets()?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(format!(
                "the name {:?} must be letters, digits, - and _: it is part of file names",
                self.name
            ));
        }
        let can_be = 2..=bochs::CPUS_MAX;
        if let Some(cpus) = self.cpus.iter().find(|cpus| !can_be.contains(cpus)) {
            return Err(out_of_range("cpus", cpus));
        }
        let zeros = [
            ("seconds", self.seconds == 0),
            ("interval_us", self.interval == Some(0)),
            ("timers", self.timers.contains(&0)),
            ("cpus_per_load", self.cpus_per_load == Some(0)),
        ];
        if let Some((key, _)) = zeros.iter().find(|(_, is_zero)| *is_zero) {
            return Err(out_of_range(key, &0));
        }
        self.check_places()?;
        let sets = self.loads.sets();
        if sets.is_empty() {
            return Err("the table loads holds no list; write loads = [] for none".to_owned());
        }
        let strange = |name: &&String| name.is_empty() || !name.chars().all(plain);
        if let Some(name) = sets
            .iter()
            .filter_map(|set| set.name.as_ref())
            .find(strange)
        {
            return Err(format!(
                "the name {name:?} in the table loads must be letters, digits, - and _: it is part \
                 of the names of rows"
            ));
        }
        Ok(())
    }

    /// Ticks are 1, 4 or 10 ms long: a period without a divisor in common with them has neither 2
    /// nor 5 for one.
    fn check_places(&self) -> Result<(), String> {
        let us = self.interval_us();
        let keeps = us.is_multiple_of(2) || us.is_multiple_of(5);
        match self.place_us {
            None if keeps => Err(format!(
                "interval_us: with a period of {us} RT0 comes to few places of the tick; write a \
                 number that neither 2 nor 5 divides, such as {INTERVAL_US}, or name the place \
                 that it is to keep, place_us = 0"
            )),
            _ => Ok(()),
        }
    }

    /// RT0's period.
    pub fn interval_us(&self) -> u64 {
        let usual = match self.place_us {
            None => INTERVAL_US,
            Some(_) => INTERVAL_OF_PLACE_US,
        };
        self.interval.unwrap_or(usual)
    }

    /// Every guest of the experiment; those of one row come together.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for row in self.rows() {
            for &measure in &self.measure {
                for &seed in self.seeds_of(measure) {
                    runs.push(Run {
                        configuration: row.configuration,
                        loads: row.loads,
                        cpus: row.cpus,
                        seed,
                        task: self.task(&row, measure),
                    });
                }
            }
        }
        runs
    }

    /// Every row; those that are compared with each other come together.
    pub fn rows(&self) -> Vec<RowOf> {
        let mut rows = Vec::new();
        for loads in 0..self.loads.sets().len() {
            for &cpus in &self.cpus {
                for (&timers, &event) in self.of_rt0() {
                    for configuration in 0..self.configurations.len() {
                        rows.push(RowOf {
                            configuration,
                            loads,
                            cpus,
                            timers,
                            event,
                        });
                    }
                }
            }
        }
        rows
    }

    /// Each number of RT0's threads with each event.
    fn of_rt0(&self) -> impl Iterator<Item = (&u32, &Event)> {
        let each = |timers| self.events.iter().map(move |event| (timers, event));
        self.timers.iter().flat_map(each)
    }

    /// What people call the guest of a run.
    pub fn guest_name(&self, run: &Run) -> String {
        let mut name = self.configurations[run.configuration].name.clone();
        if let Some(loads) = &self.loads.sets()[run.loads].name {
            name = format!("{name}, loads {loads}");
        }
        if self.events.len() > 1 {
            name = format!("{name}, {}", run.task.event.name());
        }
        format!("{name}, {} CPUs, seed {}", run.cpus, run.seed)
    }

    fn seeds_of(&self, measure: Measure) -> &[u64] {
        match (&self.kernel_latency_seeds, measure) {
            (Some(seeds), Measure::KernelLatency) => seeds,
            _ => &self.seeds,
        }
    }

    /// What runs beside RT0: one process for each.
    pub fn loads_of(&self, row: &RowOf) -> Vec<Load> {
        self.loads.sets()[row.loads].on(row.cpus, self.cpus_per_load)
    }

    fn task(&self, row: &RowOf, measure: Measure) -> Task {
        Task {
            measure,
            scheduler: self.configurations[row.configuration].scheduler.clone(),
            rt: rt_cpus(row.cpus),
            timers: row.timers,
            loads: self.loads_of(row),
            seconds: self.seconds,
            answers: self.answers.clone(),
            event: row.event,
            interval_us: self.interval_us(),
            place_us: self.place_us,
            groups: self.groups,
            watch: self.configurations[row.configuration].watch,
            set: self.asked(&self.configurations[row.configuration]),
        }
    }
}

/// The RT CPU: the last one, because the first has most of a machine's interrupts.
fn rt_cpus(cpus: u32) -> CpuList {
    CpuList::from_iter([cpus.saturating_sub(1)])
}

impl Configuration {
    /// The kernel's name for the lab.
    pub fn kernel(&self) -> &str {
        match (&self.kernel, self.preemption) {
            (Some(release), _) => release,
            (None, Preemption::Rt) => "newest-rt",
            (None, Preemption::Lazy | Preemption::Full) => "newest",
        }
    }

    /// Checks that the kernel can be preempted as the file says: `rt` is one built for it, and a
    /// file may name any release.
    ///
    /// # Errors
    /// [`LabError::KernelUnfit`].
    pub fn fits(&self, kernel: &Kernel) -> Result<(), LabError> {
        let is_rt = kernel.facts.flavour == Flavour::Rt;
        if is_rt == (self.preemption == Preemption::Rt) {
            return Ok(());
        }
        Err(LabError::KernelUnfit {
            configuration: self.name.clone(),
            preemption: self.preemption.name(),
            release: kernel.facts.release.clone(),
            built: if is_rt { "with" } else { "without" },
        })
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
mod tests;
