// SPDX-License-Identifier: GPL-2.0-only
//! Which candidate it is, and the fact that decides.
//!
//! Of those that meet the deadline at an acceptable price, the one that keeps most throughput; of
//! those that keep as much, the one that changes least.

use super::busy::{TooIdle, too_idle};
use super::candidate::{Candidate, Way};
use super::flips::Changes;
use super::miss::{self, Beyond, Meets, Misses, WorkTimes};
use super::{Facts, Judged, Question};
use crate::compare::metric::Stat;
use crate::job::{Job, Miss};
use serde::Serialize;

/// Throughputs within 1 % of each other are the same: less is the noise of a good benchmark.
const SAME: f64 = 0.01;

/// What to do. "No" and "unknown" are different answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Run it that way; stock: stay as you are.
    Take(Way),
    /// No way to run this machine is good enough: all were measured, or no measurement matters.
    NotOnThisMachine,
    /// Not enough is known.
    Unknown,
}

/// The choice and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    pub choice: Choice,
    /// Name of the candidate that it is.
    pub candidate: Option<String>,
    pub because: Because,
    /// What is missing for an answer; none where there is one.
    pub missing: Option<Missing>,
}

/// The fact that decides. Candidates have their names.
#[derive(Clone, Debug, PartialEq)]
pub enum Because {
    /// The work alone takes at least this, us.
    WorkTooLong(f64),
    MemoryFull,
    /// It has to be a virtual machine, and none was measured.
    NotInside,
    NothingMeasured,
    WorkNotMeasured,
    NoLatency,
    TooIdle(TooIdle),
    /// This one meets the deadline at a price that nobody measured.
    NoPrice(String),
    /// The candidate meets the deadline.
    Meets,
    /// This one may be good enough, and so many activations without a miss would show it.
    NotShown(String, Option<u64>),
    /// None is good enough and cheap enough; these ways were not measured.
    NoneIsGood(Nearest, Vec<Way>),
    NoRounds,
    /// A barrier's round takes so long on the candidate and on the baseline, us.
    Rounds(f64, f64),
    /// There is no deadline.
    OnlyThroughput,
}

/// Of those that are not good enough, the one that comes nearest.
#[derive(Clone, Debug, PartialEq)]
pub enum Nearest {
    /// It meets the deadline and costs too much.
    TooDear(String),
    Misses(String),
    NoLatency,
}

/// What has to be measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// These ways to run the machine.
    Ways(Vec<Way>),
    /// The same for longer, seconds.
    Longer(Option<f64>),
    /// The same beside loads, which say what it costs and how late it is then.
    Loads,
    /// The same in the virtual machine.
    Inside,
    /// Rounds of a barrier, of this candidate.
    Rounds(String),
    /// No measurement would help.
    Nothing,
}

/// Judges every candidate.
pub fn judge(question: &Question, facts: &Facts, changes: &Changes) -> Vec<Judged> {
    let job = &question.job;
    let is_idle = too_idle(job, facts).is_some();
    let all = facts.candidates.iter().enumerate();
    all.map(|(at, one)| {
        let (kept, interval) = facts.kept_of(job, at);
        let kept = kept.map(|kept| kept * changes.kept[at]);
        let length_us = question.work.as_ref().map_or(1000.0, WorkTimes::mean_us);
        let slowdown = match facts.base() {
            Some(base) if at != facts.base => {
                miss::slowdown(one, base, kept, job.nature, length_us)
            }
            _ => miss::Slowdown {
                factor: 1.0,
                source: miss::SlowdownSource::UserMode,
            },
        };
        let latencies = changes.latencies[at].as_ref();
        let mut misses = job
            .deadline_us
            .zip(question.work.as_ref())
            .zip(latencies)
            .map(|((deadline_us, work), latencies)| {
                let work = miss::work_on(work, slowdown, one);
                // Latencies that are longer by a factor: the rest of the time is shorter by it.
                let factor = changes.latency[at];
                miss::misses(
                    job,
                    deadline_us / factor,
                    &work.scaled(1.0 / factor),
                    latencies,
                )
            });
        let beyond = &changes.beyond[at];
        let meets = match &mut misses {
            Some(misses) => {
                if changes.are_none {
                    beyond.add_to(misses, one);
                }
                meets(job, misses, one, beyond, is_idle)
            }
            None => Meets::Unknown,
        };
        Judged {
            name: one.name().to_owned(),
            way: one.way,
            origin: one.origin,
            latency_us_mean: one.latency_us(Stat::Mean),
            latency_us_max: one.latency_us(Stat::Max),
            throughput_kept: kept,
            throughput_interval: interval,
            slowdown,
            misses,
            meets,
            affordable: kept.is_none_or(|kept| kept >= job.wanted() - 1e-9),
            served: kept.map(|kept| job.served(kept)),
        }
    })
    .collect()
}

/// Whether it is good enough, the machine being what it is.
fn meets(job: &Job, misses: &Misses, one: &Candidate, beyond: &Beyond, idle: bool) -> Meets {
    if idle || job.fills_memory() || job.is_virtual && !one.is_virtual() {
        // What was measured is not what will run.
        return Meets::NotShown {
            activations_needed: None,
        };
    }
    miss::meets(job, misses, one, beyond)
}

/// Chooses among what was judged.
pub fn choose(question: &Question, facts: &Facts, judged: &[Judged], changes: &Changes) -> Decided {
    let job = &question.job;
    let Some(deadline_us) = job.deadline_us else {
        return fastest(job, facts, judged, changes);
    };
    if let Some(decided) = whatever_was_measured(question, facts, deadline_us) {
        return decided;
    }
    if judged.iter().all(|one| one.meets == Meets::Unknown) {
        let because = match (judged.is_empty(), &question.work) {
            (true, _) => Because::NothingMeasured,
            (_, None) => Because::WorkNotMeasured,
            _ => Because::NoLatency,
        };
        return unknown(because, Missing::Ways(facts.possible().collect()));
    }
    if let Some(idle) = too_idle(job, facts) {
        return unknown(Because::TooIdle(idle), Missing::Loads);
    }
    let good = |one: &&Judged| one.meets.is_yes();
    let Some(best) = best(judged.iter().filter(good).filter(|one| one.affordable)) else {
        return none_is_good(facts, judged);
    };
    if best.throughput_kept.is_none() && job.loss < 1.0 {
        return unknown(Because::NoPrice(best.name.clone()), Missing::Loads);
    }
    take(best, Because::Meets)
}

/// What the job alone decides.
fn whatever_was_measured(question: &Question, facts: &Facts, deadline_us: f64) -> Option<Decided> {
    let job = &question.job;
    let work_us = question.work.as_ref().map(WorkTimes::min_us);
    if let Some(work_us) = work_us.filter(|us| *us >= deadline_us) {
        return Some(nowhere(Because::WorkTooLong(work_us)));
    }
    if job.fills_memory() {
        return Some(match job.miss {
            Miss::Hard { .. } => nowhere(Because::MemoryFull),
            Miss::PerHour(_) => unknown(Because::MemoryFull, Missing::Nothing),
        });
    }
    let is_outside = job.is_virtual && !facts.candidates.iter().any(Candidate::is_virtual);
    is_outside.then(|| unknown(Because::NotInside, Missing::Inside))
}

/// The one that keeps most of what the peak needs; of those that keep about as much, the one that
/// changes least.
fn best<'a>(all: impl Iterator<Item = &'a Judged>) -> Option<&'a Judged> {
    let all: Vec<&Judged> = all.collect();
    // Nothing is known against one whose price is unknown, but nothing for it, either.
    let kept = |one: &Judged| one.served.unwrap_or(0.0);
    let most = all.iter().map(|one| kept(one)).fold(0.0, f64::max);
    let as_good = all.into_iter().filter(|one| kept(one) >= most - SAME);
    as_good.min_by_key(|one| one.way)
}

/// Only throughput counts.
fn fastest(job: &Job, facts: &Facts, judged: &[Judged], changes: &Changes) -> Decided {
    if job.barrier {
        let round = |at: usize| Some(facts.candidates.get(at)?.round_us? * changes.round[at]);
        let rounds = (0..judged.len()).filter_map(|at| Some((&judged[at], round(at)?)));
        let rounds: Vec<(&Judged, f64)> = rounds.collect();
        let least = rounds.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
        if rounds.len() < 2 {
            let mut all = facts.candidates.iter();
            let silent = all.find(|one| one.round_us.is_none());
            let silent = silent.map_or("rt", Candidate::name).to_owned();
            return unknown(Because::NoRounds, Missing::Rounds(silent));
        }
        let best = rounds
            .iter()
            .filter(|it| it.1 <= least * (1.0 + SAME))
            .min_by_key(|it| it.0.way);
        if let (Some((best, us)), Some(base_us)) = (best, round(facts.base)) {
            return take(best, Because::Rounds(*us, base_us));
        }
    }
    let because = Because::OnlyThroughput;
    match best(judged.iter().filter(|one| one.throughput_kept.is_some())) {
        Some(best) => take(best, because),
        None => Decided {
            choice: Choice::Take(Way::Stock),
            candidate: None,
            because,
            missing: None,
        },
    }
}

fn take(one: &Judged, because: Because) -> Decided {
    Decided {
        choice: Choice::Take(one.way),
        candidate: Some(one.name.clone()),
        because,
        missing: None,
    }
}

fn nowhere(because: Because) -> Decided {
    Decided {
        choice: Choice::NotOnThisMachine,
        candidate: None,
        because,
        missing: None,
    }
}

fn unknown(because: Because, missing: Missing) -> Decided {
    Decided {
        choice: Choice::Unknown,
        candidate: None,
        because,
        missing: Some(missing),
    }
}

/// No candidate is good enough and acceptable: what is missing.
fn none_is_good(facts: &Facts, judged: &[Judged]) -> Decided {
    // One that is too costly is no answer, however long it is measured.
    let mut open = judged.iter().filter(|one| one.affordable);
    let open = open.find_map(|one| match &one.meets {
        Meets::NotShown { activations_needed } => Some((one, *activations_needed)),
        _ => None,
    });
    if let Some((one, needed)) = open {
        let because = Because::NotShown(one.name.clone(), needed);
        return unknown(because, Missing::Longer(seconds(facts, one, needed)));
    }
    let is_settled = |way: &Way| {
        let mut all = judged.iter().filter(|one| one.way == *way).peekable();
        all.peek().is_some() && all.all(|one| one.meets == Meets::No || !one.affordable)
    };
    let ways: Vec<Way> = facts.possible().filter(|way| !is_settled(way)).collect();
    let because = Because::NoneIsGood(nearest(judged), ways.clone());
    match ways.is_empty() {
        true => nowhere(because),
        false => unknown(because, Missing::Ways(ways)),
    }
}

/// Of those that were measured, the one that comes nearest.
fn nearest(judged: &[Judged]) -> Nearest {
    if let Some(dear) = judged.iter().find(|one| one.meets.is_yes()) {
        return Nearest::TooDear(dear.name.clone());
    }
    let measured = judged
        .iter()
        .filter_map(|one| Some((one, one.misses.as_ref()?)));
    let nearest = measured.min_by(|(one, misses), (other, others)| {
        let latency = |it: &Judged| it.latency_us_max.unwrap_or(f64::INFINITY);
        let probability = misses.probability.value;
        probability
            .total_cmp(&others.probability.value)
            .then(latency(one).total_cmp(&latency(other)))
    });
    nearest.map_or(Nearest::NoLatency, |(one, _)| {
        Nearest::Misses(one.name.clone())
    })
}

/// How long a run takes that shows it; without a number of activations ten times this one.
fn seconds(facts: &Facts, judged: &Judged, needed: Option<u64>) -> Option<f64> {
    let one = facts
        .candidates
        .iter()
        .find(|one| one.name() == judged.name)?;
    let activations = match needed {
        Some(needed) => needed,
        None => judged.misses.as_ref()?.activations.saturating_mul(10),
    };
    // `artis measure all` has a period of 1 ms.
    Some(activations as f64 * one.interval_us.unwrap_or(1000.0) / 1e6)
}

#[cfg(test)]
mod tests;
