// SPDX-License-Identifier: GPL-2.0-only
//! Settings that are wrong from the start: of the measuring threads, the kernel, the CPUs and the
//! machine.
//!
//! Source: rt-tests' and the kernel's advice for real-time measurements
//! (`Documentation/admin-guide/kernel-per-CPU-kthreads.rst`, `Documentation/timers/no_hz.rst`,
//! `Documentation/scheduler/sched-rt-group.rst`).

use super::real_time;
use super::{Plan, Unchecked, User, checked};
use crate::thread::{PRIORITY, Policy};
use artis_machine::cpus::Cpus;
use artis_machine::deadline_servers::{self, DEBUGFS};
use artis_machine::debugfs::Access;
use artis_machine::idle::C1_EXIT_LATENCY_US;
use artis_machine::kernel::{SchedExt, rt_throttling, sched_ext};
use artis_machine::virtualisation::virtualisation;
use artis_machine::{CpuList, Root, clock_source, frequency, idle, locked};
use artis_result::Warning;

pub(super) type Judged = Result<Option<Warning>, Unchecked>;
type Check = fn(&Root, &Plan) -> Judged;

/// All findings, those of the measuring threads first.
pub fn judge(root: &Root, plan: &Plan) -> Vec<Warning> {
    let checks: [(&str, Check); 10] = [
        ("policy", policy),
        ("memory", memory),
        ("real_time_threads", real_time::others),
        ("rt_throttling", throttling),
        ("deadline_servers", servers),
        ("idle_states", idle_states),
        ("frequency", governor),
        ("isolated_cpus", isolated),
        ("clock_source", clock),
        ("virtual_machine", virtual_machine),
    ];
    let found = checks.map(|(id, check)| {
        let named = |warning: Warning| Warning {
            id: id.to_owned(),
            ..warning
        };
        checked(id, check(root, plan)).map(named)
    });
    found.into_iter().flatten().collect()
}

/// A finding that gets its id in [`judge`].
pub(super) fn finding(seen: String, why: &str, fix: String) -> Judged {
    Ok(Some(Warning {
        id: String::new(),
        seen,
        why: why.to_owned(),
        fix: Some(fix),
    }))
}

fn real_time(plan: &Plan) -> bool {
    plan.policy.is_real_time()
}

/// Whether it is measured for real-time tasks or with one. What only those expect of a machine is
/// no fault where neither is so.
pub(super) fn concerns_real_time(plan: &Plan) -> bool {
    plan.wants_real_time || real_time(plan)
}

fn policy(root: &Root, plan: &Plan) -> Judged {
    let is_off = |sched_ext: SchedExt| !sched_ext.is_on();
    if matches!(plan.policy, Policy::Ext { .. }) && sched_ext(root)?.is_some_and(is_off) {
        return finding(
            "the threads are SCHED_EXT tasks, and no BPF scheduler is on \
             (/sys/kernel/sched_ext/state)"
                .to_owned(),
            "the kernel treats them as normal tasks, so the figures are those of its own scheduler",
            "start one, such as `sudo artis sched run --rt 1`".to_owned(),
        );
    }
    if real_time(plan) || !plan.wants_real_time {
        return Ok(None);
    }
    finding(
        "the measuring threads have no real-time priority".to_owned(),
        "they wait for every other task, so the figures show the load and not the kernel",
        match plan.user {
            User::Ordinary => format!("measure with -p {PRIORITY} and sudo"),
            User::Sudo | User::Root => format!("measure with -p {PRIORITY}"),
        },
    )
}

fn memory(root: &Root, plan: &Plan) -> Judged {
    if plan.memory_locked || !concerns_real_time(plan) {
        return Ok(None);
    }
    let locked = locked::locked_kib(root)?
        .map(|kib| format!(": {kib} KiB are ({})", locked::FILE))
        .unwrap_or_default();
    finding(
        format!("the memory of this process is not locked{locked}"),
        "a page fault, to disk at worst, falls into the samples",
        match plan.user {
            User::Ordinary => "run artis with sudo, or raise the limit: `ulimit -l unlimited`",
            User::Sudo | User::Root => {
                "give the process CAP_IPC_LOCK, or raise the limit: `ulimit -l unlimited` (docker: \
                 `--ulimit memlock=-1`)"
            }
        }
        .to_owned(),
    )
}

/// The first kernel that has deadline servers instead of the throttling.
const SERVERS_SINCE: (u32, u32) = (6, 12);

/// Whether this kernel has deadline servers: by its debugfs where that can be seen, or its version.
fn has_servers(root: &Root) -> bool {
    let release = root.hint("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse().ok());
    let version = numbers.next().zip(numbers.next());
    version.is_some_and(|version| version >= SERVERS_SINCE) || deadline_servers::exist(root)
}

fn throttling(root: &Root, plan: &Plan) -> Judged {
    let limit = rt_throttling(root)?;
    let Some((runtime_us, period_us)) =
        limit.and_then(|limit| Some((limit.runtime_us?, limit.period_us)))
    else {
        return Ok(None);
    };
    if !real_time(plan) || has_servers(root) || runtime_us >= period_us {
        return Ok(None);
    }
    let rest_ms = (period_us - runtime_us) / 1000;
    finding(
        format!(
            "real-time tasks of a CPU together may run {runtime_us} us of each {period_us} \
             (/proc/sys/kernel/sched_rt_runtime_us)"
        ),
        &format!(
            "when they want more, this kernel stops all of them for up to {rest_ms} ms, the measuring \
             threads too"
        ),
        "`sudo sysctl kernel.sched_rt_runtime_us=-1`; a real-time task in an endless loop then \
         keeps its CPU"
            .to_owned(),
    )
}

fn servers(root: &Root, plan: &Plan) -> Judged {
    if !real_time(plan) {
        return Ok(None);
    }
    let on = match deadline_servers::on(root, &plan.cpus)? {
        Some(on) if on.is_empty() => return Ok(None),
        Some(on) => on,
        // A kernel without debugfs does not even have the folder.
        None if !root.exists(DEBUGFS) => return Ok(None),
        None => {
            let why = Access::of(root).obstacle().unwrap_or_default();
            return Err(Unchecked::Hidden(why));
        }
    };
    let cpus = on.values().fold(CpuList::new(), |all, cpus| &all | cpus);
    let numbers: Vec<String> = cpus.iter().map(|cpu| cpu.to_string()).collect();
    finding(
        format!(
            "{} on {} ({DEBUGFS}/sched/*_server/cpu*/runtime)",
            on.into_keys().collect::<Vec<_>>().join(" and "),
            cpus.in_words()
        ),
        "when normal tasks starve, a server gives them some 50 ms of each second, before every \
         SCHED_FIFO task",
        format!(
            "`sudo sh -c 'for n in {}; do for f in {DEBUGFS}/sched/*_server/cpu$n/runtime; do echo 0 \
             >$f; done; done'`",
            numbers.join(" ")
        ),
    )
}

fn idle_states(root: &Root, plan: &Plan) -> Judged {
    if plan.dma_latency_held || !plan.sleeps {
        return Ok(None);
    }
    let mut deep = idle::allowed(root, &plan.cpus)?;
    deep.retain(|state| state.exit_latency_us > C1_EXIT_LATENCY_US);
    let Some(deepest) = deep.last() else {
        return Ok(None);
    };
    let why = format!(
        "waking up from the deepest takes up to {} us more",
        deepest.exit_latency_us
    );
    let cpus = deep
        .iter()
        .fold(CpuList::new(), |all, state| &all | &state.cpus);
    let names: Vec<&str> = deep.iter().map(|state| state.name.as_str()).collect();
    finding(
        format!(
            "{} may go into idle states deeper than C1: {} ({}/state*)",
            cpus.in_words(),
            names.join(", "),
            idle::folder(cpus.first().unwrap_or(0))
        ),
        &why,
        format!(
            "run artis with sudo, which holds /dev/cpu_dma_latency at 0, or `sudo cpupower idle-set \
             -D {C1_EXIT_LATENCY_US}` (package linux-cpupower)"
        ),
    )
}

fn governor(root: &Root, plan: &Plan) -> Judged {
    let mut governors = frequency::governors(root, &plan.cpus)?;
    governors.remove("performance");
    let cpus = governors
        .values()
        .fold(CpuList::new(), |all, cpus| &all | cpus);
    let Some(first) = cpus.first() else {
        return Ok(None);
    };
    finding(
        format!(
            "{} changes frequency by the governor {} ({})",
            cpus.in_words(),
            governors.into_keys().collect::<Vec<_>>().join(", "),
            frequency::governor_file(first)
        ),
        "the same work takes longer at a lower frequency, so the figures depend on what ran before",
        format!("`sudo cpupower -c {cpus} frequency-set -g performance` (package linux-cpupower)"),
    )
}

fn isolated(root: &Root, plan: &Plan) -> Judged {
    if !concerns_real_time(plan) {
        return Ok(None);
    }
    let isolated = match Cpus::read(root) {
        Ok(cpus) => &cpus.isolated - &plan.cpus,
        // A machine without the file has no isolated CPUs.
        Err(artis_machine::cpus::Error::Absent(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if isolated.is_empty() {
        return Ok(None);
    }
    finding(
        format!(
            "isolated {} not measured (/sys/devices/system/cpu/isolated)",
            isolated.in_words_are()
        ),
        "CPUs that were set apart for real-time work differ from the others, and these figures say \
         nothing about them",
        format!("measure them: -a {isolated}"),
    )
}

fn clock(root: &Root, _plan: &Plan) -> Judged {
    let Some(name) =
        clock_source::current(root)?.filter(|name| !clock_source::is_cpu_counter(name))
    else {
        return Ok(None);
    };
    finding(
        format!("the clock source is {name} ({})", clock_source::FILE),
        "reading it takes longer than a counter of the CPU, up to microseconds in each sample",
        format!(
            "`echo tsc | sudo tee {}` where available_clocksource lists it; `dmesg | grep -i tsc` \
             shows why the kernel gave it up",
            clock_source::FILE
        ),
    )
}

fn virtual_machine(root: &Root, _plan: &Plan) -> Judged {
    let Some(name) = virtualisation(root) else {
        return Ok(None);
    };
    finding(
        format!("this is a virtual machine ({name})"),
        "the host stops its CPUs at any time, and exits to the hypervisor delay interrupts and \
         timers",
        "measure on the real machine; compare figures of this one with each other only".to_owned(),
    )
}

#[cfg(test)]
mod tests;
