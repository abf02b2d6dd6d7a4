// SPDX-License-Identifier: GPL-2.0-only
//! Every thread of the machine, the kernel's own included, and how each is scheduled.
//!
//! Source: proc_pid_stat(5), proc_pid_status(5); the flags are `PF_*` of `include/linux/sched.h`.

use super::processes::Stat;
use super::{CpuList, Root, Unreadable};
use serde::Serialize;
use std::fmt;

/// `PF_KTHREAD`.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// `PF_NO_SETAFFINITY`.
const BOUND: u64 = 0x0400_0000;

/// A scheduling policy, as `SCHED_*` of `include/uapi/linux/sched.h` numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    Normal,
    Fifo,
    RoundRobin,
    Batch,
    Idle,
    Deadline,
    Ext,
    /// A policy that artis does not know.
    Other,
}

impl Policy {
    /// That of a number of the kernel.
    pub fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Normal,
            1 => Self::Fifo,
            2 => Self::RoundRobin,
            3 => Self::Batch,
            5 => Self::Idle,
            6 => Self::Deadline,
            7 => Self::Ext,
            _ => Self::Other,
        }
    }

    /// Whether tasks of this policy run before all normal tasks.
    pub fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo | Self::RoundRobin | Self::Deadline)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "NORMAL",
            Self::Fifo => "FIFO",
            Self::RoundRobin => "RR",
            Self::Batch => "BATCH",
            Self::Idle => "IDLE",
            Self::Deadline => "DEADLINE",
            Self::Ext => "EXT",
            Self::Other => "?",
        })
    }
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Task {
    pub pid: i32,
    pub tid: i32,
    pub name: String,
    /// A thread of the kernel itself.
    pub is_kernel: bool,
    /// Its affinity cannot be changed.
    pub is_bound: bool,
    pub policy: Policy,
    /// 1 to 99 for real-time policies, otherwise 0.
    pub priority: u32,
    pub nice: i32,
    /// The CPU on which it ran last.
    pub cpu: u32,
}

/// What only the file `status` has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// CPUs that it may use.
    pub allowed: CpuList,
    /// How often it has given up its CPU itself, since it began.
    pub switches_voluntary: u64,
    /// How often it was preempted, since it began.
    pub switches_involuntary: u64,
}

/// All threads, ordered by number. A thread that ends or begins meanwhile may be missing.
///
/// # Errors
/// When `/proc` cannot be listed.
pub fn all(root: &Root) -> Result<Vec<Task>, Unreadable> {
    let tasks = with_times(root)?.into_iter();
    Ok(tasks.map(|(task, _)| task).collect())
}

/// As [`all`], with the CPU time that each has used, in ticks of `USER_HZ`.
///
/// # Errors
/// As [`all`].
pub fn with_times(root: &Root) -> Result<Vec<(Task, u64)>, Unreadable> {
    let mut tasks = Vec::new();
    for pid in numbers(root.names("/proc")?) {
        let Some((leader, threads, of_process)) = root
            .hint(format!("/proc/{pid}/stat"))
            .and_then(|stat| parse(pid, &stat))
        else {
            continue;
        };
        let mut ticks = of_process;
        // Most processes have a single thread, which `/proc/PID/stat` describes already.
        if threads > 1 {
            let tids = root.names(format!("/proc/{pid}/task")).unwrap_or_default();
            let others = numbers(tids).filter(|tid| *tid != pid).filter_map(|tid| {
                let stat = root.hint(format!("/proc/{pid}/task/{tid}/stat"))?;
                let (task, _, ticks) = parse(pid, &stat)?;
                Some((task, ticks))
            });
            tasks.extend(others);
            // The process's own file has the sum of its threads.
            let own = root.hint(format!("/proc/{pid}/task/{pid}/stat"));
            ticks = own.and_then(|stat| Some(parse(pid, &stat)?.2)).unwrap_or(0);
        }
        tasks.push((leader, ticks));
    }
    tasks.sort_unstable_by_key(|(task, _)| task.tid);
    Ok(tasks)
}

/// The process of a thread; none when there is no such thread.
pub fn process_of(root: &Root, tid: i32) -> Option<i32> {
    let status = root.hint(format!("/proc/{tid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

fn numbers(names: Vec<String>) -> impl Iterator<Item = i32> {
    names.into_iter().filter_map(|name| name.parse().ok())
}

/// The status of a thread; none when it has ended or its status cannot be understood.
pub fn status(root: &Root, task: &Task) -> Option<Status> {
    let file = format!("/proc/{}/task/{}/status", task.pid, task.tid);
    parse_status(&root.hint(file)?)
}

/// How often a thread changed its CPU since it began; none where the kernel does not show it, or
/// the thread has ended.
pub fn migrations(root: &Root, task: &Task) -> Option<u64> {
    parse_migrations(&root.hint(format!("/proc/{}/task/{}/sched", task.pid, task.tid))?)
}

/// Lines of `NAME : VALUE`.
fn parse_migrations(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("se.nr_migrations"))?;
    line.trim_start_matches([' ', ':']).trim().parse().ok()
}

/// A thread, the number of threads of its process, and its CPU time.
fn parse(pid: i32, stat: &str) -> Option<(Task, u32, u64)> {
    let stat = Stat::parse(stat)?;
    let flags: u64 = stat.number(9)?;
    let task = Task {
        pid,
        tid: stat.id,
        name: stat.name.to_owned(),
        is_kernel: flags & KERNEL_THREAD != 0,
        is_bound: flags & BOUND != 0,
        policy: Policy::from_number(stat.number(41)?),
        priority: stat.number(40)?,
        nice: stat.number(19)?,
        cpu: stat.number(39)?,
    };
    let ticks = stat.number::<u64>(14)?.saturating_add(stat.number(15)?);
    Some((task, stat.number(20)?, ticks))
}

fn parse_status(text: &str) -> Option<Status> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim())
    };
    let number = |name| field(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    Some(Status {
        allowed: CpuList::from_kernel(field("Cpus_allowed_list:")?).ok()?,
        switches_voluntary: number("voluntary_ctxt_switches:"),
        switches_involuntary: number("nonvoluntary_ctxt_switches:"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use proptest::prelude::*;

    fn stat(tid: i32, name: &str, flags: u64, threads: u32, policy: u32) -> String {
        format!(
            "{tid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 3 74 0 0 -51 -5 {threads} 0 25 0 0 1 0 0 0 0 \
             0 0 0 2147483647 0 1 0 0 17 3 50 {policy} 0 0 0 0 0 0 0 0 0 0 0\n"
        )
    }

    #[test]
    fn threads_of_kernel_and_processes_are_read() {
        let (_folder, root) = canned(&[
            ("proc/14/stat", &stat(14, "irq/9-a) b (c", 69_238_848, 1, 1)),
            ("proc/20/stat", &stat(20, "main", 0, 2, 0)),
            ("proc/20/task/20/stat", ""),
            ("proc/20/task/21/stat", &stat(21, "worker", 0, 2, 6)),
            ("proc/30/stat", "damaged"),
            ("proc/self/stat", ""),
        ]);
        let tasks = all(&root).unwrap();
        let names: Vec<(&str, i32, i32)> = tasks
            .iter()
            .map(|task| (task.name.as_str(), task.pid, task.tid))
            .collect();
        assert_eq!(
            names,
            [
                ("irq/9-a) b (c", 14, 14),
                ("main", 20, 20),
                ("worker", 20, 21)
            ]
        );
        let irq = &tasks[0];
        assert!(irq.is_kernel && irq.is_bound && irq.policy.is_real_time());
        assert_eq!((irq.priority, irq.nice, irq.cpu), (50, -5, 3));
        assert_eq!(tasks[2].policy, Policy::Deadline);
        assert!(!tasks[1].is_kernel && !tasks[1].is_bound);
    }

    #[test]
    fn the_status_has_affinity_and_switches() {
        let text = "Cpus_allowed:\t6\nCpus_allowed_list:\t1-2\nvoluntary_ctxt_switches:\t7\n\
                    nonvoluntary_ctxt_switches:\t3\n";
        let status = parse_status(text).unwrap();
        assert_eq!(status.allowed.to_string(), "1-2");
        assert_eq!(
            (status.switches_voluntary, status.switches_involuntary),
            (7, 3)
        );
        assert_eq!(parse_status("Name:\tx\n"), None);
        let sched = "x (1, #threads: 1)\nse.nr_migrations   :     12\nnr_switches : 9\n";
        assert_eq!(parse_migrations(sched), Some(12));
    }

    #[test]
    fn this_process_is_among_them() {
        let root = Root::default();
        let own = i32::try_from(std::process::id()).unwrap();
        let tasks = all(&root).unwrap();
        let found = tasks.iter().find(|task| task.tid == own).unwrap();
        assert!(!found.is_kernel);
        assert!(!status(&root, found).unwrap().allowed.is_empty());
        let thread = nix::unistd::gettid().as_raw();
        assert_eq!(process_of(&root, thread), Some(own));
        assert_eq!(process_of(&root, 0), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}", numbers in "[0-9]{1,4} \\(.{0,9}\\) S( -?[0-9]{1,20}){0,50}") {
            for text in [text, numbers] {
                let _ = parse(1, &text);
                let _ = parse_status(&text);
                let _ = parse_migrations(&text);
            }
        }

        #[test]
        fn any_status_is_read_or_refused(text in "(Cpus_allowed_list:|voluntary_ctxt_switches:|[0-9,-]|\t|\n){0,20}") {
            let _ = parse_status(&text);
        }
    }
}
