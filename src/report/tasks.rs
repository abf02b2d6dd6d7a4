// SPDX-License-Identifier: GPL-2.0-only
//! Threads in the classes of the paper, as a table.

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

/// A line for each task.
pub fn table(lines: &[Line]) -> String {
    let mut text = format!(
        "{:<8} {:>7} {:>4} {:<12} {:<11} {:>10} {:>11} {:>11}  name\n",
        "class", "tid", "CPU", "policy", "may use", "migrations", "voluntary", "involuntary"
    );
    for line in lines {
        let Line {
            class,
            task,
            status,
            migrations,
        } = line;
        let migrations = migrations.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let name = plain(&task.name);
        text += &format!(
            "{class:<8} {:>7} {:>4} {:<12} {:<11} {migrations:>10} {:>11} {:>11}  {name:.15}\n",
            task.tid,
            task.cpu,
            policy(task),
            list_or_count(&status.allowed, 11),
            status.switches_voluntary,
            status.switches_involuntary,
        );
    }
    text
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
    fn lines_fit_a_hundred_columns() {
        let lines = [
            line("a name with 15 b and more", Policy::Fifo, "1"),
            line("b\x1b[2J", Policy::Ext, "0,2,4,6,8,10,12"),
            line("c", Policy::Normal, "0-3"),
        ];
        let text = table(&lines);
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        for words in ["FIFO 99", "EXT level 1 ", "NORMAL -20", "7 CPUs", "b[2J"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
