// SPDX-License-Identifier: GPL-2.0-only
//! The numbers that would flip the choice: each alone, the nearest value at which another choice
//! comes out.
//!
//! Found by deciding again and again with one number changed, so a flip is never claimed that
//! the decision itself would not make.

use super::choice::{self, Choice, Decided};
use super::miss::{Beyond, Latencies};
use super::{Facts, Judged, Question};
use crate::job::Miss;
use serde::Serialize;
use std::rc::Rc;

/// Numbers are changed in such steps, then halved between them.
const STEPS_PER_DECADE: i32 = 12;
const DECADES: i32 = 4;
/// To a part in so many.
const CLOSE: f64 = 1e-6;
/// Less than this is nothing: a part of the throughput, and misses an hour.
const LOSS_LEAST: f64 = 1e-4;
const MISSES_LEAST: f64 = 1e-3;

/// Facts of each candidate, changed by a factor.
#[derive(Clone, Debug)]
pub struct Changes {
    pub latency: Vec<f64>,
    pub kept: Vec<f64>,
    pub round: Vec<f64>,
    /// Neither these nor the job's numbers are changed.
    pub(super) are_none: bool,
    /// Unchanged: made once.
    pub(super) latencies: Rc<[Option<Latencies>]>,
    pub(super) beyond: Rc<[Beyond]>,
}

impl Changes {
    /// Facts as they are.
    pub fn none(facts: &Facts) -> Self {
        let ones = vec![1.0; facts.candidates.len()];
        Self {
            latency: ones.clone(),
            kept: ones.clone(),
            round: ones,
            are_none: true,
            latencies: facts.candidates.iter().map(Latencies::of).collect(),
            beyond: facts.candidates.iter().map(|_| Beyond::default()).collect(),
        }
    }
}

/// Which number.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum What {
    Deadline,
    Work,
    PerSecond,
    MissesPerHour,
    MissProbability,
    Loss,
    MemoryNeeded,
    Utilisation,
    Latency {
        candidate: String,
    },
    ThroughputKept {
        candidate: String,
    },
    Round {
        candidate: String,
    },
    /// No number: whether it has to be a virtual machine.
    Virtual,
}

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flip {
    pub what: What,
    /// As it is; us, bytes, a part or a number, as the name says.
    pub now: f64,
    /// Where the choice changes.
    pub at: f64,
    pub then: Choice,
}

impl Flip {
    /// Whether it flips when the number grows.
    pub fn is_above(&self) -> bool {
        self.at > self.now
    }
}

/// A number that may matter, and how to change it.
struct Number<'a> {
    what: What,
    now: f64,
    /// Where the search begins: `now`, or the least value that matters when that is 0.
    from: f64,
    change: Change<'a>,
}

/// Puts another value in the number's place.
type Change<'a> = Box<dyn Fn(&mut Question, &mut Changes, f64) + 'a>;

/// All flips of the choice, nearest first; at most one up and one down for each number.
pub fn flips(
    question: &Question,
    facts: &Facts,
    judged: &[Judged],
    decided: &Decided,
    none: &Changes,
) -> Vec<Flip> {
    let mut all = Vec::new();
    for number in numbers(question, facts, judged, decided) {
        let with = |value: f64| {
            let mut question = question.clone();
            let mut changes = none.clone();
            changes.are_none = false;
            (number.change)(&mut question, &mut changes, value);
            // A number that no job can have flips nothing.
            question
                .job
                .check()
                .is_ok()
                .then(|| decide(&question, facts, &changes).choice)
        };
        for direction in [1, -1] {
            if let Some((at, then)) = nearest(decided.choice, number.from, direction, &with) {
                all.push(Flip {
                    what: number.what.clone(),
                    now: number.now,
                    at,
                    then,
                });
            }
        }
    }
    let far = |flip: &Flip| (flip.at / flip.now).ln().abs();
    all.sort_by(|one, other| far(one).total_cmp(&far(other)));
    if question.job.is_virtual {
        let mut real = question.clone();
        real.job.is_virtual = false;
        let mut changes = none.clone();
        changes.are_none = false;
        let then = decide(&real, facts, &changes).choice;
        if then != decided.choice {
            all.push(Flip {
                what: What::Virtual,
                now: 1.0,
                at: 0.0,
                then,
            });
        }
    }
    all
}

fn decide(question: &Question, facts: &Facts, changes: &Changes) -> Decided {
    let judged = choice::judge(question, facts, changes);
    choice::choose(question, facts, &judged, changes)
}

/// The value nearest to `from` in this direction for which another choice comes out, and that
/// choice.
fn nearest(
    choice: Choice,
    from: f64,
    direction: i32,
    with: &dyn Fn(f64) -> Option<Choice>,
) -> Option<(f64, Choice)> {
    let value =
        |step: i32| from * 10_f64.powf(f64::from(direction * step) / f64::from(STEPS_PER_DECADE));
    let mut same = from;
    for step in 1..=STEPS_PER_DECADE * DECADES {
        let next = value(step);
        let then = with(next)?;
        if then == choice {
            same = next;
            continue;
        }
        let mut other = (next, then);
        while (other.0 / same - 1.0).abs() > CLOSE {
            let middle = (same * other.0).sqrt();
            match with(middle) {
                Some(then) if then != choice => other = (middle, then),
                _ => same = middle,
            }
        }
        return Some(other);
    }
    None
}

/// Every number that may matter.
fn numbers<'a>(
    question: &'a Question,
    facts: &'a Facts,
    judged: &'a [Judged],
    decided: &'a Decided,
) -> Vec<Number<'a>> {
    let mut all = Vec::new();
    if let Some(deadline_us) = question.job.deadline_us {
        all.extend(of_deadline(question, deadline_us));
    }
    for (at, one) in judged.iter().enumerate() {
        all.extend(of_candidate(question, facts, decided, at, one));
    }
    all
}

impl<'a> Number<'a> {
    fn new(what: What, now: f64, change: impl Fn(&mut Question, &mut Changes, f64) + 'a) -> Self {
        Self {
            what,
            now,
            from: now,
            change: Box::new(change),
        }
    }

    /// Where a search from 0 begins.
    fn at_least(self, least: f64) -> Self {
        Self {
            from: self.from.max(least),
            ..self
        }
    }
}

/// Of the job, where it has a deadline.
fn of_deadline<'a>(question: &'a Question, deadline_us: f64) -> Vec<Number<'a>> {
    let job = &question.job;
    let mut all = vec![Number::new(
        What::Deadline,
        deadline_us,
        |question, _, us| {
            question.job.deadline_us = Some(us);
        },
    )];
    if let Some(work) = &question.work {
        let mean_us = work.mean_us();
        all.push(Number::new(What::Work, mean_us, move |question, _, us| {
            question.work = Some(work.scaled(us / mean_us));
        }));
    }
    match job.miss {
        Miss::PerHour(count) => {
            let acceptable = Number::new(What::MissesPerHour, count, |question, _, count| {
                question.job.miss = Miss::PerHour(count);
            });
            all.push(acceptable.at_least(MISSES_LEAST));
            if let Some(rate) = job.rate {
                all.push(Number::new(What::PerSecond, rate, |question, _, rate| {
                    question.job.rate = Some(rate);
                }));
            }
        }
        Miss::Hard {
            probability: Some(probability),
        } => all.push(Number::new(
            What::MissProbability,
            probability,
            |question, _, probability| {
                question.job.miss = Miss::Hard {
                    probability: Some(probability),
                };
            },
        )),
        Miss::Hard { probability: None } => {}
    }
    let loss = Number::new(What::Loss, job.loss, |question, _, loss| {
        question.job.loss = loss.min(1.0);
    });
    all.push(loss.at_least(LOSS_LEAST));
    if let Some(needed) = job.memory_needed {
        all.push(Number::new(
            What::MemoryNeeded,
            needed,
            |question, _, bytes| {
                question.job.memory_needed = Some(bytes);
            },
        ));
    }
    if let Some(used) = job.utilisation {
        let utilisation = Number::new(What::Utilisation, used, |question, _, used| {
            question.job.utilisation = Some(used);
        });
        all.push(utilisation.at_least(LOSS_LEAST));
    }
    all
}

/// Of a candidate's facts.
fn of_candidate<'a>(
    question: &Question,
    facts: &Facts,
    decided: &Decided,
    at: usize,
    one: &Judged,
) -> Vec<Number<'a>> {
    let mut all = Vec::new();
    let candidate = one.name.clone();
    let is_chosen = decided.candidate.as_ref() == Some(&candidate);
    if let (Some(max_us), true, true) = (
        one.latency_us_max.filter(|us| *us > 0.0),
        is_chosen,
        question.job.deadline_us.is_some(),
    ) {
        let what = What::Latency {
            candidate: candidate.clone(),
        };
        all.push(Number::new(what, max_us, move |_, changes, us| {
            changes.latency[at] = us / max_us;
        }));
    }
    let kept = one.throughput_kept.filter(|kept| *kept > 0.0);
    if let (Some(kept), true) = (kept, at != facts.base) {
        let what = What::ThroughputKept {
            candidate: candidate.clone(),
        };
        all.push(Number::new(what, kept, move |_, changes, part| {
            changes.kept[at] = part / kept;
        }));
    }
    if let (Some(us), true) = (facts.candidates[at].round_us, question.job.barrier) {
        let what = What::Round { candidate };
        all.push(Number::new(what, us, move |_, changes, round_us| {
            changes.round[at] = round_us / us;
        }));
    }
    all
}
