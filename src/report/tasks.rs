// SPDX-License-Identifier: GPL-2.0-only
//! Threads in the classes of the paper, as a table.

use super::columns::Columns;
use super::columns::Side::{Left, Right};
use super::list_or_count;
use super::words::plain;
use artis_machine::tasks::{Policy, Status, Task};
use artis_task::kind::Kind;
use serde::Serialize;

/// A task, and all that is said of it.
#[derive(Debug, Serialize)]
pub struct Line {
    pub class: Kind,
    #[serde(flatten)]
    pub task: Task,
    #[serde(flatten)]
    pub status: Status,
    /// How often it changed its CPU; none where the kernel does not count this.
    pub migrations: Option<u64>,
}

/// A line for each task: how often it migrated, blocked (switched voluntarily), and was preempted
/// (switched involuntarily). No line is longer than `width` columns.
pub fn table(lines: &[Line], width: usize) -> String {
    let mut table = Columns::new([
        ("class", Left),
        ("tid", Right),
        ("CPU", Right),
        ("policy", Left),
        ("may use", Left),
        ("migrated", Right),
        ("blocked", Right),
        ("preempted", Right),
        ("name", Left),
    ]);
    for line in lines {
        let Line {
            class,
            task,
            status,
            migrations,
        } = line;
        let migrations = migrations.map_or_else(|| "-".to_owned(), |number| number.to_string());
        table.push([
            class.to_string(),
            task.tid.to_string(),
            task.cpu.to_string(),
            policy(task),
            list_or_count(&status.allowed, 11),
            migrations,
            status.switches_voluntary.to_string(),
            status.switches_involuntary.to_string(),
            plain(&task.name),
        ]);
    }
    table.text(width)
}

/// The policy and the task's rank in it: the priority, or the nice value where it is not 0.
fn policy(task: &Task) -> String {
    match task.policy {
        Policy::Fifo | Policy::RoundRobin => format!("{} {}", task.policy, task.priority),
        Policy::Deadline | Policy::Idle => task.policy.to_string(),
        // The level of `artis run rt1`.
        Policy::Ext => format!("EXT level {}", task.nice + 21),
        _ if task.nice != 0 => format!("{} {:+}", task.policy, task.nice),
        _ => task.policy.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, policy: Policy, allowed: &str) -> Line {
        Line {
            class: Kind::Rt0,
            task: Task {
                pid: 4_194_304,
                tid: 4_194_304,
                name: name.to_owned(),
                is_kernel: false,
                is_bound: false,
                policy,
                priority: 99,
                nice: -20,
                cpu: 4095,
            },
            status: Status {
                allowed: allowed.parse().unwrap(),
                switches_voluntary: 9_999_999_999,
                switches_involuntary: 9_999_999_999,
            },
            migrations: Some(9_999_999_999),
        }
    }

    #[test]
    fn lines_fit_the_width() {
        let lines = [
            line("a name with 15 b and more", Policy::Fifo, "1"),
            line("b\x1b[2J", Policy::Ext, "0,2,4,6,8,10,12"),
            line("c", Policy::Normal, "0-3"),
        ];
        for width in [40, 80, 100] {
            let text = table(&lines, width);
            let fits = |line: &str| line.chars().count() <= width;
            assert!(text.lines().all(fits), "{text}");
        }
        let text = table(&lines, 100);
        for words in ["FIFO 99", "EXT level 1 ", "NORMAL -20", "7 CPUs", "b[2J"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
