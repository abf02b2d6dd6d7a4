// SPDX-License-Identifier: GPL-2.0-only
//! What happened while it was measured: time stolen by a hypervisor, busy neighbours in the same
//! core, and too few samples for the percentiles.

use super::{Plan, Samples, Unchecked};
use artis_machine::cpu_times::{self, CpuTimes};
use artis_machine::{CpuList, Root, topology};
use artis_result::{Warning, few_samples};
use std::collections::BTreeMap;

/// A sibling that was busy for less counts as idle: that is its tick and housekeeping.
const SIBLING_BUSY_PERCENT: f64 = 5.0;

/// What each CPU did between two readings.
pub fn during(
    before: &BTreeMap<u32, CpuTimes>,
    after: &BTreeMap<u32, CpuTimes>,
) -> BTreeMap<u32, CpuTimes> {
    let since =
        |(cpu, times): (&u32, &CpuTimes)| Some((*cpu, times.since(before.get(cpu).copied()?)));
    after.iter().filter_map(since).collect()
}

fn percent(part: u64, times: CpuTimes) -> f64 {
    part as f64 * 100.0 / times.total().max(1) as f64
}

/// Time that a hypervisor took from the measured CPUs.
pub fn steal(plan: &Plan, during: &BTreeMap<u32, CpuTimes>) -> Option<Warning> {
    let stolen = |cpu| during.get(&cpu).map_or(0, |times| times.steal);
    let (share, cpu) = plan
        .cpus
        .iter()
        .filter(|cpu| stolen(*cpu) > 0)
        .map(|cpu| (percent(stolen(cpu), during[&cpu]), cpu))
        .max_by(|one, two| one.0.total_cmp(&two.0))?;
    Some(Warning {
        id: "steal_time".to_owned(),
        seen: format!(
            "the hypervisor took {share:.1} % of CPU {cpu} for others ({})",
            cpu_times::FILE
        ),
        why: "work that was due meanwhile was late, and no setting of this system can help"
            .to_owned(),
        fix: Some(
            "pin each virtual CPU to a host CPU of its own, or measure on the host".to_owned(),
        ),
    })
}

/// Hardware threads that were busy beside a measured CPU, in its core.
pub fn siblings(
    root: &Root,
    plan: &Plan,
    during: &BTreeMap<u32, CpuTimes>,
) -> Result<Option<Warning>, Unchecked> {
    let mut busy = CpuList::new();
    let mut most = 0.0_f64;
    for cpu in plan.cpus.iter() {
        for sibling in topology::siblings(root, cpu)?.iter() {
            let times = during.get(&sibling).copied().unwrap_or_default();
            let share = percent(times.busy, times);
            if share >= SIBLING_BUSY_PERCENT {
                busy.insert(sibling);
                most = most.max(share);
            }
        }
    }
    Ok((!busy.is_empty()).then(|| Warning {
        id: "smt_sibling".to_owned(),
        seen: format!(
            "{}, in one core with a measured CPU, had up to {most:.0} % of its time in use \
             (topology/thread_siblings_list, {})",
            busy.in_words(),
            cpu_times::FILE
        ),
        why: "hardware threads of a core share its units and caches: each slows the other down"
            .to_owned(),
        fix: Some(
            "measure one CPU of each core and keep load off its sibling, or switch SMT off: \
             `echo off | sudo tee /sys/devices/system/cpu/smt/control`"
                .to_owned(),
        ),
    }))
}

/// The series with the fewest samples, if those are too few for a percentile.
pub fn few_samples(samples: &[Samples]) -> Option<Warning> {
    few_samples::warning(samples.iter().map(|it| (it.series, it.count)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;

    #[test]
    fn an_idle_sibling_and_the_cpu_itself_are_fine() {
        let topology =
            |cpu| format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let (_folder, root) =
            artis_testing::canned(&[(&topology(0), "0,2\n"), (&topology(1), "1\n")]);
        let times = |busy| CpuTimes {
            busy,
            idle: 1000 - busy,
            steal: 0,
        };
        let during = BTreeMap::from([(0, times(1000)), (1, times(1000)), (2, times(10))]);
        assert_eq!(siblings(&root, &plan(), &during).unwrap(), None);
        assert_eq!(steal(&plan(), &during), None);
    }
}
