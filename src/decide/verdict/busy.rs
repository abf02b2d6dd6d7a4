// SPDX-License-Identifier: GPL-2.0-only
//! How busy the machine was while it was measured, against how busy it has to be.

use super::Facts;
use crate::compare::Configuration;
use crate::compare::figures::setup::is_ours;
use crate::compare::metric::Metric;
use crate::job::Job;
use artis_result::Document;

/// Loads that run all the time leave so much to the kernel and to what is measured.
const SURPLUS: f64 = 0.05;

/// How busy loads kept a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Busy {
    /// The part of the CPUs' time that they used.
    Share(f64),
    /// They ran all the time; how much they used is not known.
    Loads,
    /// Another program's file, which does not say what ran beside it.
    Unknown,
}

impl Busy {
    /// Of the runs of a configuration.
    pub fn of(runs: &[Document], configuration: &Configuration) -> Self {
        if runs.iter().all(|run| run.load.is_empty()) {
            return match runs.iter().all(is_ours) {
                true => Self::Share(0.0),
                false => Self::Unknown,
            };
        }
        let cpus = runs
            .iter()
            .find_map(|run| Some(cpus(&run.machine.as_ref()?.cpus)));
        let used = configuration.whole.get(&Metric::LoadCpuTime);
        match used.zip(cpus.filter(|cpus| *cpus > 0)) {
            Some((used, cpus)) => Self::Share(used.value / f64::from(cpus)),
            None => Self::Loads,
        }
    }

    /// Of an experiment's row.
    pub fn of_row(loads: &[String]) -> Self {
        match loads.is_empty() {
            true => Self::Share(0.0),
            false => Self::Loads,
        }
    }
}

/// How many CPUs a kernel list such as `0-3,6` has; 0 when it is none.
pub fn cpus(list: &str) -> u32 {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.split(',').map_while(count).sum()
}

/// What was measured says nothing of the job's peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooIdle {
    /// The part of the CPUs' time that the job uses at its peak.
    pub wanted: f64,
    /// What the loads used; none where no file says it.
    pub share: Option<f64>,
}

/// None where it does say something. Under a shield the same loads use less, so the busiest
/// candidate counts.
pub fn too_idle(job: &Job, facts: &Facts) -> Option<TooIdle> {
    let wanted = job.utilisation?;
    let mut share: Option<f64> = None;
    for one in &facts.candidates {
        match one.busy {
            Busy::Loads => return None,
            Busy::Unknown => {}
            Busy::Share(its) => share = Some(its.max(share.unwrap_or(0.0))),
        }
    }
    let is_enough = share.is_some_and(|share| share + SURPLUS >= wanted);
    (!facts.candidates.is_empty() && !is_enough).then_some(TooIdle { wanted, share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_of_a_list_are_counted() {
        for (list, count) in [
            ("0", 1),
            ("0-3", 4),
            ("0-3,6", 5),
            ("", 0),
            ("x", 0),
            ("3-0", 0),
        ] {
            assert_eq!(cpus(list), count, "{list}");
        }
    }
}
