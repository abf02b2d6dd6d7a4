// SPDX-License-Identifier: GPL-2.0-only
//! Which candidate it is, and the fact that decides.
//!
//! Of those that meet the deadline at an acceptable price, the one that keeps most throughput; of
//! those that keep as much, the one that changes least.

use super::busy::too_idle;
use super::candidate::{Candidate, Way};
use super::flips::Changes;
use super::miss::{self, Beyond, Meets, Misses, WorkTimes};
use super::time::time;
use super::{Facts, Judged, Origin, Question};
use crate::compare::metric::Stat;
use crate::job::{Job, Miss};
use serde::Serialize;
use std::fmt;

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

impl fmt::Display for Choice {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Take(Way::Stock) => out.write_str("stay as you are"),
            Self::Take(Way::Tuned) => out.write_str("tune: artis partition"),
            Self::Take(Way::Shield) => out.write_str("shield: artis partition --shield"),
            Self::Take(way) => write!(out, "{way}"),
            Self::NotOnThisMachine => out.write_str("not on this machine"),
            Self::Unknown => out.write_str("unknown"),
        }
    }
}

/// The choice and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decided {
    pub choice: Choice,
    /// Name of the candidate that it is.
    pub candidate: Option<String>,
    /// The fact that decides, a sentence.
    pub because: String,
    /// What is missing for an answer; none where there is one.
    #[serde(skip)]
    pub missing: Option<Missing>,
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
    if let Some(work) = &question.work
        && work.min_us() >= deadline_us
    {
        return nowhere(format!(
            "the work alone takes {} and the deadline is {}",
            time(work.min_us()),
            time(deadline_us)
        ));
    }
    if job.fills_memory() {
        let because = "the workload needs all memory or more, so page faults come, and no scheduler \
                       bounds them: buy memory, or let the workload take less";
        return match job.miss {
            Miss::Hard { .. } => nowhere(because.to_owned()),
            Miss::PerHour(_) => unknown(because.to_owned(), Missing::Nothing),
        };
    }
    if job.is_virtual && !facts.candidates.iter().any(Candidate::is_virtual) {
        let because = "it runs in a virtual machine, and none was measured: the host decides how \
                       late it is; measure inside, with CPUs of its own";
        return unknown(because.to_owned(), Missing::Inside);
    }
    if judged.iter().all(|one| one.meets == Meets::Unknown) {
        let because = match (judged.is_empty(), &question.work) {
            (true, _) => "nothing was measured",
            (_, None) => "how long the work takes was not measured",
            _ => "no file has a latency",
        };
        return unknown(
            because.to_owned(),
            Missing::Ways(facts.possible().collect()),
        );
    }
    if let Some(because) = too_idle(job, facts) {
        return unknown(because, Missing::Loads);
    }
    let good = |one: &&Judged| one.meets.is_yes();
    let Some(best) = best(judged.iter().filter(good).filter(|one| one.affordable)) else {
        return none_is_good(job, facts, judged);
    };
    if best.throughput_kept.is_none() && job.loss < 1.0 {
        let because = format!(
            "{} meets the deadline, and what it costs was not measured; {:.1} % of the throughput \
             are wanted",
            best.name,
            job.wanted() * 100.0
        );
        return unknown(because, Missing::Loads);
    }
    let base = facts.base().map_or("", Candidate::name);
    let mut because = format!("{} meets the deadline", best.name);
    let stock = judged.iter().find(|one| one.name == base);
    match stock {
        Some(stock) if stock.name != best.name && !stock.meets.is_yes() => {
            because += &match stock.meets {
                Meets::No => format!(", {base} does not: {}", shortly(stock)),
                Meets::Unknown => format!(", and {base} was not measured"),
                _ => format!(", and of {base} it is not shown: {}", shortly(stock)),
            };
        }
        Some(stock) if stock.name != best.name => {
            because += &format!(" and keeps more throughput than {base}");
        }
        _ => because += &format!(": {}", shortly(best)),
    }
    if let (true, Some(kept)) = (best.name != base, best.throughput_kept) {
        because += &format!("; it keeps {:.1} % of {base}'s throughput", kept * 100.0);
        if let Some(used) = job.utilisation {
            because += &format!(", and the peak takes {:.1} %", used * 100.0);
        }
    }
    if best.origin == Origin::Elsewhere {
        because += "; it was measured elsewhere, so measure it on this machine";
    }
    Decided {
        choice: Choice::Take(best.way),
        candidate: Some(best.name.clone()),
        because,
        missing: None,
    }
}

/// What was found of misses, in few words.
fn shortly(one: &Judged) -> String {
    match &one.misses {
        None => "it was not measured".to_owned(),
        Some(Misses {
            activations,
            extrapolation: Some(found),
            ..
        }) if one.meets == Meets::Extrapolated => format!(
            "no miss in {activations} activations, and by laws of extremes a miss has a \
             probability of at most {:.1e} each (95 %)",
            found.probability.high
        ),
        Some(it) if it.misses == 0 => format!(
            "no miss in {} activations (at most {:.1e} each, 95 %)",
            it.activations, it.at_most
        ),
        Some(it) => format!("{} of {} activations miss", it.how_many(), it.activations),
    }
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
    let base = facts.base().map_or("stock", Candidate::name);
    let take = |one: &Judged, because: String| Decided {
        choice: Choice::Take(one.way),
        candidate: Some(one.name.clone()),
        because,
        missing: None,
    };
    if job.barrier {
        let round = |at: usize| Some(facts.candidates.get(at)?.round_us? * changes.round[at]);
        let rounds = (0..judged.len()).filter_map(|at| Some((&judged[at], round(at)?)));
        let rounds: Vec<(&Judged, f64)> = rounds.collect();
        let least = rounds.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
        if rounds.len() < 2 {
            let mut all = facts.candidates.iter();
            let silent = all.find(|one| one.round_us.is_none());
            let silent = silent.map_or("rt", Candidate::name).to_owned();
            let because = "all threads wait for the slowest, and how long a round takes was not \
                           measured on two ways to run the machine";
            return unknown(because.to_owned(), Missing::Rounds(silent));
        }
        let best = rounds
            .iter()
            .filter(|it| it.1 <= least * (1.0 + SAME))
            .min_by_key(|it| it.0.way);
        if let (Some((best, us)), Some(base_us)) = (best, round(facts.base)) {
            let because = match best.name == base {
                true => format!(
                    "all threads wait for the slowest, and a round takes {} on {base}, which is no \
                     longer than elsewhere",
                    time(base_us)
                ),
                false => format!(
                    "all threads wait for the slowest: a round takes {} on {} and {} on {base}, so \
                     less OS jitter lets the work finish earlier",
                    time(*us),
                    best.name,
                    time(base_us)
                ),
            };
            return take(best, because);
        }
    }
    match best(judged.iter().filter(|one| one.throughput_kept.is_some())) {
        Some(best) if best.name == base || best.way == Way::Stock => {
            let others = judged.iter().filter(|one| one.name != base);
            let others: Vec<String> = others
                .filter_map(|one| {
                    let kept = one.throughput_kept?;
                    Some(format!("{} keeps {:.1} %", one.name, kept * 100.0))
                })
                .collect();
            let others = match others.is_empty() {
                true => String::new(),
                false => format!(", and {}", others.join(", ")),
            };
            take(
                best,
                format!("there is no deadline, so only throughput counts{others}"),
            )
        }
        Some(best) => take(
            best,
            format!(
                "there is no deadline, so only throughput counts, and {} does {:.1} % of {base}'s \
                 work",
                best.name,
                best.throughput_kept.unwrap_or(1.0) * 100.0
            ),
        ),
        None => Decided {
            choice: Choice::Take(Way::Stock),
            candidate: None,
            because: "there is no deadline, so only throughput counts".to_owned(),
            missing: None,
        },
    }
}

fn nowhere(because: String) -> Decided {
    Decided {
        choice: Choice::NotOnThisMachine,
        candidate: None,
        because,
        missing: None,
    }
}

fn unknown(because: String, missing: Missing) -> Decided {
    Decided {
        choice: Choice::Unknown,
        candidate: None,
        because,
        missing: Some(missing),
    }
}

/// No candidate is good enough and acceptable: what is missing.
fn none_is_good(job: &Job, facts: &Facts, judged: &[Judged]) -> Decided {
    // One that is too costly is no answer, however long it is measured.
    let mut open = judged.iter().filter(|one| one.affordable);
    let open = open.find_map(|one| match &one.meets {
        Meets::NotShown { activations_needed } => Some((one, *activations_needed)),
        _ => None,
    });
    if let Some((one, needed)) = open {
        let more = match needed {
            Some(needed) => format!("; {needed} without a miss would show it"),
            None => "; measure longer".to_owned(),
        };
        let because = format!(
            "{} may be good enough, but {} does not show it{more}",
            one.name,
            shortly(one)
        );
        return unknown(because, Missing::Longer(seconds(facts, one, needed)));
    }
    let found = found(job, judged);
    let is_settled = |way: &Way| {
        let mut all = judged.iter().filter(|one| one.way == *way).peekable();
        all.peek().is_some() && all.all(|one| one.meets == Meets::No || !one.affordable)
    };
    let ways: Vec<Way> = facts.possible().filter(|way| !is_settled(way)).collect();
    if ways.is_empty() {
        return nowhere(found);
    }
    let mut because = format!("{found}; {} not measured", were(&ways));
    if ways.iter().all(|way| way.is_preempt_rt()) {
        because += ", and a kernel with PREEMPT_RT has to be booted for that";
    }
    unknown(because, Missing::Ways(ways))
}

/// What was found of those that were measured: the one that comes nearest.
fn found(job: &Job, judged: &[Judged]) -> String {
    if let Some(dear) = judged.iter().find(|one| one.meets.is_yes()) {
        return format!(
            "{} meets the deadline and keeps only {:.1} % of the throughput; {:.1} % are wanted",
            dear.name,
            dear.throughput_kept.unwrap_or(0.0) * 100.0,
            job.wanted() * 100.0
        );
    }
    let measured = judged
        .iter()
        .filter_map(|one| Some((one, one.misses.as_ref()?)));
    let nearest = measured.clone().min_by(|(one, misses), (other, others)| {
        let latency = |it: &Judged| it.latency_us_max.unwrap_or(f64::INFINITY);
        let probability = misses.probability.value;
        probability
            .total_cmp(&others.probability.value)
            .then(latency(one).total_cmp(&latency(other)))
    });
    match (nearest, measured.count()) {
        (Some((one, _)), 1) => {
            format!("{} does not meet the deadline: {}", one.name, shortly(one))
        }
        (Some((one, _)), _) => format!(
            "none of what was measured meets the deadline: even on {}, {}",
            one.name,
            shortly(one)
        ),
        (None, _) => "no file has a latency".to_owned(),
    }
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

/// `tuned, shield and artis were`.
pub fn were(ways: &[Way]) -> String {
    let names: Vec<String> = ways.iter().map(ToString::to_string).collect();
    match &names[..] {
        [] => String::new(),
        [one] => format!("{one} was"),
        [first @ .., last] => format!("{} and {last} were", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
