// SPDX-License-Identifier: GPL-2.0-only
//! Which hooks this kernel has, and what remains unknown without one.

use crate::Error;
use libbpf_rs::OpenObject;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Func, Typedef};

/// Tracepoints without which no lateness can be explained.
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
        "which code had interrupts off is known less exactly",
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

/// How the programs' names end that do the work of another one where a task may be preempted within
/// the hook.
const AGAIN: &str = "_again";
/// The programs of system calls, by the begin of their names: only on some kernels a task may be
/// preempted within their hooks.
const OF_CALLS: &str = "call_";
/// The programs that may be there twice, by the begin of their names. They count themselves what
/// they miss.
const TWICE: [&str; 3] = ["call_entered", "call_left", "fault_handled"];

/// Of a pair, the one that names a variable of the kernel, and the one for kernels that do not let
/// programs do that.
const NAMES_VARIABLE: &str = "hrtimer_begins";
const NAMES_NONE: &str = "hrtimer_begins_plain";

/// Whether what this program misses counts.
pub(crate) fn counts_misses(program: &str) -> bool {
    !TWICE.iter().any(|name| program.starts_with(name))
}

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
/// sentence for each. `lists_variables`: the kernel has its variables among its symbols, so that
/// programs may name them.
///
/// # Errors
/// When one of the needed is missing.
pub(crate) fn choose(
    open: &mut OpenObject,
    btf: &Btf<'_>,
    ends: FaultEnds,
    lists_variables: bool,
) -> Result<Vec<String>, Error> {
    let traced = |name: &str| {
        btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}"))
            .is_some()
    };
    // Came with programs that may sleep there.
    let may_be_preempted = btf
        .type_by_name::<Func<'_>>("trace_call_bpf_faultable")
        .is_some();
    let mut missing = Vec::new();
    for mut program in open.progs_mut() {
        let section = program.section().to_string_lossy().into_owned();
        let name = program.name().to_string_lossy().into_owned();
        let other = if lists_variables {
            NAMES_NONE
        } else {
            NAMES_VARIABLE
        };
        let is_idle = name.starts_with(OF_CALLS) && name.ends_with(AGAIN) && !may_be_preempted;
        if name == other || is_idle {
            program.set_autoload(false);
            continue;
        }
        let wanted = match section.split_once('/') {
            Some(("fexit", _)) => ends == FaultEnds::Function,
            None => ends == FaultEnds::Count,
            Some((_, name)) => {
                let exists = traced(name);
                if !exists {
                    missing.push(name.to_owned());
                }
                exists
            }
        };
        program.set_autoload(wanted);
    }
    unknown(&missing, ends)
}

/// What is unknown without these tracepoints.
fn unknown(missing: &[String], ends: FaultEnds) -> Result<Vec<String>, Error> {
    if let Some(name) = NEEDED
        .into_iter()
        .find(|one| missing.iter().any(|name| name == one))
    {
        return Err(Error::NoTracepoint(name));
    }
    let sentence = |name: &String| match UNKNOWN.iter().find(|(hook, _)| hook == name) {
        Some((_, unknown)) => Some(format!("this kernel has no hook {name}: {unknown}")),
        // The end of what another sentence speaks of.
        None if name.ends_with("_exit") || name.ends_with("_end") => None,
        None => Some(format!(
            "this kernel has no hook {name}: what it shows is unknown"
        )),
    };
    let mut absent: Vec<String> = missing.iter().filter_map(sentence).collect();
    if ends == FaultEnds::Unseen {
        absent.push(
            "the kernel does not show when a page fault ends: those of the thread count for its \
             own work"
                .to_owned(),
        );
    }
    Ok(absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_hook_is_reported_with_what_is_unknown_then() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            unknown(&[], FaultEnds::Function).unwrap(),
            Vec::<String>::new()
        );
        let missing = names(&["call_function_entry", "call_function_exit", "napi_poll"]);
        let absent = unknown(&missing, FaultEnds::Unseen).unwrap();
        assert_eq!(absent.len(), 3, "{absent:?}");
        assert!(absent[0].contains("IPIs count for the task that they interrupt"));
        assert!(absent[1].contains("no hook napi_poll"));
        assert!(absent[2].contains("page fault"));
        for needed in NEEDED {
            let said = unknown(&names(&[needed]), FaultEnds::Count).unwrap_err();
            assert!(said.to_string().contains(needed), "{said}");
        }
    }

    #[test]
    fn programs_that_are_there_twice_count_themselves_what_they_miss() {
        for own in [
            "call_entered",
            "call_left_again",
            "fault_handled",
            "fault_handled_again",
        ] {
            assert!(!counts_misses(own), "{own}");
        }
        for kernels in ["switched", "call_sent", "fault_counted"] {
            assert!(counts_misses(kernels), "{kernels}");
        }
    }
}
