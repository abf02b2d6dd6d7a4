// SPDX-License-Identifier: GPL-2.0-only
//! McKenney's principles and his decision flow (his figure 9), each answer with the fact behind it.

use crate::units::time;
use artis_decide::verdict::flow::{Asked, End, UTILISATION_MAX};
use artis_decide::verdict::miss::SlowdownSource;
use artis_decide::verdict::principles::{Principle, Speaks, latest_us};
use artis_decide::verdict::{Choice, Verdict, Way};
use artis_result::Nature;

const NOT_SAID: &str = "the job does not say";

/// A sentence each.
pub fn principles(verdict: &Verdict) -> Vec<String> {
    let all = verdict.principles.iter();
    all.map(|(principle, speaks)| {
        let number = *principle as u8;
        let (about, fact) = (about(*principle), fact(verdict, *principle, *speaks));
        let speaks = match speaks {
            Speaks::ForRealTime => ": real time",
            Speaks::ForRealFast => ": real fast",
            Speaks::Neither | Speaks::Unknown => "",
        };
        format!("{number}. {about}: {fact}{speaks}.")
    })
    .collect()
}

pub(super) fn about(principle: Principle) -> &'static str {
    match principle {
        Principle::Deadline => "much work, or little work in time",
        Principle::PeakLoad => "peak load",
        Principle::Memory => "memory",
        Principle::Virtualisation => "virtualisation",
        Principle::UseOfTheKernel => "use of the kernel",
        Principle::Completion => "completion, not start",
    }
}

/// The fact behind what a principle says.
pub(super) fn fact(verdict: &Verdict, principle: Principle, speaks: Speaks) -> String {
    let job = &verdict.job;
    match principle {
        Principle::Deadline => match job.deadline_us {
            None => "there is no deadline: throughput is the goal".to_owned(),
            Some(us) => format!("each activation has a deadline of {}", time(us)),
        },
        Principle::PeakLoad => match (job.utilisation, speaks) {
            (None, _) => NOT_SAID.to_owned(),
            (Some(used), Speaks::ForRealFast) => {
                format!("the CPUs are used {} at the peak", per_cent(used))
            }
            (Some(used), _) => {
                let left = per_cent(1.0 - used);
                format!("at the peak {left} of the CPUs' time are left")
            }
        },
        Principle::Memory => match job.memory_needed.zip(job.memory) {
            None => NOT_SAID.to_owned(),
            Some((needed, has)) => {
                let so = match speaks {
                    Speaks::ForRealFast => ": page faults",
                    _ => ", so it can be locked",
                };
                format!("{} of the memory are needed{so}", per_cent(needed / has))
            }
        },
        Principle::Virtualisation => match (job.is_virtual, verdict.base_is_virtual) {
            (true, true) => {
                "needed; the facts were measured in a virtual machine, so they hold".to_owned()
            }
            (true, false) => "needed".to_owned(),
            (false, true) => {
                "not needed, but the facts were measured in a virtual machine".to_owned()
            }
            (false, false) => "not needed".to_owned(),
        },
        Principle::UseOfTheKernel => use_of_the_kernel(verdict),
        Principle::Completion => completion(verdict),
    }
}

fn use_of_the_kernel(verdict: &Verdict) -> String {
    let words = match verdict.job.nature {
        Nature::User => "instructions in user mode",
        Nature::SystemCalls => "mostly system calls",
        Nature::Io => "mostly input and output",
    };
    let known = verdict.candidates.iter();
    let known = known.filter(|one| one.slowdown.source != SlowdownSource::Unknown);
    let slowest = known.max_by(|one, other| one.slowdown.factor.total_cmp(&other.slowdown.factor));
    match slowest.map(|one| (&one.name, one.slowdown.factor - 1.0)) {
        Some((name, by)) if by > 0.005 => {
            format!("{words}; on {name} it takes {} longer", per_cent(by))
        }
        _ => words.to_owned(),
    }
}

fn completion(verdict: &Verdict) -> String {
    let Some(work_us) = verdict.work_us_mean else {
        return "the length of the work is not known".to_owned();
    };
    let length = time(work_us);
    match latest_us(&verdict.candidates) {
        0.0 => format!("the work takes {length}; latencies are not known"),
        late_us => format!(
            "the work takes {length}, the longest delay before it {}",
            time(late_us)
        ),
    }
}

/// A sentence each, and what the flow ends in.
pub fn flow(verdict: &Verdict) -> Vec<String> {
    let answers = verdict.flow.iter().map(|one| {
        let answer = match one.yes {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        };
        let (question, fact) = (question(one.question), fact_asked(verdict, one.question));
        format!("{question} {answer}: {fact}.")
    });
    let end = match verdict.flow_says {
        End::RealFast => "real fast",
        End::RealTime => "real time",
        End::Both => "real time and real fast at once, for less OS jitter",
    };
    let agrees = match (verdict.flow_says, verdict.decided.choice) {
        (_, Choice::Unknown | Choice::NotOnThisMachine)
        | (End::Both, _)
        | (End::RealFast, Choice::Take(Way::Stock)) => "",
        (End::RealTime, Choice::Take(Way::Stock)) => {
            "; the facts say that this machine is in time as it is"
        }
        (End::RealFast, _) => "; the facts say otherwise, and they decide",
        (End::RealTime, _) => "",
    };
    let last = format!("The rule of thumb says {end}{agrees}.");
    answers.chain([last]).collect()
}

pub(super) fn question(asked: Asked) -> &'static str {
    match asked {
        Asked::OnlyThroughput => "Does only throughput count?",
        Asked::FullAtPeak => "Must utilisation be so high that peaks degrade response?",
        Asked::FillsMemory => "Does the workload fill the memory?",
        Asked::Virtual => "Is virtualisation needed?",
        Asked::LongWork => "Does an item of work take hundreds of milliseconds?",
    }
}

/// The fact behind an answer of the flow.
pub(super) fn fact_asked(verdict: &Verdict, asked: Asked) -> String {
    let job = &verdict.job;
    let known = match asked {
        Asked::OnlyThroughput => Some(match job.deadline_us {
            None if job.barrier => "there is no deadline, but threads meet at barriers".to_owned(),
            None => "there is no deadline".to_owned(),
            Some(us) => format!("the deadline is {}", time(us)),
        }),
        Asked::FullAtPeak => job.utilisation.map(|used| {
            format!(
                "{} of the CPUs' time; common practice is {} at most",
                per_cent(used),
                per_cent(UTILISATION_MAX)
            )
        }),
        Asked::FillsMemory => job.memory_needed.zip(job.memory).map(|(needed, has)| {
            let part = per_cent(needed / has);
            format!("it needs {part} of the machine's memory")
        }),
        Asked::Virtual => Some(match job.is_virtual {
            true => "the job says so".to_owned(),
            false => "the job does not say so".to_owned(),
        }),
        Asked::LongWork => verdict
            .work_us_mean
            .map(|us| format!("it takes {}", time(us))),
    };
    known.unwrap_or_else(|| NOT_SAID.to_owned())
}

fn per_cent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}
