// SPDX-License-Identifier: GPL-2.0-only
//! Several configurations, side by side.
//!
//! Owns the figures that can be compared ([`metric`]), how files give them ([`figures`]),
//! ratios to a baseline with their intervals ([`interval`]), and the bounds that a user sets
//! ([`gate`]). Never gives the ratio of two extremes of different numbers of samples unless
//! that is asked for: the larger sample has the wider extremes, whatever was measured.
//!
//! A figure is that of all runs together: the worst of all, the percentile of all values. Its
//! interval is that of the ratio of the runs' means. Extremes have none, because resampling finds
//! no interval for what several samples say about the worst of all (P. J. Bickel and D. A.
//! Freedman, "Some asymptotic theory for the bootstrap", 1981, section 6); next to the worst of
//! all is the mean of each run's worst, which has one.

pub mod figures;
pub mod gate;
pub mod interval;
pub mod metric;

pub use figures::{Configuration, Figure, Figures, Range, are_alike};
pub use gate::Gate;
pub use interval::Interval;
pub use metric::Metric;

use artis_result::Unit;
use std::collections::{BTreeMap, BTreeSet};

/// Why configurations cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("there is no configuration {name:?}; there are {}", known.join(", "))]
    Unknown { name: String, known: Vec<String> },
    #[error("two configurations are named {0:?}; give each file a name: NAME=FILE")]
    Twice(String),
    #[error(
        "{one} and {other} have no figure in common, so there is nothing to compare: {figures}; \
         give files of the same measurement"
    )]
    NothingShared {
        one: String,
        other: String,
        /// Which each has.
        figures: String,
    },
    #[error(
        "times of {one} are in {one_unit}, those of {other} in {other_unit}: these cannot be \
         compared"
    )]
    Units {
        one: String,
        one_unit: String,
        other: String,
        other_unit: String,
    },
    #[error("{0}: these are two loads of one name; give files with the same load")]
    LoadUnits(String),
    #[error("{0}: a time and a number cannot be compared; give files of the same measurement")]
    SeriesUnits(String),
}

/// Refuses two of one name, and work of a load, or values of a series, in different units.
fn comparable(all: &[Configuration]) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    // Of each load and series: its unit, and who was the first to have it.
    let mut loads: BTreeMap<&String, (&String, &String)> = BTreeMap::new();
    let mut series: BTreeMap<_, (Unit, &String)> = BTreeMap::new();
    for one in all {
        if !names.insert(&one.name) {
            return Err(Error::Twice(one.name.clone()));
        }
        for (load, unit) in &one.load_units {
            let (known, other) = *loads.entry(load).or_insert((unit, &one.name));
            if known != unit {
                return Err(Error::LoadUnits(format!(
                    "the load {load} is counted in {known} in {other}, in {unit} in {}",
                    one.name
                )));
            }
        }
        for (name, unit) in &one.units {
            let (known, other) = *series.entry(name).or_insert((*unit, &one.name));
            if known != *unit {
                let word = |unit: Unit| match unit {
                    Unit::Nanoseconds => "a time",
                    Unit::Count => "a number",
                };
                return Err(Error::SeriesUnits(format!(
                    "{name} is {} in {}, {} in {other}",
                    word(*unit),
                    one.name,
                    word(known)
                )));
            }
        }
    }
    Ok(())
}

/// The loads that every configuration with loads had.
fn common_loads(all: &[Compared], baseline: usize) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut with_loads = 0;
    for one in all {
        let loads: BTreeSet<&str> = one.cells.keys().filter_map(Metric::load).collect();
        with_loads += usize::from(!loads.is_empty());
        for load in loads {
            *counts.entry(load).or_default() += 1;
        }
    }
    let of_base = all[baseline].cells.keys().filter_map(Metric::load);
    let common = of_base.filter(|load| counts.get(load) == Some(&with_loads));
    common.map(str::to_owned).collect()
}

/// Configurations, and how their figures compare with the baseline's.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The unit of all times.
    pub unit: String,
    /// Index of the configuration that ratios are to.
    pub baseline: usize,
    /// In the order in which they were given.
    pub configurations: Vec<Compared>,
    /// Whether extremes of different numbers of samples are compared nevertheless.
    pub unequal_allowed: bool,
    common_loads: Vec<String>,
}

/// One configuration compared with the baseline.
#[derive(Clone, Debug)]
pub struct Compared {
    pub configuration: Configuration,
    pub cells: BTreeMap<Metric, Cell>,
}

/// One figure of one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Of all runs together.
    pub figure: Figure,
    /// Of each run, where there are several.
    pub runs: Vec<f64>,
    /// In relation to the baseline's; none for the baseline itself, and where it has no such
    /// figure.
    pub ratio: Option<Ratio>,
}

/// A figure in relation to the baseline's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ratio {
    /// Of the figures of all runs; none when withheld, and when the baseline's is 0.
    pub of_all: Option<f64>,
    /// Of the means of the runs' figures, where both have several runs.
    pub of_means: Option<f64>,
    /// Where `of_means` is likely to lie; none for the figure of an extreme of all runs, see the
    /// module's text.
    pub interval: Option<Interval>,
    /// The numbers of samples and missed periods, this one's and the baseline's, when they differ
    /// and it matters.
    pub unequal: Option<(u64, u64)>,
}

impl Cell {
    /// The mean of the runs' figures; none without several runs.
    pub fn mean_of_runs(&self) -> Option<f64> {
        (self.runs.len() > 1).then(|| self.runs.iter().sum::<f64>() / self.runs.len() as f64)
    }
}

/// Compares configurations with the one named `baseline`, or the first; all times are in `unit`.
///
/// # Errors
/// [`Error::Unknown`] when there is no such baseline, [`Error::Twice`],
/// [`Error::NothingShared`] when a configuration has no figure of the baseline's.
pub fn compare(
    configurations: Vec<Configuration>,
    unit: String,
    baseline: Option<&str>,
    unequal_allowed: bool,
) -> Result<Comparison, Error> {
    comparable(&configurations)?;
    let known = || configurations.iter().map(|one| one.name.clone()).collect();
    let name = baseline.unwrap_or_else(|| configurations.first().map_or("", |it| &it.name));
    let baseline = configurations
        .iter()
        .position(|one| one.name == name)
        .ok_or_else(|| Error::Unknown {
            name: name.to_owned(),
            known: known(),
        })?;
    let base = configurations[baseline].clone();
    if let Some(stranger) = configurations.iter().find(|one| !one.shares_with(&base)) {
        let has = |it: &Configuration| format!("{} has {}", it.name, it.in_tables().join(", "));
        return Err(Error::NothingShared {
            one: base.name.clone(),
            other: stranger.name.clone(),
            figures: format!("{}; {}", has(&base), has(stranger)),
        });
    }
    let compared = configurations
        .into_iter()
        .enumerate()
        .map(|(at, configuration)| {
            let base = (at != baseline).then_some(&base);
            let cells = cells(&configuration, base, unequal_allowed);
            Compared {
                configuration,
                cells,
            }
        });
    let configurations: Vec<Compared> = compared.collect();
    Ok(Comparison {
        unit,
        baseline,
        common_loads: common_loads(&configurations, baseline),
        configurations,
        unequal_allowed,
    })
}

/// Every figure of a configuration, compared with that of `base`.
fn cells(
    configuration: &Configuration,
    base: Option<&Configuration>,
    unequal_allowed: bool,
) -> BTreeMap<Metric, Cell> {
    let cell = |(metric, figure): (&Metric, &Figure)| {
        let runs = configuration.of_runs(metric);
        let ratio = base.and_then(|base| {
            let other = base.whole.get(metric)?;
            let extreme = metric.is_extreme();
            let extents = (configuration.extent.as_ref(), base.extent.as_ref());
            let alike = are_alike((figure, extents.0), (other, extents.1));
            let unequal = (extreme && !alike).then(|| {
                let samples = |one: &Figure| one.offered().unwrap_or(0);
                (samples(figure), samples(other))
            });
            if unequal.is_some() && !unequal_allowed {
                return Some(Ratio {
                    unequal,
                    ..Ratio::default()
                });
            }
            let base_runs = base.of_runs(metric);
            Some(Ratio {
                of_all: quotient(figure.value, other.value),
                of_means: interval::of_means(&runs, &base_runs),
                interval: interval::fieller(&runs, &base_runs),
                unequal,
            })
        });
        let cell = Cell {
            figure: *figure,
            runs,
            ratio,
        };
        (metric.clone(), cell)
    };
    configuration.whole.iter().map(cell).collect()
}

/// None where it is not defined.
fn quotient(one: f64, other: f64) -> Option<f64> {
    Some(one / other).filter(|ratio| ratio.is_finite())
}

impl Comparison {
    /// The configuration that ratios are to.
    pub fn base(&self) -> &Compared {
        &self.configurations[self.baseline]
    }

    /// The configuration of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn named(&self, name: &str) -> Result<&Compared, Error> {
        self.configurations
            .iter()
            .find(|one| one.configuration.name == name)
            .ok_or_else(|| Error::Unknown {
                name: name.to_owned(),
                known: self.names(),
            })
    }

    /// All names, in order.
    pub fn names(&self) -> Vec<String> {
        let names = self
            .configurations
            .iter()
            .map(|one| one.configuration.name.clone());
        names.collect()
    }

    /// Every figure that some configuration has, in the order of tables.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut all: Vec<Metric> = self
            .configurations
            .iter()
            .flat_map(|one| one.cells.keys().cloned())
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Whether any ratio is one of means of several runs.
    pub fn has_runs(&self) -> bool {
        let ratios = self
            .configurations
            .iter()
            .flat_map(|one| one.cells.values())
            .filter_map(|cell| cell.ratio);
        ratios.into_iter().any(|ratio| ratio.of_means.is_some())
    }

    /// The loads that every configuration with loads had: what can be compared of them.
    pub fn common_loads(&self) -> Vec<&str> {
        self.common_loads.iter().map(String::as_str).collect()
    }

    /// What a configuration keeps of the baseline's throughput: the geometric mean over the
    /// common loads, the mean for ratios (P. J. Fleming and J. J. Wallace, "How not to lie with
    /// statistics", 1986). None where it had no load, and where the baseline did no work.
    pub fn throughput_kept(&self, one: &Compared) -> Option<f64> {
        let loads = self.common_loads();
        if loads.is_empty() {
            return None;
        }
        let mut product_ln = 0.0;
        for load in &loads {
            let metric = Metric::Throughput((*load).to_owned());
            let (ours, base) = (one.cells.get(&metric)?, self.base().cells.get(&metric)?);
            product_ln += quotient(ours.figure.value, base.figure.value)?.ln();
        }
        Some((product_ln / loads.len() as f64).exp())
    }

    /// Where that is likely to lie: the interval of the ratio of the runs' geometric means. None
    /// for the baseline itself, and where either was measured once.
    pub fn throughput_kept_interval(&self, one: &Compared) -> Option<Interval> {
        let loads = self.common_loads();
        if loads.is_empty() || std::ptr::eq(one, self.base()) {
            return None;
        }
        let of_runs = |one: &Compared| -> Option<Vec<f64>> {
            let mut products_ln = vec![0.0; one.configuration.runs.len()];
            for load in &loads {
                let values = one
                    .configuration
                    .of_runs(&Metric::Throughput((*load).to_owned()));
                if values.len() != products_ln.len() {
                    return None;
                }
                for (product, value) in products_ln.iter_mut().zip(values) {
                    *product += value.ln() / loads.len() as f64;
                }
            }
            Some(products_ln.into_iter().map(f64::exp).collect())
        };
        interval::fieller(&of_runs(one)?, &of_runs(self.base())?)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::metric::{Quantity, Stat};
    use super::*;
    use artis_testing::experiment::{experiment, of_rows, row};

    pub(crate) const LATENCY_MAX: Metric = Metric::Of(Quantity::Latency, Stat::Max);
    const LATENCY_MEAN: Metric = Metric::Of(Quantity::Latency, Stat::Mean);

    pub(crate) fn compared(rows: &[(&str, &[f64])], unequal_allowed: bool) -> Comparison {
        let experiment = of_rows(rows);
        let configurations = figures::of_experiment(&experiment).unwrap();
        let unit = experiment.time_unit();
        compare(configurations, unit, None, unequal_allowed).unwrap()
    }

    #[test]
    fn the_worst_of_all_and_the_mean_of_the_worst() {
        let all = compared(
            &[("stock", &[100.0, 300.0]), ("artis", &[50.0, 150.0])],
            false,
        );
        let cell = &all.configurations[1].cells[&LATENCY_MAX];
        assert_eq!(cell.figure.value, 150.0);
        assert_eq!(cell.mean_of_runs(), Some(100.0));
        let ratio = cell.ratio.unwrap();
        assert_eq!((ratio.of_all, ratio.of_means), (Some(0.5), Some(0.5)));
        assert_eq!(all.base().cells[&LATENCY_MAX].ratio, None);
    }

    #[test]
    fn extremes_of_different_counts_are_withheld_until_asked_for() {
        let rows: [(&str, &[f64]); 2] = [("stock", &[100.0, 300.0]), ("artis", &[50.0])];
        let withheld = compared(&rows, false);
        let ratio = |all: &Comparison, metric| all.configurations[1].cells[metric].ratio.unwrap();
        let max = ratio(&withheld, &LATENCY_MAX);
        assert_eq!((max.of_all, max.unequal), (None, Some((1000, 2000))));
        assert!(ratio(&withheld, &LATENCY_MEAN).of_all.is_some());
        let given = ratio(&compared(&rows, true), &LATENCY_MAX);
        assert_eq!(given.unequal, Some((1000, 2000)));
        assert_eq!(given.of_all, Some(50.0 / 300.0));
    }

    #[test]
    fn baselines_and_names_are_checked() {
        let configurations = |names: [&str; 2]| {
            let rows = names.map(|name| row(name, &[1.0])).to_vec();
            // An experiment refuses equal names, so one at a time.
            rows.into_iter()
                .flat_map(|row| figures::of_experiment(&experiment(vec![row])).unwrap())
                .collect::<Vec<_>>()
        };
        let tried =
            |names, baseline| compare(configurations(names), "us".to_owned(), baseline, false);
        let complaint = tried(["a", "b"], Some("c")).unwrap_err().to_string();
        assert!(complaint.contains("there are a, b"), "{complaint}");
        assert_eq!(
            tried(["a", "a"], None).unwrap_err(),
            Error::Twice("a".to_owned())
        );
        assert_eq!(tried(["a", "b"], Some("b")).unwrap().baseline, 1);
    }

    #[test]
    fn what_is_kept_has_an_interval_from_two_runs_on() {
        let with = |works: &[f64]| {
            let mut row = row("row", &[1.0]);
            row.figures.work_relative = [("compute".to_owned(), works[0])].into();
            let one = figures::of_experiment(&experiment(vec![row])).unwrap();
            let metric = Metric::Throughput("compute".to_owned());
            let runs = works
                .iter()
                .map(|work| Figures::from([(metric.clone(), Figure::exact(*work, None))]));
            Configuration {
                runs: runs.collect(),
                ..one[0].clone()
            }
        };
        let of = |stock: &[f64], artis: &[f64]| {
            let named = |name: &str, works| Configuration {
                name: name.to_owned(),
                ..with(works)
            };
            let both = vec![named("stock", stock), named("artis", artis)];
            let all = compare(both, "us".to_owned(), None, false).unwrap();
            assert_eq!(all.throughput_kept_interval(all.base()), None);
            all.throughput_kept_interval(&all.configurations[1])
        };
        assert_eq!(of(&[100.0], &[90.0, 92.0]), None);
        let (stock, artis) = ([100.0, 102.0, 98.0], [90.0, 92.0, 91.0]);
        let found = of(&stock, &artis).unwrap();
        let expected = interval::fieller(&artis, &stock).unwrap();
        assert!((found.low - expected.low).abs() < 1e-9, "{found:?}");
        assert!((found.high - expected.high).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_is_kept_is_the_geometric_mean_over_common_loads() {
        let mut rows = vec![row("stock", &[1.0]), row("artis", &[1.0])];
        let work = |hackbench: f64, compute: f64| {
            [("hackbench", hackbench), ("compute", compute)]
                .map(|(load, work)| (load.to_owned(), work))
                .into()
        };
        rows[0].figures.work_relative = work(2.0, 1.0);
        rows[1].figures.work_relative = work(1.0, 8.0);
        let configurations = figures::of_experiment(&experiment(rows)).unwrap();
        let all = compare(configurations, "us".to_owned(), None, false).unwrap();
        assert_eq!(all.common_loads(), ["compute", "hackbench"]);
        let kept = all.throughput_kept(&all.configurations[1]).unwrap();
        assert!((kept - 2.0).abs() < 1e-12, "{kept}");
    }
}
