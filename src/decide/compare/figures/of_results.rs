// SPDX-License-Identifier: GPL-2.0-only
//! Result files as runs of a configuration.

use super::machine::one_machine;
use super::{Configuration, Error, Figure, Figures};
use crate::compare::metric::{Metric, Quantity, Stat};
use artis_result::document::Document;
use artis_result::{Distribution, Kind, LoadDone, PERCENTILES, Series, Unit};
use std::collections::{BTreeMap, BTreeSet};

const NS_PER_US: f64 = 1000.0;

/// The unit of a result's times. One measured inside an emulator never has plain microseconds.
fn time_unit(document: &Document) -> String {
    if let Some(unit) = document.virtual_unit() {
        return unit.to_owned();
    }
    let machine = document.machine.as_ref();
    match machine.and_then(|machine| machine.virtualisation.as_deref()) {
        Some("bochs") => "us, emulated (bochs)".to_owned(),
        _ => "us".to_owned(),
    }
}

/// One configuration, each document a run of it.
///
/// # Errors
/// [`Error`].
pub fn of_results(name: &str, documents: &[Document]) -> Result<Configuration, Error> {
    if documents.iter().any(Document::is_emulated) {
        return Err(Error::Emulated(name.to_owned()));
    }
    one_machine(name, documents)?;
    let inconsistent = |reason| Error::Inconsistent {
        name: name.to_owned(),
        reason,
    };
    let per_run = documents.iter().map(distributions);
    let per_run: Vec<Distributions> = per_run.collect::<Result<_, _>>().map_err(inconsistent)?;
    let mut together = Distributions::new();
    for run in &per_run {
        for (quantity, values) in run {
            add(&mut together, quantity.clone(), values.clone()).map_err(inconsistent)?;
        }
    }
    let figures = |distributions: &Distributions, documents: &[Document]| {
        let mut figures = Figures::new();
        for (quantity, (unit, values)) in distributions {
            figures.extend(of_distribution(quantity, *unit, values));
        }
        figures.extend(of_loads(documents));
        figures
    };
    let runs = documents.iter().zip(&per_run);
    let kernels = documents.iter().filter_map(|one| one.machine.as_ref());
    let mut configuration = Configuration {
        name: name.to_owned(),
        unit: common_unit(name, documents)?,
        kernel: listed(kernels.map(|machine| machine.kernel.clone())).join(", "),
        loads: listed(loads(documents).map(|load| load.name.clone())),
        load_units: load_units(documents).map_err(inconsistent)?,
        whole: figures(&together, documents),
        runs: runs
            .map(|(document, values)| figures(values, std::slice::from_ref(document)))
            .collect(),
        latencies: together
            .remove(&Quantity::Latency)
            .filter(|(unit, values)| *unit == Unit::Nanoseconds && !values.is_summary())
            .map(|(_, values)| values),
        notes: against(name, documents),
    };
    leave_out_partial(&mut configuration);
    Ok(configuration)
}

/// Of all files of one name, the runs of one measurement: those with latencies, and where none
/// has any, those with the series of the first. What other measurements give (completion times,
/// jitter) is no figure that every run could have.
pub fn of_one_measurement(documents: &[Document]) -> Vec<Document> {
    let has_latency = |one: &Document| {
        let mut all = one.series.iter();
        all.any(|series| quantity(series, &one.series) == Quantity::Latency)
    };
    let names = |one: &Document| -> BTreeSet<String> {
        one.series
            .iter()
            .map(|series| series.name.clone())
            .collect()
    };
    let first = documents.first().map(names).unwrap_or_default();
    let any = documents.iter().any(has_latency);
    let runs = documents.iter().filter(|one| match any {
        true => has_latency(one),
        false => names(one) == first,
    });
    runs.cloned().collect()
}

/// The unit of the times of all runs.
fn common_unit(name: &str, documents: &[Document]) -> Result<String, Error> {
    let units = listed(documents.iter().map(time_unit));
    match units.as_slice() {
        [one, other, ..] => Err(Error::Units {
            name: name.to_owned(),
            one: one.clone(),
            other: other.clone(),
        }),
        units => Ok(units.concat()),
    }
}

fn loads(documents: &[Document]) -> impl Iterator<Item = &LoadDone> {
    documents.iter().flat_map(|document| &document.load)
}

/// What the work of each load is counted in.
fn load_units(documents: &[Document]) -> Result<BTreeMap<String, String>, String> {
    let mut units = BTreeMap::new();
    for load in loads(documents) {
        let known: &mut String = units
            .entry(load.name.clone())
            .or_insert_with(|| load.unit.clone());
        if *known != load.unit {
            return Err(format!(
                "the load {} is counted in {known} in one run, in {} in another",
                load.name, load.unit
            ));
        }
    }
    Ok(units)
}

/// Ascending, each once.
fn listed(words: impl Iterator<Item = String>) -> Vec<String> {
    let all: BTreeSet<String> = words.collect();
    all.into_iter().collect()
}

/// The warnings of the documents, as notes.
fn against(name: &str, documents: &[Document]) -> Vec<String> {
    let ended = documents.iter().filter_map(|one| one.ended_early.as_ref());
    let mut notes: Vec<String> = ended
        .map(|reason| format!("{name} ended early: {reason}"))
        .collect();
    let found = documents.iter().flat_map(|one| &one.audit);
    let ids = listed(found.map(|found| found.id.clone()));
    if !ids.is_empty() {
        notes.push(format!(
            "{name} has warnings ({}); artis result show explains them",
            ids.join(", ")
        ));
    }
    notes
}

type Distributions = BTreeMap<Quantity, (Unit, Distribution)>;

fn add(
    all: &mut Distributions,
    quantity: Quantity,
    (unit, values): (Unit, Distribution),
) -> Result<(), String> {
    match all.get_mut(&quantity) {
        None => {
            all.insert(quantity, (unit, values));
            Ok(())
        }
        Some((known, sum)) if *known == unit => {
            sum.try_merge(&values).map_err(|error| error.to_string())
        }
        Some(_) => Err(format!("series {quantity} has two units")),
    }
}

/// The series of a document, those of one quantity together.
fn distributions(document: &Document) -> Result<Distributions, String> {
    let mut all = Distributions::new();
    for series in &document.series {
        let values = (series.unit, series.distribution.clone());
        add(&mut all, quantity(series, &document.series), values)?;
    }
    Ok(all)
}

/// What a series is called: by the names that artis and rtla give, or by its kind where it is
/// the only one of that kind.
fn quantity(series: &Series, all: &[Series]) -> Quantity {
    let only = || {
        let mut of_kind = all.iter().filter(|one| one.kind == series.kind);
        of_kind.all(|one| one.name == series.name)
    };
    match (series.name.as_str(), series.kind) {
        ("latency" | "timer_to_user", _) => Quantity::Latency,
        ("due_to_handler" | "timer_to_irq", _) => Quantity::Kernel,
        ("execution_time", _) => Quantity::Execution,
        (_, Kind::Latency) if only() => Quantity::Latency,
        (_, Kind::ExecutionTime) if only() => Quantity::Execution,
        (name, _) => Quantity::Other(name.to_owned()),
    }
}

/// Every figure of a distribution.
fn of_distribution(quantity: &Quantity, unit: Unit, values: &Distribution) -> Figures {
    let one = match unit {
        Unit::Nanoseconds => NS_PER_US,
        Unit::Count => 1.0,
    };
    let Some(moments) = values.moments() else {
        return Figures::new();
    };
    let (min, max) = (moments.min as f64, moments.max as f64);
    let value = |stat| match stat {
        Stat::Min => Some(min / one),
        Stat::Mean => Some(moments.mean / one),
        Stat::Percentile(which) => values
            .supported_percentile(PERCENTILES[which].1)
            .map(|value| value as f64 / one),
        Stat::Max => Some(max / one),
        Stat::Variation => (min > 0.0).then(|| (max - min) / min),
    };
    let samples = Some(moments.count);
    Stat::all()
        .filter_map(|stat| {
            let value = value(stat)?;
            Some((
                Metric::Of(quantity.clone(), stat),
                Figure { value, samples },
            ))
        })
        .collect()
}

/// Work, time and CPU time of a load in all runs.
#[derive(Clone, Copy)]
struct Done {
    work: f64,
    seconds: f64,
    /// None when a run does not say.
    cpu_seconds: Option<f64>,
}

/// The work of the loads of all runs.
fn of_loads(documents: &[Document]) -> Figures {
    let mut sums: BTreeMap<&str, Done> = BTreeMap::new();
    for load in loads(documents) {
        let sum = sums.entry(&load.name).or_insert(Done {
            work: 0.0,
            seconds: 0.0,
            cpu_seconds: Some(0.0),
        });
        sum.work += load.work;
        sum.seconds += load.seconds;
        sum.cpu_seconds = sum
            .cpu_seconds
            .zip(load.cpu_seconds)
            .map(|(one, two)| one + two);
    }
    let mut all = Figures::new();
    let mut plain = |metric, value: f64| {
        if value.is_finite() {
            let samples = None;
            all.insert(metric, Figure { value, samples });
        }
    };
    // CPU seconds per second: how many CPUs the loads had. They ran at the same time, so
    // their time is that of the longest.
    let seconds = sums.values().map(|done| done.seconds).fold(0.0, f64::max);
    let cpu_seconds: Option<f64> = sums.values().map(|done| done.cpu_seconds).sum();
    if let Some(cpu_seconds) = cpu_seconds {
        plain(Metric::LoadCpuTime, cpu_seconds / seconds);
    }
    for (name, done) in sums {
        plain(
            Metric::Throughput(name.to_owned()),
            done.work / done.seconds,
        );
        if let Some(cpu_seconds) = done.cpu_seconds {
            plain(
                Metric::WorkPerCpuSecond(name.to_owned()),
                done.work / cpu_seconds,
            );
        }
    }
    all
}

/// A figure of all runs must be one of each run.
fn leave_out_partial(configuration: &mut Configuration) {
    let Configuration {
        name,
        whole,
        runs,
        notes,
        ..
    } = configuration;
    let in_all = |metric: &Metric| runs.iter().all(|run| run.contains_key(metric));
    let partial: Vec<String> = whole
        .keys()
        .filter(|metric| metric.is_in_tables() && !in_all(metric))
        .map(Metric::to_string)
        .collect();
    if !partial.is_empty() {
        notes.push(format!(
            "not every run of {name} has {}: left out",
            partial.join(", ")
        ));
    }
    // A percentile may be supported by all runs together only.
    let percentile = |metric: &Metric| matches!(metric, Metric::Of(_, Stat::Percentile(_)));
    whole.retain(|metric, _| percentile(metric) || in_all(metric));
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_result::Setup;
    use artis_result::document::{EMULATED_TIME, VIRTUAL_TIME};

    fn distribution(values: &[i64]) -> Distribution {
        let mut all = Distribution::new();
        for value in values {
            all.record(*value);
        }
        all
    }

    fn result(series: &[(&str, Kind, &[i64])], work: f64) -> Document {
        let mut document = Document::new(Setup::default());
        for (name, kind, values) in series {
            let values = distribution(values);
            document
                .series
                .push(Series::new(name, *kind, Unit::Nanoseconds, values));
        }
        document.load.push(LoadDone {
            name: "cache".to_owned(),
            cpus: None,
            command: String::new(),
            work,
            unit: "rounds".to_owned(),
            seconds: 2.0,
            cpu_seconds: Some(4.0),
        });
        document
    }

    #[track_caller]
    fn value(figures: &Figures, metric: &str) -> f64 {
        figures[&metric.parse().unwrap()].value
    }

    #[test]
    fn runs_of_one_name_are_one_configuration() {
        let run = |max, work| result(&[("latency", Kind::Latency, &[1000, max])], work);
        let both = of_results("artis", &[run(5000, 10.0), run(9000, 30.0)]).unwrap();
        assert_eq!(value(&both.whole, "latency.max"), 9.0);
        assert_eq!(value(&both.runs[0], "latency.max"), 5.0);
        assert_eq!(value(&both.whole, "latency.mean"), 4.0);
        assert_eq!(value(&both.whole, "throughput.cache"), 10.0);
        assert_eq!(value(&both.whole, "work_per_cpu_second.cache"), 5.0);
        assert_eq!(value(&both.whole, "load_cpu_time"), 2.0);
        assert_eq!(value(&both.runs[1], "load_cpu_time"), 2.0);
        assert_eq!((both.samples(), both.unit.as_str()), (4, "us"));
        assert_eq!(both.latencies.unwrap().count(), 4);
    }

    #[test]
    fn files_of_another_measurement_are_no_runs() {
        let latency = result(&[("latency", Kind::Latency, &[1000])], 10.0);
        let jitter = result(&[("noise", Kind::Noise, &[1000])], 10.0);
        let all = [jitter.clone(), latency.clone(), latency.clone()];
        assert_eq!(of_one_measurement(&all), [latency.clone(), latency]);
        let completion = [("start.user.1us", Kind::Latency, &[1000][..])];
        let other = result(
            &[completion[0], ("start.io.1us", Kind::Latency, &[1])],
            10.0,
        );
        assert_eq!(
            of_one_measurement(&[other.clone(), all[1].clone()]),
            [all[1].clone()]
        );
        let all = [jitter.clone(), other, jitter.clone()];
        assert_eq!(of_one_measurement(&all), [jitter.clone(), jitter]);
        assert_eq!(of_one_measurement(&[]), []);
    }

    #[test]
    fn two_loads_of_one_name_are_not_compared() {
        let counted_in = |unit: &str| {
            let mut run = result(&[("latency", Kind::Latency, &[1000])], 1.0);
            run.load[0].unit = unit.to_owned();
            run
        };
        let runs = [counted_in("rounds"), counted_in("bogo-ops")];
        let error = of_results("mixed", &runs).unwrap_err().to_string();
        assert!(error.contains("cache is counted in rounds"), "{error}");
        let [one, other] = [("one", &runs[0]), ("other", &runs[1])]
            .map(|(name, run)| of_results(name, std::slice::from_ref(run)).unwrap());
        let unit = one.unit.clone();
        let compared = crate::compare::compare(vec![one, other], unit, None, false);
        let error = compared.unwrap_err().to_string();
        assert!(error.contains("bogo-ops in other"), "{error}");
    }

    #[test]
    fn series_go_by_name_and_else_by_kind() {
        let of = |series: &[(&str, Kind, &[i64])]| {
            let one = of_results("some", &[result(series, 1.0)]).unwrap();
            let all = one.whole.keys().filter_map(|metric| match metric {
                Metric::Of(quantity, Stat::Max) => Some(quantity.to_string()),
                _ => None,
            });
            all.collect::<Vec<_>>()
        };
        use Kind::{ExecutionTime, Latency, Noise};
        assert_eq!(of(&[("wake", Latency, &[1])]), ["latency"]);
        assert_eq!(
            of(&[("irq", Latency, &[1]), ("thread", Latency, &[1])]),
            ["irq", "thread"]
        );
        assert_eq!(
            of(&[
                ("latency", Latency, &[1]),
                ("due_to_handler", Latency, &[1]),
                ("execution_time", ExecutionTime, &[1]),
                ("execution_time_unloaded", ExecutionTime, &[1]),
                ("excess", Noise, &[1]),
            ]),
            [
                "latency",
                "kernel",
                "execution",
                "excess",
                "execution_time_unloaded"
            ]
        );
    }

    #[test]
    fn a_figure_that_a_run_lacks_is_left_out_with_a_note() {
        let whole = result(&[("latency", Kind::Latency, &[1])], 1.0);
        let mut idle = whole.clone();
        idle.load.clear();
        let both = of_results("artis", &[whole, idle]).unwrap();
        assert!(!both.whole.keys().any(|metric| metric.load().is_some()));
        assert!(
            both.notes[0].contains("throughput.cache"),
            "{:?}",
            both.notes
        );
    }

    /// A finding with nothing but its name and what was seen.
    fn warning(id: &str, seen: &str) -> artis_result::Warning {
        artis_result::Warning {
            id: id.to_owned(),
            seen: seen.to_owned(),
            why: String::new(),
            fix: None,
        }
    }

    #[test]
    fn an_emulators_times_keep_their_unit() {
        let mut virtual_time = result(&[("latency", Kind::Latency, &[1])], 1.0);
        let unit = "us at 100 MIPS, emulated (Bochs)";
        virtual_time.audit.push(warning(VIRTUAL_TIME, unit));
        let one = of_results("vm", std::slice::from_ref(&virtual_time)).unwrap();
        assert_eq!(one.unit, unit);
        let real = result(&[("latency", Kind::Latency, &[1])], 1.0);
        let mixed = of_results("vm", &[virtual_time, real]);
        assert!(matches!(mixed, Err(Error::Units { .. })), "{mixed:?}");
    }

    #[test]
    fn meaningless_times_are_refused() {
        let mut emulated = result(&[("latency", Kind::Latency, &[1])], 1.0);
        emulated.audit.push(warning(EMULATED_TIME, ""));
        let complaint = of_results("vm", &[emulated]).unwrap_err();
        assert_eq!(complaint, Error::Emulated("vm".to_owned()));
    }
}
