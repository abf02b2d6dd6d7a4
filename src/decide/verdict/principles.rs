// SPDX-License-Identifier: GPL-2.0-only
//! McKenney's six principles, applied to the job and the facts.

use super::flow::UTILISATION_MAX;
use super::miss::SlowdownSource;
use super::time::time;
use super::{Facts, Judged, Question};
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

/// One principle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Principle {
    /// 1 to 6, as in the paper.
    pub number: u8,
    pub about: &'static str,
    pub speaks: Speaks,
    pub fact: String,
}

pub(super) fn per_cent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// All six.
pub fn principles(question: &Question, facts: &Facts, judged: &[Judged]) -> Vec<Principle> {
    let job = &question.job;
    let memory = job.memory_needed.zip(job.memory);
    let work = question.work.as_ref();
    let one = |number, about, speaks, fact: String| Principle {
        number,
        about,
        speaks,
        fact,
    };
    vec![
        match job.deadline_us {
            None => one(
                1,
                "much work, or little work in time",
                Speaks::ForRealFast,
                "there is no deadline: throughput is the goal".to_owned(),
            ),
            Some(us) => one(
                1,
                "much work, or little work in time",
                Speaks::ForRealTime,
                format!("each activation has a deadline of {}", time(us)),
            ),
        },
        match job.utilisation {
            None => one(
                2,
                "peak load",
                Speaks::Unknown,
                "the job does not say".to_owned(),
            ),
            Some(used) if used > UTILISATION_MAX => one(
                2,
                "peak load",
                Speaks::ForRealFast,
                format!("the CPUs are used {} at the peak", per_cent(used)),
            ),
            Some(used) => one(
                2,
                "peak load",
                Speaks::ForRealTime,
                format!(
                    "at the peak {} of the CPUs' time are left",
                    per_cent(1.0 - used)
                ),
            ),
        },
        match memory {
            None => one(
                3,
                "memory",
                Speaks::Unknown,
                "the job does not say".to_owned(),
            ),
            Some((needed, has)) if needed >= has => one(
                3,
                "memory",
                Speaks::ForRealFast,
                format!(
                    "{} of the memory are needed: page faults",
                    per_cent(needed / has)
                ),
            ),
            Some((needed, has)) => one(
                3,
                "memory",
                Speaks::Neither,
                format!(
                    "{} of the memory are needed, so it can be locked",
                    per_cent(needed / has)
                ),
            ),
        },
        match (
            job.is_virtual,
            facts.base().is_some_and(super::Candidate::is_virtual),
        ) {
            (true, true) => one(
                4,
                "virtualisation",
                Speaks::ForRealFast,
                "needed; the facts were measured in a virtual machine, so they hold".to_owned(),
            ),
            (true, false) => one(
                4,
                "virtualisation",
                Speaks::ForRealFast,
                "needed".to_owned(),
            ),
            (false, true) => one(
                4,
                "virtualisation",
                Speaks::Unknown,
                "not needed, but the facts were measured in a virtual machine".to_owned(),
            ),
            (false, false) => one(
                4,
                "virtualisation",
                Speaks::Neither,
                "not needed".to_owned(),
            ),
        },
        kernel_use(job.nature, judged),
        match (work, judged) {
            (None, _) => one(
                6,
                "completion, not start",
                Speaks::Unknown,
                "the length of the work is not known".to_owned(),
            ),
            (Some(work), judged) => {
                let late = judged
                    .iter()
                    .filter_map(|one| one.latency_us_max)
                    .fold(0.0, f64::max);
                let (length, longest) = (time(work.mean_us()), time(late));
                let speaks = match late {
                    0.0 => Speaks::Unknown,
                    late if late >= work.mean_us() => Speaks::ForRealTime,
                    _ => Speaks::ForRealFast,
                };
                let fact = match late {
                    0.0 => format!("the work takes {length}; latencies are not known"),
                    _ => format!("the work takes {length}, the longest delay before it {longest}"),
                };
                one(6, "completion, not start", speaks, fact)
            }
        },
    ]
}

fn kernel_use(nature: Nature, judged: &[Judged]) -> Principle {
    let slowest = judged
        .iter()
        .filter(|one| one.slowdown.source != SlowdownSource::Unknown)
        .max_by(|one, other| one.slowdown.factor.total_cmp(&other.slowdown.factor));
    let slower = |one: &Judged| {
        let by = one.slowdown.factor - 1.0;
        match by > 0.005 {
            true => format!("; on {} it takes {} longer", one.name, per_cent(by)),
            false => String::new(),
        }
    };
    let more = slowest.map(slower).unwrap_or_default();
    let (speaks, words) = match nature {
        Nature::User => (Speaks::Neither, "instructions in user mode"),
        Nature::SystemCalls => (Speaks::ForRealFast, "mostly system calls"),
        Nature::Io => (Speaks::ForRealFast, "mostly input and output"),
    };
    Principle {
        number: 5,
        about: "use of the kernel",
        speaks,
        fact: format!("{words}{more}"),
    }
}
