// SPDX-License-Identifier: GPL-2.0-only
//! Which hooks this kernel has, and what cannot be told without one.

use crate::Error;
use libbpf_rs::OpenObject;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Func, Typedef};

/// Tracepoints without which no lateness can be told.
const NEEDED: [&str; 6] = [
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "hrtimer_expire_entry",
    "sys_enter",
    "sys_exit",
];

/// What is unknown without a hook. Those that are not here have a sentence of their own kind.
const UNKNOWN: [(&str, &str); 8] = [
    (
        "local_timer_entry",
        "which code had interrupts off is told less exactly",
    ),
    (
        "call_function_entry",
        "IPIs count for the task that they interrupt",
    ),
    (
        "csd_function_entry",
        "what an IPI ran, and who sent it, is unknown",
    ),
    (
        "sched_exit_tp",
        "the switch itself counts for the thread's own system call",
    ),
    (
        "sched_entry_tp",
        "the switch itself counts for the task that is switched away",
    ),
    (
        "contention_begin",
        "waiting for a run queue's lock counts as the wakeup itself",
    ),
    (
        "page_fault_user",
        "the thread's own page faults count for its own work",
    ),
    (
        "handle_mm_fault",
        "the thread's own page faults end where their page is counted, and those that copy a page \
         have no end",
    ),
];

/// What the loader decides by what the kernel has.
pub(crate) struct Hooks {
    /// A sentence for each hook that is missing.
    pub absent: Vec<String>,
    /// Whether the end of a page fault is seen.
    pub faults_end: bool,
}

/// Leaves out the programs whose hook this kernel does not have. `ends`: it lets programs wait for
/// the end of a function.
///
/// # Errors
/// When one of the needed is missing.
pub(crate) fn choose(open: &mut OpenObject, btf: &Btf<'_>, ends: bool) -> Result<Hooks, Error> {
    let traced = |name: &str| {
        btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}"))
            .is_some()
    };
    if let Some(name) = NEEDED.into_iter().find(|name| !traced(name)) {
        return Err(Error::NoTracepoint(name));
    }
    let mut hooks = Hooks {
        absent: Vec::new(),
        faults_end: true,
    };
    for mut program in open.progs_mut() {
        let section = program.section().to_string_lossy().into_owned();
        let (exists, name) = match section.split_once('/') {
            Some(("tp_btf" | "raw_tp", name)) => (traced(name), name),
            Some((_, name)) => (ends && btf.type_by_name::<Func<'_>>(name).is_some(), name),
            None => continue,
        };
        // It stands in for the end of a page fault.
        let exists = exists && !(name == "rss_stat" && ends);
        if exists {
            continue;
        }
        program.set_autoload(false);
        if name == "rss_stat" {
            hooks.faults_end &= ends;
            continue;
        }
        let unknown = UNKNOWN.iter().find(|(hook, _)| *hook == name);
        match unknown {
            Some((_, unknown)) => hooks
                .absent
                .push(format!("this kernel has no hook {name}: {unknown}")),
            // The end of what another sentence speaks of.
            None if name.ends_with("_exit") || name.ends_with("_end") => {}
            None => hooks.absent.push(format!(
                "this kernel has no hook {name}: what it shows is unknown"
            )),
        }
    }
    Ok(hooks)
}
