// SPDX-License-Identifier: GPL-2.0-only
//! Which hooks this kernel has, and what cannot be told without one.

use crate::Error;
use libbpf_rs::OpenObject;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;

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
const UNKNOWN: [(&str, &str); 7] = [
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
];

/// How the end of a page fault is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultEnds {
    /// The kernel lets programs wait for the end of a function.
    Function,
    /// By perf's count of them.
    Count,
    Unseen,
}

/// Leaves out the programs whose hook this kernel does not have, and says what is unknown then, a
/// sentence for each.
///
/// # Errors
/// When one of the needed is missing.
pub(crate) fn choose(
    open: &mut OpenObject,
    btf: &Btf<'_>,
    ends: FaultEnds,
) -> Result<Vec<String>, Error> {
    let traced = |name: &str| {
        btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}"))
            .is_some()
    };
    if let Some(name) = NEEDED.into_iter().find(|name| !traced(name)) {
        return Err(Error::NoTracepoint(name));
    }
    let mut absent = Vec::new();
    for mut program in open.progs_mut() {
        let section = program.section().to_string_lossy().into_owned();
        let name = match section.split_once('/') {
            Some(("fexit", _)) => {
                program.set_autoload(ends == FaultEnds::Function);
                continue;
            }
            None => {
                program.set_autoload(ends == FaultEnds::Count);
                continue;
            }
            Some((_, name)) => name,
        };
        if traced(name) {
            continue;
        }
        program.set_autoload(false);
        let unknown = UNKNOWN.iter().find(|(hook, _)| *hook == name);
        match unknown {
            Some((_, unknown)) => {
                absent.push(format!("this kernel has no hook {name}: {unknown}"));
            }
            // The end of what another sentence speaks of.
            None if name.ends_with("_exit") || name.ends_with("_end") => {}
            None => absent.push(format!(
                "this kernel has no hook {name}: what it shows is unknown"
            )),
        }
    }
    if ends == FaultEnds::Unseen {
        absent.push(
            "the kernel does not show when a page fault ends: those of the thread count for its \
             own work"
                .to_owned(),
        );
    }
    Ok(absent)
}
