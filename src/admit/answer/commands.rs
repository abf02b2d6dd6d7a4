// SPDX-License-Identifier: GPL-2.0-only
//! What to type for a set that fits.

use crate::analysis::cpu::Order;
use crate::choose::priorities::HIGHEST;
use crate::model::{Set, Who};

/// Of larger sets no commands are given.
const TASKS_MAX: usize = 1000;

/// A line for each task that `artis run` can start or change.
pub fn commands(set: &Set, cpus: &[u32], priorities: &[u8]) -> Vec<String> {
    let order = Order::of(set.policy);
    if order == Order::Edf || set.tasks.len() > TASKS_MAX {
        return vec![];
    }
    let mut all: Vec<(u32, u8, usize)> = (0..set.tasks.len())
        .map(|at| match order {
            Order::Fixed => (cpus[at], priorities[at], at),
            _ => (cpus[at], HIGHEST, at),
        })
        .collect();
    all.sort_by_key(|(cpu, priority, at)| (*cpu, u8::MAX - priority, *at));
    all.iter()
        .map(|(cpu, priority, at)| {
            let run = format!("artis run rt0 --cpu {cpu} --priority {priority}");
            match &set.tasks[*at].who {
                Who::Nobody => format!("{run} -- CMD   # {}", set.tasks[*at].name),
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
}
