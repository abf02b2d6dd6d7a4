// SPDX-License-Identifier: GPL-2.0-only
//! What to type for a set that fits.

use crate::analysis::cpu::Order;
use crate::choose::priorities::HIGHEST;
use crate::model::{Set, Task, Who};

/// Of larger sets no commands are given.
const TASKS_MAX: usize = 1000;

/// A line for each task that `artis run` can start or change.
pub fn commands(set: &Set, cpus: &[u32], priorities: &[u8]) -> Vec<String> {
    let order = Order::of(set.policy);
    if set.tasks.len() > TASKS_MAX {
        return vec![];
    }
    let mut all: Vec<(u32, u8, usize)> = (0..set.tasks.len())
        .map(|at| match order {
            Order::Fixed => (cpus[at], priorities[at], at),
            Order::Edf | Order::Fifo => (cpus[at], HIGHEST, at),
        })
        .collect();
    all.sort_by_key(|(cpu, priority, at)| (*cpu, u8::MAX - priority, *at));
    all.iter()
        .map(|(cpu, priority, at)| {
            let task = &set.tasks[*at];
            let how = match order {
                Order::Edf => reservation(task),
                Order::Fixed | Order::Fifo => format!("--priority {priority}"),
            };
            let run = format!("artis run rt0 --cpu {cpu} {how}");
            match &task.who {
                Who::Nobody => format!("{run} -- CMD   # {}", task.name),
                Who::Command(words) => {
                    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                    format!("{run} -- {}", words.join(" "))
                }
                Who::Threads(name) => {
                    let name = quoted(name);
                    format!("pgrep -w -x {name} | xargs -n 1 {run} --thread --pid")
                }
            }
        })
        .collect()
}

/// What makes it a task of `SCHED_DEADLINE`. Its jitter is taken from the deadline.
fn reservation(task: &Task) -> String {
    let room_ns = task.deadline_ns.saturating_sub(task.jitter_ns);
    let deadline = match room_ns == task.period_ns {
        true => String::new(),
        false => format!(" --deadline {}", exactly(room_ns)),
    };
    format!(
        "--policy edf --period {} --budget {}{deadline}",
        exactly(task.period_ns),
        exactly(task.execution_ns())
    )
}

/// A time in the largest unit of which it is a multiple.
fn exactly(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
    let found = units
        .into_iter()
        .find(|(unit, _)| ns.is_multiple_of(*unit) && ns > 0);
    let (unit, name) = found.unwrap_or((1, "ns"));
    format!("{}{name}", ns / unit)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+%@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        assert_eq!(quoted("./a-b"), "./a-b");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("$HOME"), "'$HOME'");
    }

    #[test]
    fn tasks_of_edf_are_told_by_their_numbers() {
        let mut task = Task::new("a", 200_000, 1_000_000);
        assert_eq!(
            reservation(&task),
            "--policy edf --period 1ms --budget 200us"
        );
        task.jitter_ns = 1;
        let words = "--policy edf --period 1ms --budget 200us --deadline 999999ns";
        assert_eq!(reservation(&task), words);
    }
}
