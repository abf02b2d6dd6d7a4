// SPDX-License-Identifier: GPL-2.0-only
//! What a simulation gave, as a table: a line for each task, or of many for each kind.

use super::columns::Columns;
use super::columns::Side::{Left, Right};
use super::words::plain;
use artis_sim::Outcome;
use artis_sim::result::TaskOutcome;
use std::borrow::Cow;

/// Of more tasks, those of a kind are one line.
const LINES_MAX: usize = 60;

/// A line: one task, or all of a kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub name: String,
    pub class: Cow<'static, str>,
    pub tasks: u64,
    pub ended: u64,
    pub wall_ns_max: u64,
    pub cpu_ns: u64,
    pub cpu_rt_ns: u64,
    pub waited_ns_max: u64,
    pub wakeups: u64,
    pub wakeup_ns: u128,
    pub wakeup_ns_max: u64,
    pub switches: u64,
    pub migrations: u64,
    pub deadlines: u64,
    pub met: u64,
}

impl Line {
    fn add(&mut self, task: &TaskOutcome) {
        self.class.clone_from(&task.class);
        self.tasks += 1;
        self.ended += u64::from(task.has_ended);
        self.wall_ns_max = self.wall_ns_max.max(task.wall_ns);
        self.cpu_ns += task.cpu_ns;
        self.cpu_rt_ns += task.cpu_rt_ns;
        self.waited_ns_max = self.waited_ns_max.max(task.waited_ns_max);
        self.wakeups += task.wakeups;
        self.wakeup_ns += u128::from(task.wakeup_latency_ns_mean) * u128::from(task.wakeups);
        self.wakeup_ns_max = self.wakeup_ns_max.max(task.wakeup_latency_ns_max);
        self.switches += task.switches;
        self.migrations += task.migrations;
        self.deadlines += task.deadlines;
        self.met += task.deadlines_met;
    }
}

/// The lines of a simulation.
pub fn lines(outcome: &Outcome) -> Vec<Line> {
    let are_many = outcome.tasks.len() > LINES_MAX;
    let mut lines: Vec<Line> = Vec::new();
    for task in &outcome.tasks {
        let kind = task.name.split('/').next().unwrap_or(&task.name);
        let name = if are_many { kind } else { &task.name };
        // Tasks of a kind stand side by side, but for those that were forked.
        let at = match are_many {
            true => lines.iter().position(|line| line.name == name),
            false => None,
        };
        let at = at.unwrap_or_else(|| {
            lines.push(Line {
                name: name.to_owned(),
                ..Line::default()
            });
            lines.len() - 1
        });
        lines[at].add(task);
    }
    lines
}

/// The whole answer.
pub fn text(outcome: &Outcome, width: usize) -> String {
    let mut text = format!(
        "{}: {}, {} CPUs{}, {} s simulated{}\ncosts: {}\n\n",
        plain(&outcome.scenario),
        outcome.scheduler,
        outcome.cpus,
        match outcome.rt_cpus.as_str() {
            "" => String::new(),
            list => format!(", RT CPUs {list}"),
        },
        seconds(outcome.simulated_ns),
        match (outcome.is_stuck, outcome.is_complete) {
            (true, _) => ", then the scheduler went round in circles",
            (_, true) => "",
            (_, false) => ", not at its end",
        },
        plain(&outcome.costs),
    );
    let mut table = Columns::new([
        ("class", Left),
        ("cpu", Right),
        ("on RT", Right),
        ("wall", Right),
        ("waited", Right),
        ("wakeup", Right),
        ("worst", Right),
        ("switches", Right),
        ("moves", Right),
        ("deadlines", Right),
        ("task", Left),
    ]);
    for line in lines(outcome) {
        table.push(cells(&line));
    }
    text += &table.text(width);
    text += "\ncpu, on RT CPUs and wall: seconds; waited: the longest wait, ms; wakeup: mean and \
             worst latency, us\n";
    text
}

fn cells(line: &Line) -> [String; 11] {
    let mean = match line.wakeups {
        0 => 0,
        count => (line.wakeup_ns / u128::from(count)) as u64,
    };
    let deadlines = match line.deadlines {
        0 => "-".to_owned(),
        all => format!("{}/{all}", line.met),
    };
    let name = match line.tasks {
        1 => plain(&line.name).to_string(),
        many => format!("{} ({many})", plain(&line.name)),
    };
    [
        line.class.to_string(),
        seconds(line.cpu_ns),
        seconds(line.cpu_rt_ns),
        match line.ended == line.tasks {
            true => seconds(line.wall_ns_max),
            false => "-".to_owned(),
        },
        format!("{:.1}", line.waited_ns_max as f64 / 1e6),
        format!("{:.1}", mean as f64 / 1e3),
        format!("{:.1}", line.wakeup_ns_max as f64 / 1e3),
        line.switches.to_string(),
        line.migrations.to_string(),
        deadlines,
        name,
    ]
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}
