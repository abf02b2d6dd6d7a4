// SPDX-License-Identifier: GPL-2.0-only
//! From samples to rows: the figures of all seeds of a configuration together, and the work of its
//! loads compared with the first configuration.
//!
//! Ratios are ratios of sums over the seeds: the work of a load that finishes few units in a window
//! is then known more exactly.

use super::caches;
use super::plan::{Experiment, RowOf};
use super::run::Measured;
use crate::engine::bochs;
use artis_guest::experiment::{Done, Measure, Sample, worst_of_places};
use artis_result::experiment::{
    self, CacheFigures, Figures, OfTask, Row, SchemaName, Seed, Summary,
};
use artis_result::names::{
    EXECUTION_TIME, EXECUTION_TIME_UNLOADED, KERNEL_LATENCY, Ordinary, USER_LATENCY,
};
use artis_result::{Distribution, Series};
use std::collections::BTreeMap;
use std::ops::Add;

/// The unit of the fields with `_us_` in their names.
const UNIT: &str = "us at 100 MIPS";

/// The experiment's document.
pub fn document(experiment: &Experiment, measured: &[Measured]) -> experiment::Experiment {
    const { assert!(bochs::INSTRUCTIONS_PER_SECOND == 100_000_000) };
    let first = measured.first();
    experiment::Experiment {
        schema: SchemaName,
        name: experiment.name.clone(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: first.map_or_else(String::new, |one| one.kept.kernel.clone()),
        engine: bochs::NAME.to_owned(),
        engine_version: first.map_or_else(String::new, |one| one.kept.engine_version.clone()),
        unit: UNIT.to_owned(),
        made: None,
        rows: rows(experiment, measured),
    }
}

fn rows(experiment: &Experiment, measured: &[Measured]) -> Vec<Row> {
    let of = |row: RowOf| {
        let group = measured.iter().filter(move |one| row.has(&one.run));
        Group(group.collect())
    };
    let rows = experiment.rows().into_iter();
    rows.map(|what| row(experiment, what, &of(what), &of(what.reference())))
        .collect()
}

/// The samples of one row.
struct Group<'a>(Vec<&'a Measured>);

impl Group<'_> {
    fn samples(&self, measure: Measure) -> impl Iterator<Item = (u64, &Sample)> {
        let of_kind = self
            .0
            .iter()
            .filter(move |one| one.run.task.measure == measure);
        of_kind.map(|one| (one.run.seed, &one.kept.sample))
    }

    fn of_seed(&self, seed: u64) -> Group<'_> {
        let of_seed = self.0.iter().filter(|one| one.run.seed == seed);
        Group(of_seed.copied().collect())
    }
}

/// For each group of rows that are compared with each other, the names of the rows by those of
/// their configurations.
pub fn names(experiment: &Experiment) -> Vec<BTreeMap<String, String>> {
    let mut groups: Vec<(RowOf, BTreeMap<String, String>)> = Vec::new();
    for row in experiment.rows() {
        let of = experiment.configurations[row.configuration].name.clone();
        let entry = (of, name(experiment, row));
        match groups
            .iter_mut()
            .find(|(group, _)| *group == row.reference())
        {
            Some((_, group)) => drop(group.insert(entry.0, entry.1)),
            None => groups.push((row.reference(), [entry].into())),
        }
    }
    groups.into_iter().map(|(_, names)| names).collect()
}

/// The name of a row: its configuration's, and where it differs from the file's other rows.
fn name(experiment: &Experiment, what: RowOf) -> String {
    let mut name = experiment.configurations[what.configuration].name.clone();
    if let Some(loads) = &experiment.loads.sets()[what.loads].name {
        name = format!("{name}-{loads}");
    }
    if Some(&what.cpus) != experiment.cpus.first() {
        name = format!("{name}-{}cpus", what.cpus);
    }
    if experiment.timers.len() > 1 {
        name = format!("{name}-x{}", what.timers);
    }
    if experiment.events.len() > 1 {
        name = format!("{name}-{}", what.event.name());
    }
    name
}

fn row(experiment: &Experiment, what: RowOf, group: &Group, reference: &Group) -> Row {
    let configuration = &experiment.configurations[what.configuration];
    let kernel = group.0.first();
    let latencies = merged(group, rt0_measure(experiment), USER_LATENCY);
    let loads = experiment.loads_of(&what).into_iter();
    Row {
        configuration: name(experiment, what),
        kernel: kernel.map_or_else(String::new, |one| one.kept.kernel.clone()),
        preemption: configuration.preemption.name().to_owned(),
        scheduler: configuration.scheduler.clone(),
        cpus: what.cpus,
        timers: what.timers,
        seconds: experiment.seconds,
        loads: loads.map(|load| load.name().to_owned()).collect(),
        seeds: experiment.seeds.clone(),
        event: what.event.name().to_owned(),
        // Each task of a set has its own.
        interval_us: (rt0_measure(experiment) != Measure::Set).then(|| experiment.interval_us()),
        place_us: experiment.place_us,
        groups: Some(experiment.groups.name().to_owned()),
        figures: figures(experiment, group, reference),
        latency_histogram: (latencies.count() > 0).then(|| latencies.into_histograms().0),
        per_seed: experiment
            .seeds
            .iter()
            .map(|&seed| Seed {
                seed,
                figures: figures(experiment, &group.of_seed(seed), &reference.of_seed(seed)),
            })
            .collect(),
        guests: group.0.iter().map(|one| one.fingerprint.clone()).collect(),
    }
}

/// The guests that a row's figures of RT0 and of the loads are from.
fn rt0_measure(experiment: &Experiment) -> Measure {
    let all = [Measure::Latency, Measure::Set, Measure::Responsiveness];
    let measured = all.into_iter().find(|one| experiment.measure.contains(one));
    measured.unwrap_or(Measure::Caches)
}

/// The tasks of a set: of all guests the longest and the largest, and all their jobs.
fn tasks(group: &Group) -> Vec<OfTask> {
    let mut all: Vec<OfTask> = Vec::new();
    for (_, sample) in group.samples(Measure::Set) {
        for one in &sample.tasks {
            let Some(known) = all.iter_mut().find(|known| known.name == one.name) else {
                all.push(one.clone());
                continue;
            };
            known.execution_us = known.execution_us.max(one.execution_us);
            // Of a guest without a bound there is none.
            let bounds = known.bound_us.zip(one.bound_us);
            known.bound_us = bounds.map(|(one, other)| one.max(other));
            known.response_us_max = known.response_us_max.max(one.response_us_max);
            known.jobs += one.jobs;
            known.missed += one.missed;
        }
    }
    all
}

/// All values of a series.
fn merged(group: &Group, measure: Measure, name: &str) -> Distribution {
    let mut all = Distribution::new();
    for (_, sample) in group.samples(measure) {
        for series in sample.series.iter().filter(|series| series.name == name) {
            let Series { distribution, .. } = series;
            all.merge(distribution);
        }
    }
    all
}

/// A place of the tick has the worst when its own is at least so much of it.
const NEAR_WORST: f64 = 0.9;

/// Of the places of the tick, the share that has the worst; none without any.
fn worst_places(group: &Group, measure: Measure) -> Option<f64> {
    let samples = group.samples(measure);
    let all = worst_of_places(samples.map(|(_, sample)| sample.places_ns.iter().copied()));
    let near = NEAR_WORST * all.iter().copied().max()?? as f64;
    let has = |worst: &&Option<i64>| worst.is_some_and(|worst| worst as f64 >= near);
    Some(all.iter().filter(has).count() as f64 / all.len() as f64)
}

/// How soon others answer, by the name of what was measured.
fn responsiveness(group: &Group) -> BTreeMap<String, Summary> {
    let of = |series| {
        let all = merged(group, Measure::Responsiveness, series);
        let moments = all.moments()?;
        Some(Summary {
            samples: all.count(),
            us_mean: moments.mean / 1000.0,
            us_p99: all.percentile(99.0)? as f64 / 1000.0,
            us_max: moments.max as f64 / 1000.0,
        })
    };
    let all = Ordinary::ALL.into_iter();
    all.filter_map(|work| Some((work.name().to_owned(), of(work.series())?)))
        .collect()
}

fn figures(experiment: &Experiment, group: &Group, reference: &Group) -> Figures {
    let rt0 = rt0_measure(experiment);
    let user = merged(group, rt0, USER_LATENCY);
    let moments = user.moments();
    let us = |ns: i64| ns as f64 / 1000.0;
    let max = |measure, name| {
        merged(group, measure, name)
            .moments()
            .map(|all| us(all.max))
    };
    let unloaded = merged(group, rt0, EXECUTION_TIME_UNLOADED);
    let time = merged(group, rt0, EXECUTION_TIME);
    let shortest = [&unloaded, &time]
        .into_iter()
        .filter_map(|all| all.moments().map(|all| us(all.min)))
        .reduce(f64::min);
    let longest = max(rt0, EXECUTION_TIME);
    let (own, theirs) = (Totals::of(group, rt0), Totals::of(reference, rt0));
    Figures {
        samples: user.count(),
        kernel_latency_us_max: max(Measure::KernelLatency, KERNEL_LATENCY),
        latency_us_min: moments.map_or(0.0, |all| us(all.min)),
        latency_us_mean: moments.map_or(0.0, |all| all.mean / 1000.0),
        latency_us_p99: user.percentile(99.0).map(us),
        latency_us_p99_9: user.percentile(99.9).map_or(0.0, us),
        latency_us_max: moments.map_or(0.0, |all| us(all.max)),
        worst_places: worst_places(group, rt0),
        execution_time_us_min: shortest,
        execution_time_us_max: longest,
        execution_time_variation: shortest
            .zip(longest)
            .map(|(shortest, longest)| (longest - shortest) / shortest),
        rt_cpu_share_others: own.share_of_others(),
        load_cpu_time_relative: ratio(own.load_cpu_rate(), theirs.load_cpu_rate()),
        work_relative: own.compared_with(&theirs, Totals::work_rate),
        work_per_cpu_second_relative: own.compared_with(&theirs, Totals::work_per_cpu_time),
        leaks: leaks(group, rt0),
        responsiveness: responsiveness(group),
        caches: cache_figures(experiment, group, reference),
        messages_per_cpu_second_relative: own.messages_compared_with(&theirs),
        throughput_s: own.throughput_s,
        tasks: tasks(group),
    }
}

/// What modelled caches cost each load.
fn cache_figures(
    experiment: &Experiment,
    group: &Group,
    reference: &Group,
) -> BTreeMap<String, CacheFigures> {
    let sums = |group: &Group| {
        let mut seen = caches::Seen::default();
        let kept = group.0.iter().filter_map(|one| one.kept.caches);
        kept.for_each(|one| seen += one);
        (Totals::of(group, Measure::Caches).loads, seen)
    };
    let [own, theirs] = [group, reference].map(sums);
    let [own, theirs] = [&own, &theirs].map(|(loads, seen)| caches::Group { loads, seen: *seen });
    caches::figures(experiment, &own, &theirs)
}

/// By the observer where the experiment has it, else by the scheduler's own check.
fn leaks(group: &Group, rt0: Measure) -> Option<u64> {
    let sum = |measure| {
        let all = group.samples(measure);
        all.filter_map(|(_, sample)| sample.leaks).reduce(Add::add)
    };
    sum(Measure::Leaks).or_else(|| sum(rt0))
}

fn ratio(own: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    let (own, theirs) = own.zip(theirs)?;
    (theirs > 0.0).then(|| own / theirs)
}

/// Sums over the samples of a row.
#[derive(Default)]
struct Totals {
    window_ns: u64,
    rt_running_ns: u64,
    rt0_ns: u64,
    loads: BTreeMap<String, Done>,
    messages: BTreeMap<String, Done>,
    throughput_s: BTreeMap<String, f64>,
}

impl Totals {
    fn of(group: &Group, rt0: Measure) -> Self {
        let mut totals = Self::default();
        for (_, sample) in group.samples(rt0) {
            totals.window_ns += sample.window_ns;
            totals.rt_running_ns += sample.rt_running_ns;
            totals.rt0_ns += sample.rt0_ns;
            for (load, done) in &sample.loads {
                totals.loads.entry(load.clone()).or_default().add(done);
            }
            for (series, done) in &sample.messages {
                totals.messages.entry(series.clone()).or_default().add(done);
            }
        }
        // Programs have run where others answer.
        for measure in [Measure::Throughput, Measure::Responsiveness] {
            let runs = group.samples(measure).count() as f64;
            for (_, sample) in group.samples(measure) {
                for (setting, seconds) in &sample.throughput_s {
                    *totals.throughput_s.entry(setting.clone()).or_default() += seconds / runs;
                }
            }
        }
        totals
    }

    /// Of the time that RT0 leaves on the RT CPU, the part in which other tasks ran.
    fn share_of_others(&self) -> Option<f64> {
        let left = self
            .window_ns
            .checked_sub(self.rt0_ns)
            .filter(|left| *left > 0)?;
        Some(self.rt_running_ns.saturating_sub(self.rt0_ns) as f64 / left as f64)
    }

    fn load_cpu_rate(&self) -> Option<f64> {
        let cpu_ns: u64 = self.loads.values().map(|done| done.cpu_ns).sum();
        (self.window_ns > 0).then(|| cpu_ns as f64 / self.window_ns as f64)
    }

    fn work_rate(&self, load: &str) -> Option<f64> {
        let done = self.loads.get(load)?;
        (self.window_ns > 0).then(|| done.work as f64 / self.window_ns as f64)
    }

    fn work_per_cpu_time(&self, load: &str) -> Option<f64> {
        let done = self.loads.get(load).filter(|done| done.cpu_ns > 0)?;
        Some(done.work as f64 / done.cpu_ns as f64)
    }

    fn messages_compared_with(&self, theirs: &Self) -> BTreeMap<String, f64> {
        let per_cpu_time = |of: &Self, series: &str| {
            let done = of.messages.get(series).filter(|done| done.cpu_ns > 0)?;
            Some(done.work as f64 / done.cpu_ns as f64)
        };
        let compare = |work: Ordinary| {
            let [ours, theirs] = [self, theirs].map(|of| per_cpu_time(of, work.series()));
            Some((work.name().to_owned(), ratio(ours, theirs)?))
        };
        Ordinary::ALL.into_iter().filter_map(compare).collect()
    }

    fn compared_with(
        &self,
        theirs: &Self,
        rate: impl Fn(&Self, &str) -> Option<f64>,
    ) -> BTreeMap<String, f64> {
        let compare =
            |load: &String| Some((load.clone(), ratio(rate(self, load), rate(theirs, load))?));
        self.loads.keys().filter_map(compare).collect()
    }
}
