// SPDX-License-Identifier: GPL-2.0-only
//! The decision flow of McKenney's figure 9, each answer with the fact behind it.

use super::principles::per_cent;
use super::time::time;
use super::{Facts, Question};
use serde::Serialize;

/// From here on scheduling latency is lost in the noise: "hundreds of milliseconds".
const LONG_WORK_US: f64 = 100_000.0;
/// "It is common real-time practice to ... limit CPU utilization to 50%."
pub const UTILISATION_MAX: f64 = 0.5;

/// Where the flow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    RealFast,
    RealTime,
    /// A barrier computation: both at once.
    Both,
}

/// One question of the flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    pub question: &'static str,
    /// None: not said, and the flow goes on as if it were no.
    pub yes: Option<bool>,
    pub fact: String,
    /// Where this answer leads; none: to the next question.
    pub end: Option<End>,
}

/// The questions up to the one that ends it, and the end.
pub fn flow(question: &Question, _facts: &Facts) -> (Vec<Answer>, End) {
    let job = &question.job;
    let full = job.utilisation.map(|used| used > UTILISATION_MAX);
    let memory = job.memory_needed.zip(job.memory);
    let work = question.work.as_ref().map(super::WorkTimes::mean_us);
    let barrier_or = |otherwise| match job.barrier {
        true => End::Both,
        false => otherwise,
    };
    let all = [
        Answer {
            question: "Does only throughput count?",
            yes: Some(job.deadline_us.is_none()),
            fact: match job.deadline_us {
                None if job.barrier => {
                    "there is no deadline, but threads meet at barriers".to_owned()
                }
                None => "there is no deadline".to_owned(),
                Some(us) => format!("the deadline is {}", time(us)),
            },
            end: Some(barrier_or(End::RealFast)),
        },
        Answer {
            question: "Must utilisation be so high that peaks degrade response?",
            yes: full,
            fact: match job.utilisation {
                None => "the job does not say".to_owned(),
                Some(used) => format!(
                    "{} of the CPUs' time; common practice is {} at most",
                    per_cent(used),
                    per_cent(UTILISATION_MAX)
                ),
            },
            end: Some(barrier_or(End::RealFast)),
        },
        Answer {
            question: "Does the workload fill the memory?",
            yes: memory.map(|_| job.fills_memory()),
            fact: match memory {
                None => "the job does not say".to_owned(),
                Some((needed, has)) => {
                    format!(
                        "it needs {} of the machine's memory",
                        per_cent(needed / has)
                    )
                }
            },
            end: Some(End::RealFast),
        },
        Answer {
            question: "Is virtualisation needed?",
            yes: Some(job.is_virtual),
            fact: match job.is_virtual {
                true => "the job says so".to_owned(),
                false => "the job does not say so".to_owned(),
            },
            end: Some(End::RealFast),
        },
        Answer {
            question: "Does an item of work take hundreds of milliseconds?",
            yes: work.map(|us| us >= LONG_WORK_US),
            fact: match work {
                None => "the job does not say".to_owned(),
                Some(us) => format!("it takes {}", time(us)),
            },
            end: Some(End::RealFast),
        },
    ];
    let mut asked = Vec::new();
    for answer in all {
        let end = answer.end.filter(|_| answer.yes == Some(true));
        asked.push(Answer { end, ..answer });
        if let Some(end) = end {
            return (asked, end);
        }
    }
    (asked, End::RealTime)
}
