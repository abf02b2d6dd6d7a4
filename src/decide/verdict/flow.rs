// SPDX-License-Identifier: GPL-2.0-only
//! The decision flow of McKenney's figure 9, up to the answer that ends it.

use super::{Question, WorkTimes};
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

/// A question of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    OnlyThroughput,
    FullAtPeak,
    FillsMemory,
    Virtual,
    LongWork,
}

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub question: Asked,
    /// None: not said, and the flow goes on as if it were no.
    pub yes: Option<bool>,
    /// Where this answer leads; none: to the next question.
    pub end: Option<End>,
}

/// The questions up to the one that ends it, and the end.
pub fn flow(question: &Question) -> (Vec<Answer>, End) {
    let job = &question.job;
    let memory = job.memory_needed.zip(job.memory);
    let work_us = question.work.as_ref().map(WorkTimes::mean_us);
    let barrier_or_fast = match job.barrier {
        true => End::Both,
        false => End::RealFast,
    };
    let full = job.utilisation.map(|used| used > UTILISATION_MAX);
    let all = [
        (
            Asked::OnlyThroughput,
            Some(job.deadline_us.is_none()),
            barrier_or_fast,
        ),
        (Asked::FullAtPeak, full, barrier_or_fast),
        (
            Asked::FillsMemory,
            memory.map(|_| job.fills_memory()),
            End::RealFast,
        ),
        (Asked::Virtual, Some(job.is_virtual), End::RealFast),
        (
            Asked::LongWork,
            work_us.map(|us| us >= LONG_WORK_US),
            End::RealFast,
        ),
    ];
    let mut asked = Vec::new();
    for (question, yes, end) in all {
        let end = Some(end).filter(|_| yes == Some(true));
        asked.push(Answer { question, yes, end });
        if let Some(end) = end {
            return (asked, end);
        }
    }
    (asked, End::RealTime)
}
