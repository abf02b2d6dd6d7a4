// SPDX-License-Identifier: GPL-2.0-only
//! The numbers that would flip the choice: each alone, the nearest value at which another choice
//! comes out.
//!
//! Found by deciding again and again with one number changed, so a flip is never claimed that
//! the decision itself would not make.

use super::choice::{self, Choice, Decided};
use super::miss::Latencies;
use super::{Facts, Judged, Question};
use crate::job::Miss;
use serde::Serialize;
use std::sync::Arc;

/// Numbers are changed in such steps, then halved between them.
const STEPS_PER_DECADE: i32 = 12;
const DECADES: i32 = 4;
/// To a part in so many.
const CLOSE: f64 = 1e-4;

/// Facts of each candidate, changed by a factor.
#[derive(Clone, Debug)]
pub struct Changes {
    pub latency: Vec<f64>,
    pub kept: Vec<f64>,
    pub round: Vec<f64>,
    /// Unchanged: made once.
    pub(super) latencies: Arc<[Option<Latencies>]>,
}

impl Changes {
    /// Facts as they are.
    pub fn none(facts: &Facts) -> Self {
        let ones = vec![1.0; facts.candidates.len()];
        Self {
            latency: ones.clone(),
            kept: ones.clone(),
            round: ones,
            latencies: facts.candidates.iter().map(Latencies::of).collect(),
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

type Change<'a> = Box<dyn Fn(&mut Question, &mut Changes, f64) + 'a>;

/// All flips of the choice, nearest first; at most one up and one down for each number.
pub fn flips(
    question: &Question,
    facts: &Facts,
    judged: &[Judged],
    decided: &Decided,
    none: &Changes,
) -> Vec<Flip> {
    // Extrapolation is left out of the search: it would take hours.
    let plain = decide(question, facts, none);
    if plain.choice != decided.choice {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (what, now, change) in numbers(question, facts, judged, decided) {
        let with = |factor: f64| {
            let mut question = question.clone();
            let mut changes = none.clone();
            change(&mut question, &mut changes, factor);
            // A number that no job can have flips nothing.
            question
                .job
                .check()
                .is_ok()
                .then(|| decide(&question, facts, &changes).choice)
        };
        for direction in [1, -1] {
            if let Some((factor, then)) = nearest(decided.choice, direction, &with) {
                all.push(Flip {
                    what: what.clone(),
                    now,
                    at: now * factor,
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
        let then = decide(&real, facts, none).choice;
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

/// The factor nearest to 1 in this direction for which another choice comes out, and that choice.
fn nearest(
    choice: Choice,
    direction: i32,
    with: &dyn Fn(f64) -> Option<Choice>,
) -> Option<(f64, Choice)> {
    let factor = |step: i32| 10_f64.powf(f64::from(direction * step) / f64::from(STEPS_PER_DECADE));
    let mut same = 1.0;
    for step in 1..=STEPS_PER_DECADE * DECADES {
        let next = factor(step);
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

/// Every number that may matter, its value, and how to change it by a factor.
fn numbers<'a>(
    question: &'a Question,
    facts: &'a Facts,
    judged: &'a [Judged],
    decided: &'a Decided,
) -> Vec<(What, f64, Change<'a>)> {
    let job = &question.job;
    let mut all: Vec<(What, f64, Change)> = Vec::new();
    if let Some(deadline_us) = job.deadline_us {
        all.push((
            What::Deadline,
            deadline_us,
            Box::new(|question, _, factor| {
                question.job.deadline_us = question.job.deadline_us.map(|us| us * factor);
            }),
        ));
        if let Some(work) = &question.work {
            all.push((
                What::Work,
                work.mean_us(),
                Box::new(|question, _, factor| {
                    question.work = question.work.as_ref().map(|work| work.scaled(factor));
                }),
            ));
        }
        match job.miss {
            Miss::PerHour(count) => {
                all.push((
                    What::MissesPerHour,
                    count,
                    Box::new(move |question, _, factor| {
                        question.job.miss = Miss::PerHour(count * factor);
                    }),
                ));
                if let Some(rate) = job.rate {
                    all.push((
                        What::PerSecond,
                        rate,
                        Box::new(move |question, _, factor| {
                            question.job.rate = Some(rate * factor);
                        }),
                    ));
                }
            }
            Miss::Hard {
                probability: Some(probability),
            } => all.push((
                What::MissProbability,
                probability,
                Box::new(move |question, _, factor| {
                    question.job.miss = Miss::Hard {
                        probability: Some(probability * factor),
                    };
                }),
            )),
            Miss::Hard { probability: None } => {}
        }
        if job.loss < 1.0 {
            all.push((
                What::Loss,
                job.loss,
                Box::new(|question, _, factor| {
                    question.job.loss = (question.job.loss * factor).min(1.0);
                }),
            ));
        }
        if let Some(needed) = job.memory_needed {
            all.push((
                What::MemoryNeeded,
                needed,
                Box::new(move |question, _, factor| {
                    question.job.memory_needed = Some(needed * factor);
                }),
            ));
        }
    }
    for (at, one) in judged.iter().enumerate() {
        let candidate = one.name.clone();
        let is_chosen = decided.candidate.as_ref() == Some(&candidate);
        if let (Some(max_us), true, true) =
            (one.latency_us_max, is_chosen, job.deadline_us.is_some())
        {
            all.push((
                What::Latency {
                    candidate: candidate.clone(),
                },
                max_us,
                Box::new(move |_, changes, factor| changes.latency[at] = factor),
            ));
        }
        if let (Some(kept), true) = (one.throughput_kept, at != facts.base) {
            all.push((
                What::ThroughputKept {
                    candidate: candidate.clone(),
                },
                kept,
                Box::new(move |_, changes, factor| changes.kept[at] = factor),
            ));
        }
        if let (Some(us), true) = (facts.candidates[at].round_us, job.barrier) {
            all.push((
                What::Round { candidate },
                us,
                Box::new(move |_, changes, factor| changes.round[at] = factor),
            ));
        }
    }
    all
}
