// SPDX-License-Identifier: GPL-2.0-only
//! What each task of a run did.

use super::super::columns::Columns;
use super::super::columns::Side::{Left, Right};
use super::super::words::plain;
use super::ns;
use artis_scenario::{Ended, Outcome, TaskOutcome};
use std::fmt::Write as _;

/// Of more tasks, so many are shown; all are in the document.
const TASKS_MAX: usize = 200;

/// The table, and how the run ended.
pub fn text(outcome: &Outcome, width: usize) -> String {
    let mut text = table(&outcome.tasks, width);
    if outcome.tasks.len() > TASKS_MAX {
        let left = outcome.tasks.len() - TASKS_MAX;
        let _ = writeln!(text, "… and {left} tasks; --json has them");
    }
    let why = match outcome.ended {
        Ended::All => "all tasks have ended",
        Ended::Foreground => "the foreground tasks have ended",
        Ended::Duration => "its time was over",
        Ended::Interrupted => "it was interrupted",
    };
    let _ = writeln!(
        text,
        "\n{} from the common start: {why}",
        ns(outcome.wall_ns)
    );
    let _ = writeln!(
        text,
        "the latest task began {} late",
        ns(outcome.start_late_ns_max)
    );
    text
}

fn table(tasks: &[TaskOutcome], width: usize) -> String {
    let mut table = Columns::new([
        ("wall", Right),
        ("ran", Right),
        ("waited", Right),
        ("on RT CPUs", Right),
        ("blocked", Right),
        ("preempted", Right),
        ("migrated", Right),
        ("met", Right),
        ("missed", Right),
        ("latest", Right),
        ("name; CPUs", Left),
    ]);
    for task in tasks.iter().take(TASKS_MAX) {
        let dash = || "-".to_owned();
        let number = |number: Option<u64>| number.map_or_else(dash, |it| it.to_string());
        let when_active = |text: String| match task.activations {
            0 => dash(),
            _ => text,
        };
        table.push([
            task.wall_ns.map_or_else(dash, ns),
            ns(task.cpu_ns),
            task.waiting_ns.map_or_else(dash, ns),
            task.rt_share.map_or_else(dash, per_cent),
            task.voluntary_switches.to_string(),
            task.involuntary_switches.to_string(),
            number(task.migrations),
            when_active(task.met().to_string()),
            when_active(task.missed.to_string()),
            when_active(ns(task.late_ns_max)),
            name(task),
        ]);
    }
    table.text(width)
}

fn per_cent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// The name, and where it worked.
fn name(task: &TaskOutcome) -> String {
    let mut text = plain(&task.name);
    if task.is_forked {
        let _ = write!(text, " (forked {} times)", task.count);
    }
    let shares = task
        .shares
        .iter()
        .map(|(cpu, part)| format!("{cpu}: {}", per_cent(*part)));
    let shares: Vec<String> = shares.collect();
    if !shares.is_empty() {
        let _ = write!(text, "; {}", shares.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_a_dash() {
        let task = TaskOutcome {
            name: "a".to_owned(),
            count: 1,
            cpu_ns: 5_000_000,
            ..TaskOutcome::default()
        };
        let known = TaskOutcome {
            name: "b".to_owned(),
            wall_ns: Some(10_000_000),
            waiting_ns: Some(2000),
            shares: [(0, 0.25), (1, 0.75)].into(),
            rt_share: Some(0.75),
            migrations: Some(3),
            activations: 4,
            missed: 1,
            late_ns_max: 60_000,
            ..task.clone()
        };
        let outcome = Outcome {
            wall_ns: 10_000_000,
            ended: Ended::Duration,
            step_ns: 1.0,
            kernel_bytes_per_ns: 10.0,
            start_late_ns_max: 70_000,
            tasks: vec![task, known],
        };
        let text = text(&outcome, 120);
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        assert_eq!(
            lines[..3],
            [
                "wall   ran  waited  on RT CPUs  blocked  preempted  migrated  met  missed  latest  \
                 name; CPUs",
                "-  5 ms       -           -        0          0         -    -       -       -  a",
                "10 ms  5 ms    2 us        75 %        0          0         3    3       1   60 us  \
                 b; 0: 25 %, 1: 75 %",
            ]
        );
        assert_eq!(lines[4], "10 ms from the common start: its time was over");
    }
}
