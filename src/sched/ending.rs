// SPDX-License-Identifier: GPL-2.0-only
//! Why the scheduler ended, in words.

use super::beset::Unserved;
use artis_machine::kubelet;
use serde::Serialize;

/// What the kernel says about the end of a sched_ext scheduler (`struct scx_exit_info`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// `enum scx_exit_kind` of the kernel.
    pub kind: i32,
    /// The code given to `scx_bpf_exit()`, 0 if there was none.
    pub code: i64,
    /// The kernel's word for the kind.
    pub reason: String,
    /// What the kernel or the BPF program added.
    pub message: String,
}

/// No kind of the kernel's: artis ended it.
const UNSERVED: i32 = -1;
const TAKEN: i32 = -2;
const UNREG: i32 = 64;
const UNREG_BPF: i32 = 65;
const UNREG_KERN: i32 = 66;
const SYSRQ: i32 = 67;
const ERROR: i32 = 1024;
const ERROR_BPF: i32 = 1025;
const ERROR_STALL: i32 = 1026;
const ERROR_REENQ: i32 = 1027;

impl Ending {
    /// For an ending that the kernel did not explain.
    pub fn unknown() -> Self {
        Self {
            kind: 0,
            code: 0,
            reason: "the kernel gave no reason".to_owned(),
            message: String::new(),
        }
    }

    /// For an ending by artis itself, because it could not have tasks served.
    pub fn unserved(unserved: &Unserved) -> Self {
        let (cpu, seconds) = (unserved.cpu, unserved.waited.as_secs());
        let why = match unserved.has_server {
            true => "the kernel's deadline server did not serve them",
            false => "this kernel has no deadline server for tasks of a BPF scheduler (7.0 has)",
        };
        Self {
            kind: UNSERVED,
            code: 0,
            reason: "tasks were not served".to_owned(),
            message: format!(
                "real-time tasks kept NRT CPU {cpu} from all others for {seconds} s, and {why}"
            ),
        }
    }

    /// For an ending by artis itself, because a pod has RT CPUs alone now.
    pub fn taken(taken: &kubelet::Error) -> Self {
        Self {
            kind: TAKEN,
            code: 0,
            reason: "a pod has RT CPUs alone".to_owned(),
            message: taken.to_string(),
        }
    }

    /// Did it end because its own process asked for it?
    pub fn was_asked_for(&self) -> bool {
        self.kind == UNREG
    }

    /// One sentence: what happened, and what to do next.
    pub fn in_words(&self) -> String {
        let detail = if self.message.is_empty() {
            &self.reason
        } else {
            &self.message
        };
        match self.kind {
            UNSERVED => format!(
                "artis ended the scheduler: {detail}; the kernel's own scheduler gives them a turn \
                 now; leave others some time on that CPU, then start artis again"
            ),
            TAKEN => format!("artis ended the scheduler: {detail}"),
            UNREG => "the scheduler was stopped".to_owned(),
            UNREG_BPF => format!(
                "the scheduler ended itself: {detail}; at least one NRT CPU has to be online"
            ),
            UNREG_KERN => format!(
                "the kernel ended the scheduler: {detail}; start it again with `artis sched run`"
            ),
            SYSRQ => "the scheduler was ended from the keyboard (SysRq-S)".to_owned(),
            ERROR_STALL => format!(
                "the kernel's watchdog ended the scheduler because a task could not run for 30 s \
                 ({detail}); most often an RT0 task takes all of a CPU that a bound task or a \
                 kernel thread needs: give RT0 less than the whole CPU, or unbind that task"
            ),
            ERROR | ERROR_BPF | ERROR_REENQ => format!(
                "the kernel ended the scheduler because of an error in it: {} ({detail}); all \
                 tasks are back on the kernel's own scheduler; please report this",
                self.reason
            ),
            _ => format!("the scheduler ended: {} ({detail})", self.reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(kind: i32, message: &str) -> Ending {
        Ending {
            kind,
            code: 0,
            reason: "runnable task stall".to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_stall_names_the_task_and_the_way_out() {
        let words = ending(ERROR_STALL, "kworker/1:0[42] failed to run for 30.1s").in_words();
        assert!(words.contains("kworker/1:0[42]"), "{words}");
        assert!(words.contains("RT0"), "{words}");
    }

    #[test]
    fn the_reason_stands_in_for_a_missing_message() {
        assert!(
            ending(UNREG_KERN, "")
                .in_words()
                .contains("runnable task stall")
        );
    }

    #[test]
    fn only_unregistration_was_asked_for() {
        assert!(ending(UNREG, "").was_asked_for());
        assert!(!ending(ERROR, "").was_asked_for());
    }
}
