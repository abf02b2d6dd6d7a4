// SPDX-License-Identifier: GPL-2.0-only
//! All candidates together: refuses what does not belong together, and gives what each keeps of
//! the baseline's throughput.

use super::Error;
use super::busy::cpus;
use super::candidate::{Candidate, Origin, Way};
use crate::compare::figures::machine::{HARDWARE, difference};
use crate::compare::figures::setup::{
    KERNEL, NORMAL, POLICY, PREEMPTION, SCHEDULER, Setup, unlike,
};
use crate::compare::{self, Comparison, Interval, interval::fieller};
use crate::job::Job;

/// The candidates, and the comparison of their figures.
#[derive(Clone, Debug)]
pub struct Facts {
    pub candidates: Vec<Candidate>,
    /// The unit of all times.
    pub unit: String,
    /// Index of the one that prices are relative to: stock, or the first.
    pub base: usize,
    /// Of the throughput, of each candidate. Known for the base: 1.
    pub kept: Vec<Option<f64>>,
    /// The same by how long a command took.
    pub kept_by_command: Vec<Option<f64>>,
    /// Where `kept` lies with 95 % confidence; none where one of both was measured once.
    pub kept_intervals: Vec<Option<Interval>>,
    pub comparison: Option<Comparison>,
}

impl Facts {
    /// Puts the candidates together.
    ///
    /// # Errors
    /// [`Error`] when they are of different machines, units or loads.
    pub fn new(candidates: Vec<Candidate>) -> Result<Self, Error> {
        let unit = one_unit(&candidates)?;
        one_machine(&candidates)?;
        one_load(&candidates)?;
        one_policy(&candidates)?;
        one_piece(&candidates)?;
        one_command(&candidates)?;
        let base = candidates
            .iter()
            .position(|one| one.way == Way::Stock)
            .unwrap_or(0);
        let comparison = match candidates.len() {
            0 => None,
            _ => {
                let all = candidates.iter().map(|one| one.configuration.clone());
                let name = candidates[base].name().to_owned();
                Some(compare::compare(
                    all.collect(),
                    unit.clone(),
                    Some(&name),
                    false,
                )?)
            }
        };
        let kept_by_command: Vec<Option<f64>> = candidates
            .iter()
            .map(|one| by_command(one, &candidates[base]))
            .collect();
        let kept = (0..candidates.len())
            .map(|at| match at == base {
                true => Some(1.0),
                false => by_loads(comparison.as_ref(), at).or(kept_by_command[at]),
            })
            .collect();
        let intervals = |all: &Comparison| {
            let each = all.configurations.iter();
            each.map(|one| all.throughput_kept_interval(one)).collect()
        };
        Ok(Self {
            candidates,
            unit,
            base,
            kept,
            kept_by_command,
            kept_intervals: comparison.as_ref().map(intervals).unwrap_or_default(),
            comparison,
        })
    }

    /// What a candidate keeps of the job's other work, and where that lies.
    pub fn kept_of(&self, job: &Job, at: usize) -> (Option<f64>, Option<Interval>) {
        match job.rest_command {
            Some(_) => (self.kept_by_command[at], self.interval_by_command(at)),
            None => (self.kept[at], self.kept_intervals[at]),
        }
    }

    fn interval_by_command(&self, at: usize) -> Option<Interval> {
        let command = |at: usize| self.candidates[at].command.as_ref();
        let (ours, base) = command(at).zip(command(self.base))?;
        (at != self.base).then(|| fieller(&base.runs_ns, &ours.runs_ns))?
    }

    /// The candidate that prices are relative to.
    pub fn base(&self) -> Option<&Candidate> {
        self.candidates.get(self.base)
    }

    pub fn are_emulated(&self) -> bool {
        self.candidates
            .iter()
            .any(|one| one.origin == Origin::Emulated)
    }

    /// Those whose price has no interval, because they were measured once; the base among them.
    /// None in the lab, where a run is repeated to the byte.
    pub fn measured_once(&self, job: &Job) -> Vec<&str> {
        let priced = |at: usize| at != self.base && self.kept_of(job, at).0.is_some();
        let runs = |one: &Candidate| match job.rest_command {
            Some(_) => one.command.as_ref().map_or(0, |all| all.runs_ns.len()),
            None => one.configuration.runs.len(),
        };
        if !(0..self.candidates.len()).any(priced) {
            return Vec::new();
        }
        let all = self.candidates.iter().enumerate();
        all.filter(|(at, one)| {
            (*at == self.base || priced(*at)) && one.origin == Origin::Measured && runs(one) < 2
        })
        .map(|(_, one)| one.name())
        .collect()
    }

    /// The ways that Linux can be here. One CPU leaves none for everybody else, and then there is
    /// nothing to partition.
    pub fn possible(&self) -> impl Iterator<Item = Way> {
        let machines = self
            .candidates
            .iter()
            .filter_map(|one| one.machine.as_ref());
        let alone = machines
            .map(|machine| cpus(&machine.cpus))
            .any(|cpus| cpus == 1);
        let without = [Way::Stock, Way::PreemptRt];
        let ways = Way::LINUX.into_iter();
        ways.filter(move |way| !alone || without.contains(way))
    }

    /// Those of which nothing is known.
    pub fn unmeasured(&self) -> Vec<Way> {
        let known = |way: &Way| self.candidates.iter().any(|one| one.way == *way);
        self.possible().filter(|way| !known(way)).collect()
    }

    /// What should be alike and is not, a sentence each.
    pub fn unlike(&self) -> Vec<String> {
        let mut all = self.candidates.iter();
        let kernels = all.clone().map(|one| one.way.is_preempt_rt());
        let is_mixed = kernels.clone().any(|is| is) && kernels.clone().any(|is| !is);
        // A kernel with PREEMPT_RT has a name of its own.
        let version = |release: &str| {
            let end = release.find(|c: char| c != '.' && !c.is_ascii_digit());
            release[..end.unwrap_or(release.len())].to_owned()
        };
        let setups: Vec<(&str, Setup)> = all
            .by_ref()
            .filter(|one| one.origin != Origin::Elsewhere)
            .map(|one| {
                let setup = one.configuration.setup.clone();
                let setup = match is_mixed {
                    true => setup.with(KERNEL, version),
                    false => setup,
                };
                (one.name(), setup)
            })
            .collect();
        let setups: Vec<(&str, &Setup)> = setups.iter().map(|(name, one)| (*name, one)).collect();
        // The way says these.
        unlike(&setups, &[PREEMPTION, SCHEDULER])
    }
}

fn by_loads(comparison: Option<&Comparison>, at: usize) -> Option<f64> {
    comparison.and_then(|all| all.throughput_kept(&all.configurations[at]))
}

fn by_command(one: &Candidate, base: &Candidate) -> Option<f64> {
    let (ours, theirs) = one.command.as_ref().zip(base.command.as_ref())?;
    Some(theirs.mean_ns / ours.mean_ns).filter(|kept| kept.is_finite())
}

/// Times of different commands say nothing of each other.
fn one_command(candidates: &[Candidate]) -> Result<(), Error> {
    let mut all = candidates
        .iter()
        .filter_map(|one| Some((one.name(), one.command.as_ref()?.words.as_ref()?)));
    let Some((first, words)) = all.next() else {
        return Ok(());
    };
    match all.find(|(_, other)| *other != words) {
        None => Ok(()),
        Some((name, other)) => Err(Error::Commands {
            one: format!("{first} ran {words}"),
            other: format!("{name} ran {other}"),
        }),
    }
}

fn one_unit(candidates: &[Candidate]) -> Result<String, Error> {
    let unit = |one: &Candidate| one.configuration.unit.clone();
    let Some(first) = candidates.first() else {
        return Ok("us".to_owned());
    };
    match candidates.iter().find(|one| unit(one) != unit(first)) {
        None => Ok(unit(first)),
        Some(other) => Err(Error::Compare(compare::Error::Units {
            one: first.name().to_owned(),
            one_unit: unit(first),
            other: other.name().to_owned(),
            other_unit: unit(other),
        })),
    }
}

/// Kernels and schedulers differ, machines must not. What was measured elsewhere says so itself.
fn one_machine(candidates: &[Candidate]) -> Result<(), Error> {
    let here = candidates
        .iter()
        .filter(|one| one.origin == Origin::Measured)
        .filter_map(|one| Some((one.name(), one.machine.as_ref()?)));
    match difference(&HARDWARE, here) {
        None => Ok(()),
        Some(found) => Err(Error::Machines {
            what: found.what,
            one: format!("{} has {}", found.one.0, found.one.1),
            other: format!("{} has {}", found.other.0, found.other.1),
        }),
    }
}

/// Curves of completion times are comparable when a unit is the same work.
fn one_piece(candidates: &[Candidate]) -> Result<(), Error> {
    let mut all = candidates
        .iter()
        .filter_map(|one| Some((one.name(), one.steps.as_ref()?)));
    let Some((first, steps)) = all.next() else {
        return Ok(());
    };
    match all.find(|(_, other)| *other != steps) {
        None => Ok(()),
        Some((other, _)) => Err(Error::Pieces {
            one: first.to_owned(),
            other: other.to_owned(),
        }),
    }
}

/// A normal thread waits for others, whatever the kernel.
fn one_policy(candidates: &[Candidate]) -> Result<(), Error> {
    let here = candidates
        .iter()
        .filter(|one| one.origin == Origin::Measured);
    let mut all = here.flat_map(|one| {
        let policies = one.configuration.setup.values(POLICY);
        policies.map(|policy| (one.name(), policy))
    });
    let Some((first, policy)) = all.next() else {
        return Ok(());
    };
    match all.find(|(_, other)| (*other == NORMAL) != (policy == NORMAL)) {
        None => Ok(()),
        Some((name, other)) => Err(Error::Policies {
            one: format!("{first} was measured as {policy}"),
            other: format!("{name} as {other}"),
        }),
    }
}

fn one_load(candidates: &[Candidate]) -> Result<(), Error> {
    let here = |one: &&Candidate| one.origin != Origin::Elsewhere;
    let mut all = candidates.iter().filter(here);
    let Some(first) = all.next() else {
        return Ok(());
    };
    match all.find(|one| one.loads != first.loads) {
        None => Ok(()),
        Some(other) => Err(Error::Loads {
            one: format!("{} had {}", first.name(), first.loads),
            other: format!("{} had {}", other.name(), other.loads),
        }),
    }
}
