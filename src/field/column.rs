// SPDX-License-Identifier: GPL-2.0-only
//! A configuration of the machine, and what its runs say: the worst of each, as a distribution.
//!
//! One run's worst is luck: between clean runs of one machine it varies sevenfold. So the worsts
//! of all runs are given, and two claims about them that assume nothing of their law: the chance
//! that a further run exceeds the largest ([`binomial::upper`]), and the ratio of the means of two
//! configurations with Fieller's interval.

use crate::boot::Boot;
use crate::clean::Cause;
use crate::kept::{Kept, Run, WAYS};
use artis_decide::compare::Interval;
use artis_decide::compare::interval::fieller;
use artis_decide::extremes::{CONFIDENCE, binomial};
use artis_result::names::{LATENCY, Ordinary, RT_CPU_SHARE_OTHERS, SYSTEM_MANAGEMENT_INTERRUPTS};
use artis_result::{Distribution, Document};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Times of many, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    pub count: u64,
    pub us_mean: f64,
    pub us_p99: Option<f64>,
    pub us_max: f64,
}

impl Times {
    fn of(all: &Distribution) -> Option<Self> {
        let moments = all.moments()?;
        Some(Self {
            count: moments.count,
            us_mean: moments.mean / 1000.0,
            us_p99: all.percentile(99.0).map(|ns| ns as f64 / 1000.0),
            us_max: moments.max as f64 / 1000.0,
        })
    }
}

/// What one run says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// What disturbed it.
    pub causes: BTreeSet<Cause>,
    /// Whether it counts.
    pub is_pooled: bool,
    pub seconds: f64,
    /// Wakeups of the real-time thread.
    pub latency: Times,
    /// Of what the real-time thread leaves of its CPU, the part that others got.
    pub rt_cpu_share_others: Option<f64>,
    /// Work of each load per second.
    pub work: BTreeMap<String, f64>,
    /// Wakeups of a normal task, and short commands.
    pub normal: Option<Times>,
    pub commands: Option<Times>,
    pub system_management_interrupts: Option<u64>,
}

impl Figures {
    fn of(run: &Run, is_pooled: bool) -> Option<Self> {
        let document = &run.document;
        let times = |series: &str| document.merged(series).and_then(|all| Times::of(&all));
        let number = |name: &str| document.setup.options.get(name);
        Some(Self {
            causes: run.causes().into_iter().collect(),
            is_pooled,
            seconds: document.seconds.unwrap_or(0.0),
            latency: times(LATENCY)?,
            rt_cpu_share_others: number(RT_CPU_SHARE_OTHERS).and_then(|it| it.as_f64()),
            work: work(document),
            normal: times(Ordinary::Normal.series()),
            commands: times(Ordinary::Commands.series()),
            system_management_interrupts: number(SYSTEM_MANAGEMENT_INTERRUPTS)
                .and_then(|it| it.as_u64()),
        })
    }
}

fn work(document: &Document) -> BTreeMap<String, f64> {
    let all = document.load.iter().filter(|load| load.seconds > 0.0);
    all.map(|load| (load.name.clone(), load.work / load.seconds))
        .collect()
}

/// All runs of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// `stock`, `tuned`, `shield`, `artis`, `rt`, `artis-rt`.
    pub way: String,
    pub boot: Boot,
    pub runs: Vec<Figures>,
}

/// The worst latencies of the runs that count, us.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worsts {
    pub runs: usize,
    pub least: f64,
    pub middle: f64,
    pub largest: f64,
    /// With 95 % confidence a further run exceeds the largest with at most this probability.
    pub further_max: f64,
}

impl Column {
    /// All configurations of a folder, in the order of their ways and boots.
    pub fn all(kept: &Kept) -> Vec<Self> {
        let place = |way: &str| {
            let found = WAYS.iter().position(|one| *one == way);
            found.unwrap_or(WAYS.len())
        };
        let keys: BTreeSet<(usize, &str, &Boot)> = kept
            .runs
            .iter()
            .map(|run| (place(&run.way), run.way.as_str(), &run.boot))
            .collect();
        let columns = keys.into_iter().map(|(_, way, boot)| {
            let pooled: BTreeSet<u32> = kept
                .pooled(way, boot)
                .iter()
                .map(|run| run.number)
                .collect();
            let runs = kept.of(way, boot);
            Self {
                way: way.to_owned(),
                boot: boot.clone(),
                runs: runs
                    .filter_map(|run| Figures::of(run, pooled.contains(&run.number)))
                    .collect(),
            }
        });
        columns.collect()
    }

    pub fn pooled(&self) -> impl Iterator<Item = &Figures> {
        self.runs.iter().filter(|run| run.is_pooled)
    }

    fn maxima(&self) -> Vec<f64> {
        self.pooled().map(|run| run.latency.us_max).collect()
    }

    /// None when no run counts.
    pub fn worsts(&self) -> Option<Worsts> {
        let mut all = self.maxima();
        all.sort_by(f64::total_cmp);
        Some(Worsts {
            runs: all.len(),
            least: *all.first()?,
            middle: median(&all)?,
            largest: *all.last()?,
            further_max: binomial::upper(0, all.len() as u64, CONFIDENCE),
        })
    }

    /// The largest worst of the runs that do not count.
    pub fn left_out(&self) -> Option<f64> {
        let all = self.runs.iter().filter(|run| !run.is_pooled);
        all.map(|run| run.latency.us_max).max_by(f64::total_cmp)
    }

    /// The mean of its worsts against another's, with its interval; none with fewer than two runs
    /// of either.
    pub fn against(&self, base: &Self) -> Option<Interval> {
        fieller(&self.maxima(), &base.maxima())
    }

    /// What each load did against another configuration, each load alike: the geometric mean.
    pub fn work_against(&self, base: &Self) -> BTreeMap<String, f64> {
        let (ours, theirs) = (self.work(), base.work());
        let both = ours.into_iter().filter_map(|(load, work)| {
            let of_base = theirs.get(&load).copied().filter(|of| *of > 0.0)?;
            Some((load, work / of_base))
        });
        both.collect()
    }

    /// The mean over the runs of each load's work per second.
    fn work(&self) -> BTreeMap<String, f64> {
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (load, work) in self.pooled().flat_map(|run| &run.work) {
            let (sum, count) = sums.entry(load.clone()).or_default();
            *sum += work;
            *count += 1.0;
        }
        let means = sums.into_iter();
        means
            .map(|(load, (sum, count))| (load, sum / count))
            .collect()
    }
}

/// The middle of ascending values.
pub fn median(ascending: &[f64]) -> Option<f64> {
    let half = ascending.len() / 2;
    match ascending.len() {
        0 => None,
        length if length % 2 == 1 => Some(ascending[half]),
        _ => Some(f64::midpoint(ascending[half - 1], ascending[half])),
    }
}

/// The mean of a figure over the runs that have it.
pub fn mean<'a>(
    runs: impl Iterator<Item = &'a Figures>,
    figure: impl Fn(&Figures) -> Option<f64>,
) -> Option<f64> {
    let all: Vec<f64> = runs.filter_map(figure).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn boot(kernel: &str) -> Boot {
        Boot {
            kernel: kernel.to_owned(),
            preemption: "lazy".to_owned(),
            arguments: Vec::new(),
        }
    }

    /// A column whose runs have these worsts; those below 0 do not count.
    pub fn column(way: &str, kernel: &str, worsts: &[f64]) -> Column {
        let run = |worst: &f64| Figures {
            causes: BTreeSet::from_iter((*worst < 0.0).then_some(Cause::Login)),
            is_pooled: *worst >= 0.0,
            seconds: 60.0,
            latency: Times {
                count: 60_000,
                us_mean: 10.0,
                us_p99: Some(20.0),
                us_max: worst.abs(),
            },
            rt_cpu_share_others: Some(0.5),
            work: BTreeMap::from([("hackbench".to_owned(), 100.0)]),
            normal: None,
            commands: None,
            system_management_interrupts: None,
        };
        Column {
            way: way.to_owned(),
            boot: boot(kernel),
            runs: worsts.iter().map(run).collect(),
        }
    }

    #[test]
    fn the_worst_of_each_run_is_a_distribution() {
        let of = column("stock", "6.18", &[13.0, 96.0, 40.0, -3800.0, 20.0]);
        let worsts = of.worsts().unwrap();
        assert_eq!((worsts.runs, worsts.least), (4, 13.0));
        assert_eq!((worsts.middle, worsts.largest), (30.0, 96.0));
        // 1 - 0.05^(1/4).
        assert!((worsts.further_max - 0.5271).abs() < 1e-4, "{worsts:?}");
        assert_eq!(of.left_out(), Some(3800.0));
        assert_eq!(column("stock", "6.18", &[-1.0]).worsts(), None);
    }

    #[test]
    fn ratios_have_intervals_from_two_runs_on() {
        let base = column("stock", "6.18", &[90.0, 110.0, 100.0]);
        let ours = column("artis", "6.18", &[45.0, 55.0, 50.0]);
        let interval = ours.against(&base).unwrap();
        assert!(interval.low < 0.5 && interval.high > 0.5, "{interval:?}");
        assert_eq!(column("artis", "6.18", &[45.0]).against(&base), None);
        assert_eq!(ours.work_against(&base)["hackbench"], 1.0);
    }
}
