// SPDX-License-Identifier: GPL-2.0-only
//! How right `artis simulate` is: its figures beside those of the deterministic lab, by four
//! criteria.
//!
//! Owns the criteria and the table. Pure: who runs guests and simulations is [`run`].

pub mod random;
pub mod run;

use artis_scenario::outcome::{Ended, Outcome as Lab, TaskOutcome};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What may be off, as a part of the lab's figure.
const CPU: f64 = 0.05;
const WALL: f64 = 0.10;
const RT0: f64 = 0.25;
/// Which part of the pairs has to be decided rightly.
const PAIRS: f64 = 0.95;
/// Two configurations that differ less in the lab are too close to call.
const CLOSE: f64 = 0.02;

/// What is read of a simulation (`artis.simulation/1`).
#[derive(Clone, Debug, Deserialize)]
pub struct Simulated {
    pub simulated_ns: u64,
    pub tasks: Vec<SimulatedTask>,
}

/// A task of it.
#[derive(Clone, Debug, Deserialize)]
pub struct SimulatedTask {
    pub name: String,
    pub class: String,
    pub wall_ns: u64,
    pub has_ended: bool,
    pub cpu_ns: u64,
    pub wakeup_latency_ns_max: u64,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    Cpu,
    Wall,
    Rt0Worst,
}

impl Criterion {
    fn most(self) -> f64 {
        match self {
            Self::Cpu => CPU,
            Self::Wall => WALL,
            Self::Rt0Worst => RT0,
        }
    }

    fn says(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time of a task, within 5 %",
            Self::Wall => "wall time, within 10 %",
            Self::Rt0Worst => "RT0's worst, within 25 %",
        }
    }
}

/// A figure of both; none: one of the two has none, as its task did not end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub criterion: Criterion,
    /// Scenario, scheduler, task.
    pub of: String,
    pub lab_ns: Option<u64>,
    pub simulated_ns: Option<u64>,
}

impl Figure {
    /// How far the simulation is off, as a part of the lab's figure.
    pub fn error(&self) -> f64 {
        match (self.lab_ns, self.simulated_ns) {
            (Some(lab), Some(simulated)) if lab == simulated => 0.0,
            (Some(lab), Some(simulated)) if lab > 0 => {
                (simulated as f64 - lab as f64).abs() / lab as f64
            }
            _ => f64::INFINITY,
        }
    }

    pub fn is_held(&self) -> bool {
        self.error() <= self.criterion.most()
    }
}

/// Stock and artis by one figure, less of which is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub of: String,
    /// Stock, artis.
    pub lab: [f64; 2],
    pub simulated: [f64; 2],
}

impl Pair {
    /// None: too close to call in the lab.
    pub fn is_right(&self) -> Option<bool> {
        let [stock, artis] = self.lab;
        let is_close = (stock - artis).abs() <= CLOSE * stock.max(artis);
        let [simulated_stock, simulated_artis] = self.simulated;
        (!is_close).then_some(match stock < artis {
            true => simulated_stock < simulated_artis,
            false => simulated_stock > simulated_artis,
        })
    }
}

/// All that was compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The commit, engine and costs.
    pub made: String,
    pub scenarios: usize,
    pub figures: Vec<Figure>,
    pub pairs: Vec<Pair>,
}

/// A scenario under one scheduler.
pub struct Both {
    pub lab: Lab,
    pub simulated: Simulated,
}

impl Prediction {
    /// Adds a scenario under one scheduler.
    pub fn add(&mut self, of: &str, both: &Both) {
        let Both { lab, simulated } = both;
        let mut add = |criterion, of: String, lab_ns, simulated_ns| {
            self.figures.push(Figure {
                criterion,
                of,
                lab_ns,
                simulated_ns,
            });
        };
        if lab.ended != Ended::Duration {
            let ends = (Some(lab.wall_ns), Some(simulated.simulated_ns));
            add(Criterion::Wall, of.to_owned(), ends.0, ends.1);
        }
        for (task, same) in partners(&lab.tasks, &simulated.tasks) {
            let of = format!("{of}, {}", task.name);
            let is_known = !same.is_empty();
            let cpu_ns = is_known.then(|| same.iter().map(|one| one.cpu_ns).sum());
            add(Criterion::Cpu, of.clone(), Some(task.cpu_ns), cpu_ns);
            if let (false, [one]) = (task.is_forked, same.as_slice()) {
                let wall_ns = one.has_ended.then_some(one.wall_ns);
                if task.wall_ns.is_some() || wall_ns.is_some() {
                    add(Criterion::Wall, of, task.wall_ns, wall_ns);
                }
            }
        }
        if let Some([lab, simulated]) = rt0_worst(both) {
            let of = of.to_owned();
            add(Criterion::Rt0Worst, of, Some(lab), Some(simulated));
        }
    }

    /// Adds what there is to decide between stock and artis.
    pub fn decide(&mut self, of: &str, stock: &Both, artis: &Both) {
        let mut add = |figure: &str, pairs: [[f64; 2]; 2]| {
            self.pairs.push(Pair {
                of: format!("{of}, {figure}"),
                lab: [pairs[0][0], pairs[1][0]],
                simulated: [pairs[0][1], pairs[1][1]],
            });
        };
        if let (Some(stock), Some(artis)) = (rt0_worst(stock), rt0_worst(artis)) {
            let float = |pair: [u64; 2]| pair.map(|ns| ns as f64);
            add("RT0's worst", [float(stock), float(artis)]);
        }
        if stock.lab.ended == Ended::Duration || artis.lab.ended == Ended::Duration {
            // More is better, and less of what is negative.
            let others = |both: &Both| others_ns(both).map(|ns| -(ns as f64));
            add("CPU time of all but RT0", [others(stock), others(artis)]);
            return;
        }
        let wall = |both: &Both| [both.lab.wall_ns, both.simulated.simulated_ns];
        let wall = |both: &Both| wall(both).map(|ns| ns as f64);
        add("wall time", [wall(stock), wall(artis)]);
    }

    /// The table, and whether all criteria are held.
    pub fn table(&self) -> (String, bool) {
        let mut text = "| criterion | held | worst | where |\n|---|---|---|---|\n".to_owned();
        let mut is_all = true;
        for criterion in [Criterion::Cpu, Criterion::Wall, Criterion::Rt0Worst] {
            let figures = self.figures.iter();
            let all: Vec<&Figure> = figures.filter(|one| one.criterion == criterion).collect();
            let held = all.iter().filter(|one| one.is_held()).count();
            let worst = all.iter().max_by(|a, b| a.error().total_cmp(&b.error()));
            let (off, of) = worst.map_or_else(Default::default, |worst| (off(worst), &*worst.of));
            let count = all.len();
            let _ = writeln!(
                text,
                "| {} | {held} of {count} | {off} | {of} |",
                criterion.says()
            );
            is_all &= held == count;
        }
        let called: Vec<(&Pair, bool)> = (self.pairs.iter())
            .filter_map(|pair| Some((pair, pair.is_right()?)))
            .collect();
        let right = called.iter().filter(|(_, is_right)| *is_right).count();
        let wrong = called.iter().find(|(_, is_right)| !is_right);
        let wrong = wrong.map_or("", |(pair, _)| &*pair.of);
        let count = called.len();
        let says = "which of stock and artis is better, 95 %";
        let _ = writeln!(text, "| {says} | {right} of {count} | | {wrong} |");
        (text, is_all && right as f64 >= PAIRS * count as f64)
    }
}

fn off(figure: &Figure) -> String {
    match figure.error() {
        error if error.is_finite() => format!("{:.1} %", 100.0 * error),
        _ => "one has none".to_owned(),
    }
}

/// The worst wakeup of RT0 in the lab and simulated; none: no RT0 task woke by a timer.
fn rt0_worst(both: &Both) -> Option<[u64; 2]> {
    let mut worst = None;
    for (task, same) in partners(&both.lab.tasks, &both.simulated.tasks) {
        if task.activations == 0 {
            continue;
        }
        for one in same.iter().filter(|one| one.class == "RT0") {
            let [lab, simulated] = worst.unwrap_or([0, 0]);
            let simulated = one.wakeup_latency_ns_max.max(simulated);
            worst = Some([task.late_ns_max.max(lab), simulated]);
        }
    }
    worst
}

fn others_ns(both: &Both) -> [u64; 2] {
    let mut sum = [0, 0];
    for (task, same) in partners(&both.lab.tasks, &both.simulated.tasks) {
        if same.iter().all(|one| one.class != "RT0") {
            sum[0] += task.cpu_ns;
            sum[1] += same.iter().map(|one| one.cpu_ns).sum::<u64>();
        }
    }
    sum
}

/// Each task of the lab with the simulated one, or all that were forked of it. The lab counts
/// from 1, the simulator from 0, and forked ones follow those that were there at the start.
fn partners<'a>(
    lab: &'a [TaskOutcome],
    simulated: &'a [SimulatedTask],
) -> Vec<(&'a TaskOutcome, Vec<&'a SimulatedTask>)> {
    let kind = |name: &str| name.split('/').next().unwrap_or(name).to_owned();
    let mut left: BTreeMap<String, Vec<&SimulatedTask>> = BTreeMap::new();
    for one in simulated {
        left.entry(kind(&one.name)).or_default().push(one);
    }
    let (forked, first): (Vec<_>, Vec<_>) = lab.iter().partition(|task| task.is_forked);
    let mut found = Vec::new();
    for task in first.into_iter().chain(forked) {
        let rest = left.entry(kind(&task.name)).or_default();
        let count = if task.is_forked { rest.len() } else { 1 };
        found.push((task, rest.drain(..count.min(rest.len())).collect()));
    }
    found
}

#[cfg(test)]
mod tests;
