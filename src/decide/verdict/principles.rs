// SPDX-License-Identifier: GPL-2.0-only
//! McKenney's six principles, applied to the job and the facts.

use super::flow::UTILISATION_MAX;
use super::{Candidate, Facts, Judged, Question};
use artis_result::Nature;
use serde::Serialize;

/// What a principle says here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaks {
    ForRealTime,
    ForRealFast,
    Neither,
    Unknown,
}

/// Which one: 1 to 6, as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Principle {
    /// Much work, or little work in time.
    Deadline = 1,
    PeakLoad = 2,
    Memory = 3,
    Virtualisation = 4,
    UseOfTheKernel = 5,
    /// Completion, not start.
    Completion = 6,
}

/// All six, with what each says here.
pub fn principles(
    question: &Question,
    facts: &Facts,
    judged: &[Judged],
) -> [(Principle, Speaks); 6] {
    let job = &question.job;
    let deadline = match job.deadline_us {
        None => Speaks::ForRealFast,
        Some(_) => Speaks::ForRealTime,
    };
    let peak_load = match job.utilisation {
        None => Speaks::Unknown,
        Some(used) if used > UTILISATION_MAX => Speaks::ForRealFast,
        Some(_) => Speaks::ForRealTime,
    };
    let memory = match job.memory_needed.zip(job.memory) {
        None => Speaks::Unknown,
        Some(_) if job.fills_memory() => Speaks::ForRealFast,
        Some(_) => Speaks::Neither,
    };
    let virtualisation = match job.is_virtual {
        true => Speaks::ForRealFast,
        false if facts.base().is_some_and(Candidate::is_virtual) => Speaks::Unknown,
        false => Speaks::Neither,
    };
    let use_of_the_kernel = match job.nature {
        Nature::User => Speaks::Neither,
        Nature::SystemCalls | Nature::Io => Speaks::ForRealFast,
    };
    let completion = match (&question.work, latest_us(judged)) {
        (None, _) | (_, 0.0) => Speaks::Unknown,
        (Some(work), late_us) if late_us >= work.mean_us() => Speaks::ForRealTime,
        _ => Speaks::ForRealFast,
    };
    [
        (Principle::Deadline, deadline),
        (Principle::PeakLoad, peak_load),
        (Principle::Memory, memory),
        (Principle::Virtualisation, virtualisation),
        (Principle::UseOfTheKernel, use_of_the_kernel),
        (Principle::Completion, completion),
    ]
}

/// The longest delay before the work; 0 where none is known.
pub fn latest_us(judged: &[Judged]) -> f64 {
    let known = judged.iter().filter_map(|one| one.latency_us_max);
    known.fold(0.0, f64::max)
}
