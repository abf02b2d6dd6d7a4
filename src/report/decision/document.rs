// SPDX-License-Identifier: GPL-2.0-only
//! A verdict as JSON, its sentences with it: `docs/decision.schema.json`.

use super::{because, open, paper};
use artis_decide::job::Job;
use artis_decide::verdict::flow::End;
use artis_decide::verdict::principles::Speaks;
use artis_decide::verdict::{BreakEven, Choice, Flip, Judged, Verdict};
use serde::Serialize;

/// What is printed, but for the schema's name and the notes.
#[derive(Serialize)]
pub struct Document<'a> {
    job: &'a Job,
    unit: &'a str,
    decided: Decided<'a>,
    next: Option<String>,
    unlike: &'a [String],
    candidates: &'a [Judged],
    flips: &'a [Flip],
    break_even: &'a [BreakEven],
    flow: Vec<Answer>,
    flow_says: End,
    principles: Vec<Principle>,
    unknown: Vec<String>,
}

#[derive(Serialize)]
struct Decided<'a> {
    choice: Choice,
    candidate: Option<&'a str>,
    because: String,
}

#[derive(Serialize)]
struct Answer {
    question: &'static str,
    yes: Option<bool>,
    fact: String,
    end: Option<End>,
}

#[derive(Serialize)]
struct Principle {
    number: u8,
    about: &'static str,
    speaks: Speaks,
    fact: String,
}

impl<'a> Document<'a> {
    pub fn of(verdict: &'a Verdict) -> Self {
        let flow = verdict.flow.iter().map(|one| Answer {
            question: paper::question(one.question),
            yes: one.yes,
            fact: paper::fact_asked(verdict, one.question),
            end: one.end,
        });
        let principles = verdict.principles.iter();
        let principles = principles.map(|(principle, speaks)| Principle {
            number: *principle as u8,
            about: paper::about(*principle),
            speaks: *speaks,
            fact: paper::fact(verdict, *principle, *speaks),
        });
        Self {
            job: &verdict.job,
            unit: &verdict.unit,
            decided: Decided {
                choice: verdict.decided.choice,
                candidate: verdict.decided.candidate.as_deref(),
                because: because(verdict),
            },
            next: open::next(verdict),
            unlike: &verdict.unlike,
            candidates: &verdict.candidates,
            flips: &verdict.flips,
            break_even: &verdict.break_even,
            flow: flow.collect(),
            flow_says: verdict.flow_says,
            principles: principles.collect(),
            unknown: open::unknown(verdict),
        }
    }
}
