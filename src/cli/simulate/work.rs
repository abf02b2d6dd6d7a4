// SPDX-License-Identifier: GPL-2.0-only
//! What a command simulates: each machine, scheduler and seed, and what their results depend on.

use super::kept::{Folder, Record};
use super::{Args, Name};
use crate::cli::exit::UsageError;
use crate::machine::CpuList;
use crate::result::file;
use crate::sched::caches::Caches;
use crate::sim::layout::Part;
use crate::sim::{Costs, Layout, Scheduler, Setup, Sim, costs};
use anyhow::Context;
use artis_run::identity;
use artis_run::shard::Head;
use artis_scenario::Scenario;
use serde_json::value::RawValue;
use std::path::Path;

/// One simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub scheduler: Scheduler,
    pub cpus: u32,
    pub seed: u64,
}

/// All of them.
pub struct Work<'a> {
    pub args: &'a Args,
    pub scenario: &'a Scenario,
    /// In the order in which they are printed.
    pub plan: Vec<Point>,
    costs: Costs,
    rt: CpuList,
    end_ns: u64,
    /// Hash of what all have in common, this build of artis included.
    common: String,
    /// Hash of that and of the plan.
    whole: String,
}

impl<'a> Work<'a> {
    pub fn new(args: &'a Args, scenario: &'a Scenario) -> anyhow::Result<Self> {
        let rt = args
            .rt
            .as_ref()
            .unwrap_or(&scenario.machine.rt_cpus)
            .clone();
        let plan = plan(args, scenario, &rt)?;
        let costs = costs_of(&args.costs)?;
        let most = args.duration.map(|it| it.as_nanos() as u64);
        let end_ns = match (most, scenario.end.duration_ns) {
            (None, None) if !scenario.ends() => {
                let sentence = "the scenario has no end; give --duration 10s".to_owned();
                return Err(UsageError(sentence).into());
            }
            (a, b) => a.unwrap_or(u64::MAX).min(b.unwrap_or(u64::MAX)),
        };
        let common = identity::hash_of(&[
            &identity::of_build()?,
            &format!("{scenario:?}"),
            &format!("{costs:?} {rt} {end_ns}"),
        ]);
        Ok(Self {
            whole: identity::hash_of(&[&common, &format!("{plan:?}")]),
            args,
            scenario,
            plan,
            costs,
            rt,
            end_ns,
            common,
        })
    }

    /// The machine, the costs and the end.
    pub fn setup(&self, point: &Point) -> anyhow::Result<Setup> {
        let machine = &self.scenario.machine;
        let (per_cache, per_node) = (machine.cpus_per_cache, machine.cpus_per_node);
        let layout = Layout::new(point.cpus, self.rt.clone(), per_cache, per_node);
        let mut layout = layout.map_err(|error| UsageError(error.to_string()))?;
        let all: CpuList = (0..layout.cpus).collect();
        let caches = Caches::read(&layout.topology(), &all);
        let parts = caches.cpus().iter().enumerate();
        layout.parts = parts
            .map(|(number, cpus)| Part {
                cpus: cpus.clone(),
                near: caches.near(number),
            })
            .collect();
        Ok(Setup {
            layout,
            costs: self.costs.clone(),
            scheduler: point.scheduler,
            seed: point.seed,
            end_ns: self.end_ns,
        })
    }

    /// The beginning of a simulation.
    pub fn begin(&self, point: &Point) -> anyhow::Result<Sim<'a>> {
        let sim = Sim::new(self.scenario, self.setup(point)?);
        Ok(sim.map_err(|error| UsageError(error.to_string()))?)
    }

    /// What a line about it begins with.
    pub fn head(&self, number: usize) -> Head {
        Head {
            number,
            of: self.plan.len(),
            whole: self.whole.clone(),
        }
    }

    /// The result of a simulation: what is kept of it, or done now.
    pub fn result(&self, point: &Point, folder: Option<&Folder>) -> anyhow::Result<Record> {
        let key = identity::hash_of(&[&self.common, &format!("{point:?}")]);
        if let Some(folder) = folder
            && let Some(record) = folder.find(&key)?
        {
            return Ok(record);
        }
        let mut sim = self.begin(point)?;
        sim.run();
        let outcome = serde_json::to_string(&sim.outcome())?;
        let record = Record {
            key,
            outcome: RawValue::from_string(outcome)?,
            latencies: sim.latencies().clone(),
        };
        if let Some(folder) = folder {
            folder.keep(&record)?;
        }
        Ok(record)
    }
}

fn costs_of(name: &str) -> anyhow::Result<Costs> {
    let text = match name {
        "lab" => costs::LAB.to_owned(),
        "none" => costs::NONE.to_owned(),
        path => {
            let text = file::read_text(Path::new(path))?;
            String::from_utf8(text).with_context(|| format!("{path} is no text"))?
        }
    };
    Ok(Costs::parse(&text).map_err(|error| UsageError(error.to_string()))?)
}

/// All simulations, in their order.
fn plan(args: &Args, scenario: &Scenario, rt: &CpuList) -> anyhow::Result<Vec<Point>> {
    let mut schedulers: Vec<Scheduler> = args.scheduler.iter().map(|it| (*it).into()).collect();
    if schedulers.is_empty() {
        schedulers.push(match rt.is_empty() {
            true => Name::Stock.into(),
            false => Name::Artis.into(),
        });
    }
    let mut cpus = args.cpus.clone();
    if cpus.is_empty() {
        let Some(own) = scenario.machine.cpus else {
            let sentence = "the scenario does not say how many CPUs there are; give --cpus 4";
            return Err(UsageError(sentence.to_owned()).into());
        };
        cpus.push(own);
    }
    let first = args.seed.unwrap_or(scenario.seed);
    let mut plan = Vec::new();
    for cpus in cpus {
        for scheduler in &schedulers {
            for nth in 0..args.seeds.max(1) {
                plan.push(Point {
                    scheduler: *scheduler,
                    cpus,
                    seed: first.wrapping_add(nth),
                });
            }
        }
    }
    Ok(plan)
}
