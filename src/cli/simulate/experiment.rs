// SPDX-License-Identifier: GPL-2.0-only
//! Simulations as an experiment: the document that `artis compare` and `artis report` read.
//!
//! A row for each scheduler, the first one the reference; its figures are those of all seeds. Loads
//! are the kinds of tasks that are not RT0, and their work is the time that their steps took
//! without what others cost them.

use super::kept::Folder;
use super::sweep;
use super::work::Work;
use crate::cli::exit::UsageError;
use crate::cli::output::{print_json, stdout};
use crate::result::distribution::Distribution;
use crate::result::experiment::{self, Experiment, Figures, Row, Seed, Summary};
use crate::result::names::Ordinary;
use crate::sim::result::Latencies;
use crate::sim::{Outcome, Scheduler};
use anyhow::Context;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// One simulation.
struct Done {
    seed: u64,
    outcome: Outcome,
    latencies: Latencies,
}

/// Simulates, or takes what is kept, and prints the document.
pub fn run(work: &Work<'_>) -> anyhow::Result<ExitCode> {
    let cpus = work.plan[0].cpus;
    if work.plan.iter().any(|point| point.cpus != cpus) {
        let sentence = "an experiment is of one machine; give one --cpus".to_owned();
        return Err(UsageError(sentence).into());
    }
    // Its parts are processes, whose results come through a folder.
    let own = tempfile::tempdir().context("cannot make a folder for the parts")?;
    let place = work.args.keep.as_deref().unwrap_or(own.path());
    let folder = Folder::open(place)?;
    if let Some(status) = sweep::fill(work, place)? {
        return Ok(status);
    }
    print_json(&mut stdout(), &document(work, &folder)?)?;
    Ok(ExitCode::SUCCESS)
}

fn document(work: &Work<'_>, folder: &Folder) -> anyhow::Result<Experiment> {
    let scenario = work.scenario;
    let mut by_scheduler: Vec<(Scheduler, Vec<Done>)> = Vec::new();
    let mut costs = String::new();
    for point in &work.plan {
        let record = work.result(point, Some(folder))?;
        let outcome: Outcome = serde_json::from_str(record.outcome.get())?;
        costs.clone_from(&outcome.costs);
        let done = Done {
            seed: point.seed,
            latencies: record.latencies,
            outcome,
        };
        match by_scheduler.last_mut() {
            Some((last, all)) if *last == point.scheduler => all.push(done),
            _ => by_scheduler.push((point.scheduler, vec![done])),
        }
    }
    let reference = &by_scheduler[0].1;
    let rows = by_scheduler
        .iter()
        .map(|(scheduler, all)| row(*scheduler, all, reference));
    Ok(Experiment {
        schema: experiment::SchemaName,
        name: scenario.name.clone(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: "none: simulated".to_owned(),
        engine: "simulation".to_owned(),
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        unit: format!("us, simulated with the costs of {costs}"),
        made: None,
        rows: rows.collect::<anyhow::Result<_>>()?,
    })
}

/// CPU time and work of each kind of others, in ns.
fn loads(all: &[Done]) -> BTreeMap<String, (u64, u64)> {
    let mut loads: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for task in all.iter().flat_map(|done| &done.outcome.tasks) {
        if task.class == "RT0" {
            continue;
        }
        let kind = task.name.split('/').next().unwrap_or(&task.name);
        let load = loads.entry(kind.to_owned()).or_default();
        load.0 += task.cpu_ns;
        load.1 += task.work_ns;
    }
    loads
}

fn row(scheduler: Scheduler, all: &[Done], reference: &[Done]) -> anyhow::Result<Row> {
    let first = &all[0].outcome;
    let latencies = rt0(all);
    let of_all = loads(reference);
    let per_seed = all.iter().zip(reference).map(|(done, other)| {
        let (one, other) = (std::slice::from_ref(done), std::slice::from_ref(other));
        Ok(Seed {
            seed: done.seed,
            figures: figures(one, &rt0(one), &loads(other))?,
        })
    });
    let timers = first
        .tasks
        .iter()
        .filter(|task| task.class == "RT0")
        .count();
    Ok(Row {
        configuration: scheduler.name().to_owned(),
        kernel: "none: simulated".to_owned(),
        preemption: "lazy".to_owned(),
        scheduler: match scheduler {
            Scheduler::Artis => experiment::Scheduler::Artis,
            Scheduler::Isolcpus => experiment::Scheduler::Isolcpus,
            Scheduler::Stock => experiment::Scheduler::Stock,
        },
        cpus: first.cpus,
        timers: timers as u32,
        event: "timer".to_owned(),
        seconds: (first.simulated_ns / 1_000_000_000) as u32,
        loads: of_all.keys().cloned().collect(),
        seeds: all.iter().map(|done| done.seed).collect(),
        interval_us: None,
        place_us: None,
        groups: None,
        figures: figures(all, &latencies, &of_all)?,
        latency_histogram: Some(latencies.histogram().clone()),
        per_seed: per_seed.collect::<anyhow::Result<_>>()?,
        guests: Vec::new(),
    })
}

/// RT0's latencies.
fn rt0(all: &[Done]) -> Distribution {
    let mut distribution = Distribution::new();
    for (ns, times) in all.iter().flat_map(|done| &done.latencies.rt0) {
        distribution.record_n(*ns as i64, *times);
    }
    distribution
}

fn figures(
    all: &[Done],
    latencies: &Distribution,
    reference: &BTreeMap<String, (u64, u64)>,
) -> anyhow::Result<Figures> {
    let Some(moments) = latencies.moments() else {
        let sentence = "no RT0 woke up, and an experiment is about RT0; bind a FIFO task to an RT \
                        CPU, or print --json";
        return Err(UsageError(sentence.to_owned()).into());
    };
    let us = |ns: f64| ns / 1000.0;
    let jobs = all.iter().flat_map(|done| &done.outcome.tasks);
    let jobs: Vec<(u64, u64)> = jobs
        .filter(|task| task.class == "RT0")
        .filter_map(|task| task.job_ns)
        .collect();
    let least = jobs.iter().map(|job| job.0).min().map(|ns| us(ns as f64));
    let most = jobs.iter().map(|job| job.1).max().map(|ns| us(ns as f64));
    let loads = loads(all);
    let part = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
    let relative = |what: &dyn Fn(&(u64, u64)) -> f64| {
        let each = loads.iter().filter_map(|(name, load)| {
            let other = what(reference.get(name)?);
            (other > 0.0).then(|| (name.clone(), what(load) / other))
        });
        each.collect::<BTreeMap<String, f64>>()
    };
    let sum = |loads: &BTreeMap<String, (u64, u64)>| loads.values().map(|load| load.0).sum();
    Ok(Figures {
        samples: latencies.count(),
        kernel_latency_us_max: None,
        latency_us_min: us(moments.min as f64),
        latency_us_mean: us(moments.mean),
        latency_us_p99: None,
        latency_us_p99_9: us(latencies.percentile(99.9).unwrap_or(moments.max) as f64),
        latency_us_max: us(moments.max as f64),
        worst_places: None,
        execution_time_us_min: least,
        execution_time_us_max: most,
        execution_time_variation: least.zip(most).map(|(a, b)| (b - a) / a),
        rt_cpu_share_others: lent(all),
        load_cpu_time_relative: part(sum(&loads), sum(reference)),
        work_relative: relative(&|load| load.1 as f64),
        work_per_cpu_second_relative: relative(&|load| load.1 as f64 / load.0.max(1) as f64),
        leaks: leaks(all),
        throughput_s: BTreeMap::new(),
        caches: BTreeMap::new(),
        responsiveness: ordinary(all),
        messages_per_cpu_second_relative: BTreeMap::new(),
        tasks: Vec::new(),
    })
}

/// Of what RT0 leaves of the RT CPUs, the part that others got.
fn lent(all: &[Done]) -> Option<f64> {
    let (mut left, mut got) = (0.0, 0.0);
    for done in all {
        let rt = done.outcome.cpu_time.iter().filter(|cpu| cpu.is_rt).count();
        left += rt as f64 * done.outcome.simulated_ns as f64;
        for task in &done.outcome.tasks {
            match task.class.as_ref() {
                "RT0" => left -= task.cpu_rt_ns as f64,
                _ => got += task.cpu_rt_ns as f64,
            }
        }
    }
    (left > 0.0).then(|| got / left)
}

fn leaks(all: &[Done]) -> Option<u64> {
    let counters = all.iter().flat_map(|done| &done.outcome.counters);
    let mut leaks = counters
        .filter(|(name, _)| name.starts_with("leaks"))
        .peekable();
    leaks.peek()?;
    Some(leaks.map(|(_, count)| count).sum())
}

/// How soon Linux tasks ran that woke up.
fn ordinary(all: &[Done]) -> BTreeMap<String, Summary> {
    let mut distribution = Distribution::new();
    for (ns, times) in all.iter().flat_map(|done| &done.latencies.linux) {
        distribution.record_n(*ns as i64, *times);
    }
    let Some(moments) = distribution.moments() else {
        return BTreeMap::new();
    };
    let p99 = distribution.percentile(99.0).unwrap_or(moments.max);
    let summary = Summary {
        samples: distribution.count(),
        us_mean: moments.mean / 1000.0,
        us_p99: p99 as f64 / 1000.0,
        us_max: moments.max as f64 / 1000.0,
    };
    BTreeMap::from([(Ordinary::Normal.name().to_owned(), summary)])
}
