// SPDX-License-Identifier: GPL-2.0-only
//! Result files as runs of a configuration.

use super::extent::with_missed;
use super::loads::{load_units, loads, of_loads};
use super::machine::one_machine;
use super::{Configuration, Error, Extent, Figure, Figures, Missed, Setup};
use crate::compare::metric::{Metric, Quantity, Stat};
use artis_result::document::Document;
use artis_result::names::{DUE_TO_HANDLER, EXECUTION_TIME, LATENCY, TIMER_TO_IRQ, TIMER_TO_USER};
use artis_result::{Distribution, Kind, PERCENTILES, Series, Unit};
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
            let all = of_distribution(quantity, *unit, values);
            match Missed::of(documents).filter(|_| *quantity == Quantity::Latency) {
                Some(missed) => figures.extend(with_missed(all.into_iter(), values, missed)),
                None => figures.extend(all),
            }
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
        units: together
            .iter()
            .map(|(quantity, (unit, _))| (quantity.to_string(), *unit))
            .collect(),
        whole: figures(&together, documents),
        runs: runs
            .map(|(document, values)| figures(values, std::slice::from_ref(document)))
            .collect(),
        missed: Missed::of(documents),
        extent: Extent::of(documents),
        setup: Setup::of(documents),
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
    if let Some(missed) = Missed::of(documents) {
        let at_least = match missed.interval_us {
            Some(us) => format!("a latency of at least {us} us"),
            None => "a long latency".to_owned(),
        };
        notes.push(format!(
            "{name} missed periods, {} of them: each counts as {at_least} in gates and verdicts, \
             and has no value in figures",
            missed.periods
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
        let quantity = quantity(series, &document.series);
        if series.unit == Unit::Count && !matches!(quantity, Quantity::Other(_)) {
            return Err(format!(
                "series {} is in the unit count, which is no time, and {quantity} is one; measure \
                 again, or correct the file",
                series.name
            ));
        }
        add(
            &mut all,
            quantity,
            (series.unit, series.distribution.clone()),
        )?;
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
        (LATENCY | TIMER_TO_USER, _) => Quantity::Latency,
        (DUE_TO_HANDLER | TIMER_TO_IRQ, _) => Quantity::Kernel,
        (EXECUTION_TIME, _) => Quantity::Execution,
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
            let figure = Figure::exact(value, samples);
            Some((Metric::Of(quantity.clone(), stat), figure))
        })
        .collect()
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
    use artis_result::document::{EMULATED_TIME, VIRTUAL_TIME};
    use artis_result::{LoadDone, Setup};

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
    fn a_latency_that_is_counted_is_refused() {
        let mut counted = result(&[("latency", Kind::Latency, &[1000])], 1.0);
        counted.series[0].unit = Unit::Count;
        let error = of_results("stock", &[counted]).unwrap_err().to_string();
        assert!(error.contains("latency is in the unit count"), "{error}");
        // A series of another name may be either, and both have no ratio.
        let noise = |unit| {
            let mut run = result(&[("noise", Kind::Noise, &[1000])], 1.0);
            run.series[0].unit = unit;
            of_results(&format!("{unit:?}"), &[run]).unwrap()
        };
        let both = vec![noise(Unit::Count), noise(Unit::Nanoseconds)];
        let compared = crate::compare::compare(both, "us".to_owned(), None, false);
        let error = compared.unwrap_err().to_string();
        assert!(error.contains("noise is a time in Nanoseconds"), "{error}");
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
