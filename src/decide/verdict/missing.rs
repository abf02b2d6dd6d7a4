// SPDX-License-Identifier: GPL-2.0-only
//! What is not known and would matter, and what to measure to know it.

use super::choice::{Decided, Missing};
use super::miss::{self, Meets, SlowdownSource};
use super::{Facts, Judged, Origin, Question, Way};
use crate::job::Work;

/// The longest duration that a measurement takes: 36,500 days.
const SECONDS_MAX: f64 = 36_500.0 * 86_400.0;

/// The words that ask the question again.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// With the job, and without files: `artis decide job.toml`.
    pub command: String,
    /// Whether `--measure` was among them: what it left out, it cannot measure.
    pub measured: bool,
    /// All words, where the runs are kept in a folder: they go on there on another kernel.
    pub kept: Option<String>,
}

impl Default for Again {
    fn default() -> Self {
        Self {
            command: "artis decide JOB.toml".to_owned(),
            measured: false,
            kept: None,
        }
    }
}

/// What to measure next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// All ways of this kernel.
    Here,
    /// The same for so many seconds.
    Longer(f64),
    /// The ways of another kernel, which is a PREEMPT_RT one or is not.
    Elsewhere { is_rt: bool },
    /// Rounds of a barrier, of this candidate.
    Rounds(String),
}

/// What is not known and would matter. Candidates have their names.
#[derive(Clone, Debug, PartialEq)]
pub enum Unknown {
    /// How long the command of the work takes.
    Work,
    /// How sure the prices are: these were measured once.
    Prices(Vec<String>),
    /// Whether it never misses.
    NeverMisses(String),
    Latency(String),
    Cost(String),
    Slowdown(String),
    /// Whether it was measured on this machine.
    Here(String),
    /// Whether all is of one machine: in the files of these no CPU has a name.
    OneMachine(Vec<String>),
    /// How long a barrier's round takes.
    Round(String),
    /// These ways of this kernel.
    Ways(Vec<Way>),
    /// These ways of another kernel.
    WaysElsewhere(Vec<Way>),
}

/// What to measure when the answer is unknown.
pub fn next(again: &Again, facts: &Facts, decided: &Decided) -> Option<Next> {
    match decided.missing.as_ref()? {
        Missing::Ways(ways) => {
            let [here, there] = by_kernel(again, facts, ways);
            let is_rt = there.first().map(|way| way.is_preempt_rt());
            match here.is_empty() {
                false => Some(Next::Here),
                true => is_rt.map(|is_rt| Next::Elsewhere { is_rt }),
            }
        }
        Missing::Longer(seconds) => seconds
            .filter(|seconds| *seconds <= SECONDS_MAX)
            .map(Next::Longer),
        Missing::Loads | Missing::Inside => Some(Next::Here),
        Missing::Rounds(name) => Some(Next::Rounds(name.clone())),
        Missing::Nothing => None,
    }
}

/// The ways that can be measured here, and those that another kernel has. A measurement that left
/// ways of its own kernel out said why.
fn by_kernel(again: &Again, facts: &Facts, ways: &[Way]) -> [Vec<Way>; 2] {
    let mut candidates = facts.candidates.iter();
    let here_is_rt = candidates.any(|one| one.way.is_preempt_rt());
    let is_of_both = || facts.candidates.iter().any(|one| !one.way.is_preempt_rt());
    // A folder that went on on both kinds of kernels has what each of them can be.
    if again.measured && here_is_rt && is_of_both() {
        return [Vec::new(), Vec::new()];
    }
    let is_rt = again.measured && here_is_rt;
    let (mut here, there): (Vec<Way>, Vec<Way>) =
        ways.iter().partition(|way| way.is_preempt_rt() == is_rt);
    if again.measured {
        here.clear();
    }
    [here, there]
}

/// What would have to be measured.
pub fn unknown(
    question: &Question,
    facts: &Facts,
    judged: &[Judged],
    decided: &Decided,
) -> Vec<Unknown> {
    let job = &question.job;
    let mut all = Vec::new();
    if let (Some(Work::Command(_)), None) = (&job.work, &question.work) {
        all.push(Unknown::Work);
    }
    let once = facts.measured_once(job);
    if !once.is_empty() {
        all.push(Unknown::Prices(
            once.into_iter().map(str::to_owned).collect(),
        ));
    }
    let chosen = |one: &&Judged| decided.candidate.as_ref() == Some(&one.name);
    if let Some(one) = judged.iter().find(chosen)
        && let (Some(_), None) = (&one.misses, miss::allowed(job))
        && one.meets == Meets::Yes
    {
        all.push(Unknown::NeverMisses(one.name.clone()));
    }
    for one in judged {
        let name = || one.name.clone();
        if job.deadline_us.is_some() && one.misses.is_none() && one.latency_us_max.is_none() {
            all.push(Unknown::Latency(name()));
        }
        if one.throughput_kept.is_none() && one.origin != Origin::Elsewhere {
            all.push(Unknown::Cost(name()));
        }
        if one.slowdown.source == SlowdownSource::Unknown {
            all.push(Unknown::Slowdown(name()));
        }
    }
    all.extend(machines(facts));
    if job.barrier && job.deadline_us.is_none() {
        let silent = facts.candidates.iter().filter(|one| one.round_us.is_none());
        all.extend(silent.map(|one| Unknown::Round(one.name().to_owned())));
    }
    let [here, there] = by_kernel(&question.again, facts, &facts.unmeasured());
    all.extend((!here.is_empty()).then_some(Unknown::Ways(here)));
    all.extend((!there.is_empty()).then_some(Unknown::WaysElsewhere(there)));
    all
}

/// Whether all is of one machine, where files do not say it.
fn machines(facts: &Facts) -> Vec<Unknown> {
    let here = facts
        .candidates
        .iter()
        .filter(|one| one.origin == Origin::Measured);
    let nameless = here.clone().filter(|one| one.machine.is_none());
    let mut all: Vec<Unknown> = nameless
        .map(|one| Unknown::Here(one.name().to_owned()))
        .collect();
    let no_cpu = here.filter(|one| {
        let machine = one.machine.as_ref();
        machine.is_some_and(|machine| machine.cpu_model.is_none())
    });
    let no_cpu: Vec<String> = no_cpu.map(|one| one.name().to_owned()).collect();
    if !no_cpu.is_empty() {
        all.push(Unknown::OneMachine(no_cpu));
    }
    all
}
