// SPDX-License-Identifier: GPL-2.0-only
//! `artis tasks`: every thread, in the classes of the paper.

use super::output::{print_json, stdout};
use crate::machine::tasks::{self, Policy, Status, Task};
use crate::machine::{CpuList, Root};
use crate::task::kind::Kind;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis tasks --rt")]
pub struct Args {
    /// Only tasks of a real-time policy, and RT1+ tasks
    #[arg(long)]
    rt: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    tasks: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    class: Kind,
    #[serde(flatten)]
    task: Task,
    #[serde(flatten)]
    status: Status,
    /// How often it changed its CPU; none where the kernel does not count this.
    migrations: Option<u64>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let all = tasks::all(&root)?;
    let wanted = |task: &Task| !args.rt || task.policy.is_real_time() || task.policy == Policy::Ext;
    let line = |task: Task| {
        // A task that has ended meanwhile is left out.
        let status = tasks::status(&root, &task)?;
        Some(Line {
            class: Kind::of(&task, &status.allowed),
            migrations: tasks::migrations(&root, &task),
            status,
            task,
        })
    };
    let mut lines: Vec<Line> = all.into_iter().filter(wanted).filter_map(line).collect();
    lines.sort_by_key(|line| line.class);
    let mut out = stdout();
    if args.json {
        let document = Document {
            schema: "artis.tasks/1",
            tasks: lines,
        };
        print_json(&mut out, &document)?;
    } else {
        out.write_all(table(&lines).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(lines: &[Line]) -> String {
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
        let name: String = task.name.chars().filter(|one| !one.is_control()).collect();
        text += &format!(
            "{class:<8} {:>7} {:>4} {:<12} {:<11} {migrations:>10} {:>11} {:>11}  {name:.15}\n",
            task.tid,
            task.cpu,
            policy(task),
            short(&status.allowed),
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

/// The list, or the number of CPUs when the list is long.
fn short(cpus: &CpuList) -> String {
    let text = cpus.to_string();
    if text.len() <= 11 {
        text
    } else {
        format!("{} CPUs", cpus.len())
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
