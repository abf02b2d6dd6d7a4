// SPDX-License-Identifier: GPL-2.0-only
//! Power and shared hardware: frequencies, idle states, hardware threads, kinds of cores, caches.

use super::finding::{Finding, Severity, few};
use super::subject::Subject;
use artis_machine::facts::Facts;
use artis_machine::idle::C1_EXIT_LATENCY_US;
use artis_machine::{CpuList, topology};

pub(super) fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let all = [
        idle_states(facts, subject),
        governor(facts, subject),
        siblings(facts, subject),
        kinds(facts, subject),
        nodes(facts, subject),
        caches(facts, subject),
    ];
    all.into_iter().flatten().collect()
}

fn idle_states(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let all = facts.idle_states.get()?.iter();
    let deep: Vec<_> = all
        .filter(|state| state.exit_latency_us > C1_EXIT_LATENCY_US)
        .filter_map(|state| Some((state, subject.among(&state.cpus)?)))
        .collect();
    let (deepest, cpus) = deep.last()?;
    let names: Vec<String> = deep
        .iter()
        .map(|(state, _)| format!("{} ({} us)", state.name, state.exit_latency_us))
        .collect();
    Some(Finding {
        id: "idle_states",
        severity: Severity::Worsens,
        seen: format!(
            "{} may sleep deeper than C1: {}",
            cpus.in_words(),
            few(&names)
        ),
        evidence: facts.idle_states.from.clone(),
        why: format!(
            "an interrupt that wakes a CPU from the deepest state is delayed by up to {} us",
            deepest.exit_latency_us
        ),
        source: "Documentation/admin-guide/pm/cpuidle.rst",
        fix: Some(format!(
            "{}, or write 0 to /dev/cpu_dma_latency and keep it open while real-time work runs",
            subject.partition()
        )),
        partition_fixes: &["idle-states"],
    })
}

fn governor(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let all = facts.governors.get()?.iter();
    let slow: Vec<(&String, CpuList)> = all
        .filter(|(name, _)| *name != "performance")
        .filter_map(|(name, cpus)| Some((name, subject.among(cpus)?)))
        .collect();
    let (_, first) = slow.first()?;
    let cpus = slow
        .iter()
        .fold(first.clone(), |all, (_, cpus)| &all | cpus);
    let names: Vec<&String> = slow.iter().map(|(name, _)| *name).collect();
    Some(Finding {
        id: "governor",
        severity: Severity::Worsens,
        seen: format!(
            "the governor {} chooses the frequency of {}",
            few(&names),
            cpus.in_words()
        ),
        evidence: facts.governors.from.clone(),
        why: "work that begins after a pause runs at a low frequency, several times as long; changing \
              it stops the CPU for some ten microseconds"
            .to_owned(),
        source: "Documentation/admin-guide/pm/cpufreq.rst",
        fix: Some(format!(
            "{}; by hand: `sudo cpupower -c {cpus} frequency-set -g performance`",
            subject.partition()
        )),
        partition_fixes: &["governor"],
    })
}

/// Groups that contain CPUs of the subject and other CPUs.
fn shared<'a>(groups: &'a [CpuList], subject: &Subject) -> Vec<&'a CpuList> {
    let holds_both =
        |group: &&CpuList| subject.among(group).is_some() && !group.is_subset(&subject.cpus);
    groups.iter().filter(holds_both).collect()
}

fn in_words(groups: &[&CpuList]) -> String {
    let words: Vec<String> = groups.iter().map(|group| format!("({group})")).collect();
    few(&words)
}

fn siblings(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let cores = &facts.topology.get()?.cores;
    let concerned: Vec<&CpuList> = cores
        .iter()
        .filter(|core| core.len() > 1 && subject.among(core).is_some())
        .collect();
    let first = concerned.first()?.first()?;
    Some(Finding {
        id: "smt_siblings",
        severity: Severity::Worsens,
        seen: format!(
            "CPUs that are threads of one core: {}",
            in_words(&concerned)
        ),
        evidence: topology::siblings_file(first),
        why:
            "the threads of a core share its execution units and first caches: each makes the other \
              slower, by half at worst, and priorities do not count between them"
                .to_owned(),
        source: "Documentation/admin-guide/cputopology.rst; Documentation/admin-guide/hw-vuln/\
                 core-scheduling.rst",
        fix: Some(
            "use one thread of each core and take the other offline, or all: `echo off | sudo tee \
             /sys/devices/system/cpu/smt/control`"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}

fn kinds(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let all = facts.topology.get()?.kinds.iter();
    let kinds: Vec<String> = all
        .filter_map(|(name, cpus)| Some(format!("{name} {}", subject.among(cpus)?)))
        .collect();
    if kinds.len() < 2 {
        return None;
    }
    Some(Finding {
        id: "hybrid_cores",
        severity: Severity::Worsens,
        seen: format!("the CPUs are of different kinds: {}", kinds.join("; ")),
        evidence: "/sys/devices/cpu_core/cpus, /sys/devices/system/cpu/cpu*/cpu_capacity"
            .to_owned(),
        why: "the same work can take several times as long on one kind as on the other, so the \
              slowest kind makes the worst case"
            .to_owned(),
        source: "Documentation/scheduler/sched-capacity.rst",
        fix: Some(
            "choose real-time CPUs of one kind: `artis check --cpus LIST` with the fast ones"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}

fn nodes(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let all = facts.topology.get()?.nodes.iter();
    let nodes: Vec<String> = all
        .filter_map(|(node, cpus)| Some(format!("node {node}: {}", subject.among(cpus)?)))
        .collect();
    if nodes.len() < 2 {
        return None;
    }
    Some(Finding {
        id: "numa_nodes",
        severity: Severity::Notice,
        seen: format!("the CPUs are in {} memory nodes ({})", nodes.len(), nodes.join("; ")),
        evidence: topology::NODES.to_owned(),
        why: "access to memory of another node takes at least half as long again, and depends on that \
              node's load"
            .to_owned(),
        source: "Documentation/mm/numa.rst",
        fix: Some(
            "keep CPUs, memory and device of a real-time task in one node: `numactl --membind=N \
             --cpunodebind=N`"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}

fn caches(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let topology = facts.topology.get()?;
    let (l2, l3) = (shared(&topology.l2, subject), shared(&topology.l3, subject));
    // Threads of one core share it too, but that has its own finding.
    let beyond_core = |group: &&&CpuList| !topology.cores.contains(**group);
    let l2: Vec<&CpuList> = l2.iter().filter(beyond_core).copied().collect();
    let (name, groups) = match (l2.is_empty(), l3.is_empty()) {
        (false, _) => ("second-level", l2),
        (true, false) => ("third-level", l3),
        (true, true) => return None,
    };
    Some(Finding {
        id: "shared_cache",
        severity: Severity::Notice,
        seen: format!(
            "{} and other CPUs share a {name} cache: {}",
            subject.cpus.in_words(),
            in_words(&groups)
        ),
        evidence: "/sys/devices/system/cpu/cpu*/cache/index*/shared_cpu_list".to_owned(),
        why: "other CPUs replace a real-time task's data there, which must then come from memory: \
              execution times get longer, most of all after a pause"
            .to_owned(),
        source: "Documentation/filesystems/resctrl.rst",
        fix: Some(
            "reserve cache ways for real-time CPUs where the CPU can (resctrl); see how much it is: \
             `sudo artis measure exec --routine memory --load cache`"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}
