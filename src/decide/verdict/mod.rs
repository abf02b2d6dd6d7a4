// SPDX-License-Identifier: GPL-2.0-only
//! Real time or real fast, for this job on this machine.
//!
//! Owns the judgement of each candidate ([`miss`]), the choice ([`choice`]), the paper's
//! principles and decision flow ([`flow`], [`principles`]), and the numbers that would flip the
//! choice ([`flips`]). Writes no sentence: that is `report::decision`. Source: McKenney, "'Real
//! Time' vs. 'Real Fast': How to Choose?", section 5.
//!
//! Measured facts decide. The paper's flow is a rule of thumb and is shown beside them; only
//! what a measurement of latency cannot show (memory that is oversubscribed, a virtual machine
//! that was not measured) overrules them.

pub mod busy;
pub mod candidate;
pub mod choice;
mod facts;
pub mod flips;
pub mod flow;
pub mod miss;
mod missing;
pub mod principles;

pub use candidate::{Candidate, Origin, Way};
pub use choice::{Because, Choice, Decided, Nearest};
pub use facts::Facts;
pub use flips::Flip;
pub use miss::{Meets, Misses, Slowdown, WorkTimes};
pub use missing::{Again, Next, Unknown};

use crate::compare::metric::Stat;
use crate::compare::{self, Interval};
use crate::completion::{self, Crossing, Line};
use crate::job::{self, Job, Work};
use artis_result::{Distribution, Nature};
use principles::{Principle, Speaks};
use serde::Serialize;

/// The names that candidates may have.
pub const WAYS: &str = "stock, tuned, shield, artis, rt, artis-rt, xenomai, evl or rtai";

/// Why nothing is decided.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Job(#[from] job::Error),
    #[error(transparent)]
    Figures(#[from] compare::figures::Error),
    #[error(transparent)]
    Compare(#[from] compare::Error),
    #[error("{0:?} does not say which way to run the machine it is; name it {WAYS}: stock=FILE")]
    NoWay(String),
    #[error("{name} is called {way}, and its file was measured on {found}; name it by what it is")]
    OtherWay {
        name: String,
        way: Way,
        found: String,
    },
    #[error(
        "different machines ({what}): {one}, {other}; a verdict is for one machine, so measure all \
         there"
    )]
    Machines {
        what: &'static str,
        one: String,
        other: String,
    },
    #[error(
        "units of work of {one} and {other} have different numbers of steps; measure the second one \
         with --like and the first one's file"
    )]
    Pieces { one: String, other: String },
    #[error(
        "different policies: {one}, {other}; a normal thread waits for others whatever the kernel \
         is, so measure all with one priority"
    )]
    Policies { one: String, other: String },
    #[error("different loads: {one}, {other}; measure all under the same load")]
    Loads { one: String, other: String },
    #[error(
        "the job's other work is {rest}, and the files were measured with {measured}; measure with \
         --load {rest}, or correct the job"
    )]
    OtherLoad { rest: String, measured: String },
    #[error(
        "the work's times are of {work}, and the candidates' are an emulator's: these are not in \
         one unit; give the work as a time, or measure on the machine"
    )]
    EmulatedFacts { work: String },
    #[error("different commands: {one}, {other}; measure the same one everywhere")]
    Commands { one: String, other: String },
    #[error(
        "the job's other work is {rest}, and the files have times of {measured}; measure it with \
         artis measure throughput -- {rest}, or correct the job"
    )]
    OtherCommand { rest: String, measured: String },
    #[error(
        "{0} has no histogram of execution times, so it is no distribution of work; give a result \
         of artis measure exec"
    )]
    NoWork(String),
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    pub job: Job,
    /// On the baseline; none when the job does not say or only a measurement would.
    pub work: Option<WorkTimes>,
    /// How to ask again.
    pub again: Again,
}

impl Question {
    /// `times` are those of the job's work file or command.
    ///
    /// # Errors
    /// [`Error::NoWork`] when they have no histogram.
    pub fn new(job: Job, times: Option<&Distribution>) -> Result<Self, Error> {
        let work = match (&job.work, times) {
            (Some(Work::Us(us)), _) => Some(WorkTimes::fixed(*us)),
            (Some(Work::File(path)), Some(times)) => {
                let times = WorkTimes::of(times);
                Some(times.ok_or_else(|| Error::NoWork(path.clone()))?)
            }
            (Some(Work::Command(words)), Some(times)) => {
                let times = WorkTimes::of(times);
                Some(times.ok_or_else(|| Error::NoWork(words.join(" ")))?)
            }
            _ => None,
        };
        Ok(Self {
            job,
            work,
            again: Again::default(),
        })
    }
}

/// A candidate and what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    pub name: String,
    pub way: Way,
    pub origin: Origin,
    pub latency_us_mean: Option<f64>,
    pub latency_us_max: Option<f64>,
    /// Of the baseline's throughput.
    pub throughput_kept: Option<f64>,
    /// Where that lies with 95 % confidence; none where one of both was measured once.
    pub throughput_interval: Option<Interval>,
    pub slowdown: Slowdown,
    pub misses: Option<Misses>,
    pub meets: Meets,
    /// It costs no more of the other work than the job allows; unknown counts as yes.
    pub affordable: bool,
    /// The part of the peak's work that it does: all where it keeps what the job uses then.
    pub served: Option<f64>,
}

/// Where work gets so long that the baseline finishes it first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BreakEven {
    pub candidate: String,
    pub base: String,
    pub nature: Nature,
    pub crossing: Crossing,
    /// From the curves of completion times; else from mean latencies and the slowdown.
    pub measured: bool,
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub job: Job,
    pub unit: String,
    pub decided: Decided,
    /// What to measure when the answer is unknown.
    pub next: Option<Next>,
    /// The words that ask again.
    pub again: Again,
    /// What should be alike in the files and is not, a sentence each.
    pub unlike: Vec<String>,
    pub candidates: Vec<Judged>,
    /// Name of the candidate that prices are relative to, and whether it is a virtual machine.
    pub base: Option<String>,
    pub base_is_virtual: bool,
    /// How long the work takes on the baseline; none where that is not known.
    pub work_us_mean: Option<f64>,
    pub flips: Vec<Flip>,
    pub break_even: Vec<BreakEven>,
    pub flow: Vec<flow::Answer>,
    /// What the flow ends in.
    pub flow_says: flow::End,
    pub principles: [(Principle, Speaks); 6],
    /// What is not known and would matter.
    pub unknown: Vec<Unknown>,
}

/// How far a verdict carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// What was measured on this machine is good enough, that way.
    Meets,
    /// This machine cannot do it.
    Cannot,
    /// Not known, or only of an emulator or of another machine.
    Unknown,
}

impl Verdict {
    /// The candidate of this name.
    pub fn candidate(&self, name: &str) -> Option<&Judged> {
        self.candidates.iter().find(|one| one.name == name)
    }

    /// How far it carries.
    pub fn standing(&self) -> Standing {
        let here = |name: &String| {
            let candidate = self.candidate(name);
            candidate.is_some_and(|one| one.origin == Origin::Measured)
        };
        match self.decided.choice {
            Choice::NotOnThisMachine => Standing::Cannot,
            Choice::Take(_) if self.decided.candidate.as_ref().is_none_or(here) => Standing::Meets,
            Choice::Take(_) | Choice::Unknown => Standing::Unknown,
        }
    }
}

/// Decides.
///
/// # Errors
/// [`Error::OtherLoad`] when the facts are of another load than the job's,
/// [`Error::EmulatedFacts`] when the work was measured on a machine and they were not.
pub fn verdict(question: &Question, facts: &Facts) -> Result<Verdict, Error> {
    same_load(&question.job, facts)?;
    if facts.are_emulated() && question.work.is_some() {
        let work = match &question.job.work {
            Some(Work::File(path)) => Some(path.clone()),
            Some(Work::Command(words)) => Some(words.join(" ")),
            _ => None,
        };
        if let Some(work) = work {
            return Err(Error::EmulatedFacts { work });
        }
    }
    let none = flips::Changes::none(facts);
    let judged = choice::judge(question, facts, &none);
    let decided = choice::choose(question, facts, &judged, &none);
    let (flow, flow_says) = flow::flow(question);
    Ok(Verdict {
        job: question.job.clone(),
        unit: facts.unit.clone(),
        flips: flips::flips(question, facts, &judged, &decided, &none),
        break_even: break_even(question, facts, &judged),
        flow,
        flow_says,
        principles: principles::principles(question, facts, &judged),
        unknown: missing::unknown(question, facts, &judged, &decided),
        next: missing::next(&question.again, facts, &decided),
        again: question.again.clone(),
        base: facts.base().map(|base| base.name().to_owned()),
        base_is_virtual: facts.base().is_some_and(Candidate::is_virtual),
        work_us_mean: question.work.as_ref().map(WorkTimes::mean_us),
        unlike: facts.unlike(),
        decided,
        candidates: judged,
    })
}

fn same_load(job: &Job, facts: &Facts) -> Result<(), Error> {
    let commands = facts.candidates.iter();
    let measured = commands
        .filter_map(|one| one.command.as_ref()?.words.clone())
        .next();
    if let (Some(words), Some(measured)) = (&job.rest_command, measured) {
        let rest = words.join(" ");
        if rest != measured {
            return Err(Error::OtherCommand { rest, measured });
        }
    }
    let (Some(rest), Some(base)) = (&job.rest, facts.base()) else {
        return Ok(());
    };
    let loads = &base.configuration.loads;
    let mut wanted: Vec<&str> = rest.split([',', '+']).map(str::trim).collect();
    wanted.sort_unstable();
    if wanted.iter().eq(loads.iter()) {
        return Ok(());
    }
    Err(Error::OtherLoad {
        rest: rest.clone(),
        measured: match loads.as_slice() {
            [] => "no load".to_owned(),
            loads => loads.join(", "),
        },
    })
}

/// For every candidate but the base.
fn break_even(question: &Question, facts: &Facts, judged: &[Judged]) -> Vec<BreakEven> {
    let nature = question.job.nature;
    let Some(base) = facts.base() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (at, one) in facts.candidates.iter().enumerate() {
        if at == facts.base {
            continue;
        }
        let curve = |it: &Candidate| it.curves.iter().find(|it| it.nature == nature).cloned();
        let measured = curve(one).zip(curve(base));
        let crossing = match &measured {
            Some((ours, theirs)) => completion::crossing(ours, theirs),
            None => {
                let line = |it: &Candidate, slowdown: f64| {
                    let start_us = it.latency_us(Stat::Mean)?;
                    Some(Line { start_us, slowdown })
                };
                let ours = line(one, judged[at].slowdown.factor);
                let theirs = line(base, 1.0);
                ours.zip(theirs)
                    .and_then(|(ours, theirs)| ours.break_even_us(&theirs))
                    .map(|length_us| Crossing {
                        length_us,
                        low_us: None,
                        high_us: None,
                    })
            }
        };
        all.extend(crossing.map(|crossing| BreakEven {
            candidate: one.name().to_owned(),
            base: base.name().to_owned(),
            nature,
            crossing,
            measured: measured.is_some(),
        }));
    }
    all
}

#[cfg(test)]
mod tests;
