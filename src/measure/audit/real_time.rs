// SPDX-License-Identifier: GPL-2.0-only
//! Other real-time threads on the measured CPUs: they and the measuring threads delay each other.

use super::settings::{Judged, concerns_real_time, finding};
use super::{Plan, Unchecked};
use artis_machine::Root;
use artis_machine::tasks::{self, Task};

/// How many are named; the others are counted.
const NAMED_MAX: usize = 5;

/// Those of user space. The kernel's own threads are part of what is measured.
pub fn others(root: &Root, plan: &Plan) -> Judged {
    // A normal task knows that real-time ones come first.
    if !concerns_real_time(plan) || !root.exists("/proc") {
        return Ok(None);
    }
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut all = tasks::all(root).map_err(Unchecked::from)?;
    all.retain(|task| {
        let candidate = task.policy.is_real_time() && !task.is_kernel && task.pid != own;
        candidate && may_run_there(root, plan, task)
    });
    if all.is_empty() {
        return Ok(None);
    }
    all.sort_by_key(|task| std::cmp::Reverse(task.priority));
    let mut names: Vec<String> = all.iter().take(NAMED_MAX).map(in_words).collect();
    if all.len() > NAMED_MAX {
        names.push(format!(
            "{} more (`artis tasks --rt`)",
            all.len() - NAMED_MAX
        ));
    }
    finding(
        format!(
            "other real-time threads may run on the measured {}: {}",
            plan.cpus.in_words(),
            names.join(", ")
        ),
        "a thread of higher priority delays the samples, and one of lower priority is delayed by the \
         measuring threads",
        format!(
            "move them to other CPUs (`taskset -a -cp LIST PID`), or measure other CPUs than {}",
            plan.cpus
        ),
    )
}

fn may_run_there(root: &Root, plan: &Plan, task: &Task) -> bool {
    let status = tasks::status(root, task);
    status.is_some_and(|status| !(&status.allowed & &plan.cpus).is_empty())
}

/// `4711 jackd (SCHED_FIFO 70)`.
fn in_words(task: &Task) -> String {
    let priority = match task.priority {
        0 => String::new(),
        priority => format!(" {priority}"),
    };
    let process = match task.pid == task.tid {
        true => String::new(),
        false => format!(" of process {}", task.pid),
    };
    format!(
        "{}{process} {} (SCHED_{}{priority})",
        task.tid, task.name, task.policy
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;
    use artis_testing::canned;

    /// A thread of this number, name, flags, priority and policy.
    fn stat(tid: i32, name: &str, flags: u64, priority: u32, policy: u32) -> String {
        format!(
            "{tid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 3 74 0 0 -51 0 1 0 25 0 0 1 0 0 0 0 \
             0 0 0 2147483647 0 1 0 0 17 3 {priority} {policy} 0 0 0 0 0 0 0 0 0 0 0\n"
        )
    }

    #[test]
    fn real_time_threads_that_may_run_on_a_measured_cpu_are_named() {
        let allowed = |list: &str| format!("Cpus_allowed_list:\t{list}\n");
        let (_folder, root) = canned(&[
            ("proc/40/stat", &stat(40, "jackd", 0, 70, 1)),
            ("proc/40/task/40/status", &allowed("0-7")),
            ("proc/41/stat", &stat(41, "elsewhere", 0, 99, 1)),
            ("proc/41/task/41/status", &allowed("5")),
            ("proc/42/stat", &stat(42, "migration/0", 0x0420_0000, 99, 1)),
            ("proc/42/task/42/status", &allowed("0")),
            ("proc/43/stat", &stat(43, "bash", 0, 0, 0)),
            ("proc/43/task/43/status", &allowed("0-7")),
            ("proc/44/stat", &stat(44, "vision", 0, 0, 6)),
            ("proc/44/task/44/status", &allowed("1")),
        ]);
        let seen = others(&root, &plan()).unwrap().unwrap().seen;
        assert!(
            seen.ends_with("40 jackd (SCHED_FIFO 70), 44 vision (SCHED_DEADLINE)"),
            "{seen}"
        );
    }

    #[test]
    fn normal_threads_are_no_finding() {
        let (_folder, root) = canned(&[
            ("proc/43/stat", &stat(43, "bash", 0, 0, 0)),
            ("proc/43/task/43/status", "Cpus_allowed_list:\t0-7\n"),
        ]);
        assert_eq!(others(&root, &plan()).unwrap(), None);
    }
}
