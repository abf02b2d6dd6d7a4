// SPDX-License-Identifier: GPL-2.0-only
//! Joins several results into one, as if one long run had been measured.
//!
//! Series are the same when name, kind, unit, CPU and thread are. Joining is associative and
//! commutative as far as counts and histograms go, and no value is lost.
//!
//! Decided here: results of different programs, machines, settings or loads do not belong
//! together and are refused unless that is asked for; what differs is then left out (the
//! machine, settings), or listed (loads, programs). One name with two kinds or units is always
//! refused. Durations, loads' work and missed periods add up, and are left out when one result
//! does not give them. When a maximum was is left out: the runs had different beginnings.
//! So are block maxima.
//!
//! A run that is there twice is refused whatever is asked for. Warnings about single runs stay,
//! each once; the one about too few samples is computed again, for the sum.

use super::document::{Document, LoadDone, Warning};
use super::series::{Series, meaning};
use super::tag::Tag;
use super::{few_samples, first_copy};
use std::collections::BTreeMap;

/// Why results were not joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing to join.
    #[error("there is no result to merge")]
    Nothing,
    /// One run, given twice.
    #[error("they hold the same run, and its values would count twice; leave one out")]
    Same {
        /// Positions, from 1.
        one: usize,
        other: usize,
    },
    /// They do not belong together.
    #[error(
        "result {number} has another {what} than the first: {one} and {other}; --force merges them nevertheless"
    )]
    Different {
        /// Position of the second, from 1.
        number: usize,
        what: &'static str,
        one: String,
        other: String,
    },
    /// One name for two things.
    #[error("series {name} is {one} in one result and {other} in another; these cannot be merged")]
    Kinds {
        name: String,
        one: String,
        other: String,
    },
    /// The sum is too large.
    #[error("series {name}: {reason}")]
    Series { name: String, reason: String },
}

/// Joins results; with `force` also those that do not belong together.
///
/// The result's command is the common one, or empty for the caller to fill in.
///
/// # Errors
/// [`Error`].
pub fn merge(documents: &[Document], force: bool) -> Result<Document, Error> {
    let (first, rest) = documents.split_first().ok_or(Error::Nothing)?;
    if let Some((one, other)) = first_copy(documents.iter()) {
        return Err(Error::Same {
            one: one + 1,
            other: other + 1,
        });
    }
    if !force {
        for (number, other) in (2..).zip(rest) {
            belong_together(first, other, number)?;
        }
    }
    let mut merged = first.clone();
    merged.series = merged_series(documents)?;
    merged.tool = listed(documents.iter().map(|one| Some(one.tool.as_str()))).unwrap_or_default();
    merged.ended_early = listed(documents.iter().map(|one| one.ended_early.as_deref()));
    merged.started = documents
        .iter()
        .map(|one| one.started.clone())
        .min()
        .flatten();
    merged.seconds = documents.iter().map(|one| one.seconds).sum();
    let machines_are_one = rest.iter().all(|one| one.machine == first.machine);
    merged.machine = merged.machine.filter(|_| machines_are_one);
    for one in rest {
        if one.setup.command != merged.setup.command {
            merged.setup.command.clear();
        }
        let options = &mut merged.setup.options;
        options.retain(|name, value| one.setup.options.get(name) == Some(value));
    }
    merged.audit = merged_warnings(documents, &merged.series);
    merged.load = merged_loads(documents);
    Ok(merged)
}

/// Refuses what one run could not have measured.
fn belong_together(first: &Document, other: &Document, number: usize) -> Result<(), Error> {
    let loads = |document: &Document| {
        let names: Vec<String> = document.load.iter().map(load_words).collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    };
    let json = |value: serde_json::Result<String>| value.unwrap_or_default();
    let machine = |document: &Document| json(serde_json::to_string(&document.machine));
    let options = |document: &Document| json(serde_json::to_string(&document.setup.options));
    let compared = [
        ("program", first.tool.clone(), other.tool.clone()),
        ("machine", machine(first), machine(other)),
        ("setup", options(first), options(other)),
        ("load", loads(first), loads(other)),
    ];
    for (what, one, other) in compared {
        if one != other {
            return Err(Error::Different {
                number,
                what,
                one,
                other,
            });
        }
    }
    Ok(())
}

/// The warnings of all, each once; that of too few samples for the sum.
fn merged_warnings(documents: &[Document], series: &[Series]) -> Vec<Warning> {
    let mut all: Vec<Warning> = Vec::new();
    let mut short: Vec<&Warning> = Vec::new();
    for warning in documents.iter().flat_map(|one| &one.audit) {
        if warning.id == few_samples::ID {
            short.push(warning);
        } else if !all.contains(warning) {
            all.push(warning.clone());
        }
    }
    // Not every series is judged: a measurement warns of those that it is about.
    let judged = series.iter().filter(|series| {
        let start = format!("{} has ", series.name);
        short.iter().any(|warning| warning.seen.starts_with(&start))
    });
    let counts = judged.map(|series| (series.name.as_str(), series.distribution.count()));
    all.extend(few_samples::warning(counts));
    all
}

/// What makes two loads the same.
fn load_words(load: &LoadDone) -> String {
    let cpus = load.cpus.as_deref().unwrap_or("all CPUs");
    format!("{} on {cpus} ({}, {})", load.name, load.command, load.unit)
}

/// The different words, in order; none when there are none.
fn listed<'a>(words: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let mut all: Vec<&str> = words
        .flatten()
        .flat_map(|words| words.split(", "))
        .collect();
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then(|| all.join(", "))
}

fn merged_series(documents: &[Document]) -> Result<Vec<Series>, Error> {
    let mut merged: BTreeMap<Tag, Series> = BTreeMap::new();
    let one_result = documents.len() == 1;
    for series in documents.iter().flat_map(|document| &document.series) {
        let tag = Tag::of(series);
        let Some(sum) = merged.get_mut(&tag) else {
            let max_at_s = series.max_at_s.filter(|_| one_result);
            merged.insert(
                tag,
                Series {
                    max_at_s,
                    ..series.clone()
                },
            );
            continue;
        };
        sum.distribution
            .try_merge(&series.distribution)
            .map_err(|error| Error::Series {
                name: series.name.clone(),
                reason: error.to_string(),
            })?;
        sum.missed = sum
            .missed
            .zip(series.missed)
            .map(|(one, other)| one.saturating_add(other));
        sum.max_at_s = None;
        sum.blocks = None;
    }
    let mut series: Vec<Series> = merged.into_values().collect();
    for pair in series.windows(2) {
        let (one, other) = (&pair[0], &pair[1]);
        if one.name == other.name && (one.kind, one.unit) != (other.kind, other.unit) {
            return Err(Error::Kinds {
                name: one.name.clone(),
                one: meaning(one),
                other: meaning(other),
            });
        }
    }
    for one in series.iter_mut().filter(|_| !one_result) {
        one.max_at_s = None;
        one.blocks = None;
    }
    Ok(series)
}

/// The work of the same load adds up, whatever the order.
fn merged_loads(documents: &[Document]) -> Vec<LoadDone> {
    let mut merged: BTreeMap<String, LoadDone> = BTreeMap::new();
    for load in documents.iter().flat_map(|document| &document.load) {
        let Some(sum) = merged.get_mut(&load_words(load)) else {
            merged.insert(load_words(load), load.clone());
            continue;
        };
        sum.work += load.work;
        sum.seconds += load.seconds;
        sum.cpu_seconds = sum
            .cpu_seconds
            .zip(load.cpu_seconds)
            .map(|(one, other)| one + other);
    }
    merged.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distribution, Kind, Machine, Setup, Unit, Warning};
    use proptest::prelude::*;

    fn load(work: f64) -> LoadDone {
        LoadDone {
            name: "compute".to_owned(),
            cpus: None,
            command: "stress-ng --cpu 2".to_owned(),
            work,
            unit: "bogo-ops".to_owned(),
            seconds: 10.0,
            cpu_seconds: Some(work),
        }
    }

    /// Values of CPU 0 and CPU 1; `fine` has the histograms of an import.
    fn document(cpus: &[Vec<i64>], fine: bool) -> Document {
        let mut document = Document::new(Setup::default());
        document.seconds = Some(10.0);
        document.load.push(load(5.0));
        for (cpu, column) in (0..).zip(cpus) {
            let mut values = if fine {
                Distribution::for_multiples(1000, 5_000_000, 20_000_000)
            } else {
                Distribution::new()
            };
            for value in column {
                values.record(*value);
            }
            document.series.push(Series {
                cpu: Some(cpu),
                missed: Some(1),
                max_at_s: Some(1.0),
                ..Series::new("latency", Kind::Latency, Unit::Nanoseconds, values)
            });
        }
        document
    }

    #[test]
    fn what_adds_up_is_added() {
        let runs = [1, 2, 3].map(|value| document(&[vec![value, value]], false));
        let merged = merge(&runs, false).unwrap();
        assert_eq!(merged.seconds, Some(30.0));
        assert_eq!(
            (merged.load[0].work, merged.load[0].cpu_seconds),
            (15.0, Some(15.0))
        );
        assert_eq!(merged.series[0].missed, Some(3));
        assert_eq!(merged.series[0].max_at_s, None);
        assert_eq!(merged.series[0].distribution.count(), 6);
    }

    #[test]
    fn one_result_stays_itself() {
        let one = document(&[vec![1, 2], vec![3]], false);
        assert_eq!(merge(std::slice::from_ref(&one), false).unwrap(), one);
        assert_eq!(merge(&[], false), Err(Error::Nothing));
    }

    #[test]
    fn what_does_not_belong_together_is_refused_unless_forced() {
        let one = document(&[vec![1]], false);
        let differing = |change: fn(&mut Document)| {
            let mut other = document(&[vec![2]], false);
            change(&mut other);
            let Err(Error::Different {
                number: 2, what, ..
            }) = merge(&[one.clone(), other.clone()], false)
            else {
                panic!("merged");
            };
            (what, merge(&[one.clone(), other], true).unwrap())
        };
        let machine = |document: &mut Document| {
            document.machine = Some(Machine::of_kernel("6.1".to_owned()));
        };
        let (what, merged) = differing(machine);
        assert_eq!((what, merged.machine), ("machine", None));
        let (what, merged) = differing(|other| other.tool = "cyclictest".to_owned());
        assert_eq!(what, "program");
        assert!(merged.tool.ends_with(", cyclictest"), "{}", merged.tool);
        let (what, merged) = differing(|other| other.load[0].name = "io".to_owned());
        assert_eq!((what, merged.load.len()), ("load", 2));
        let (what, _) = differing(|other| {
            other
                .setup
                .options
                .insert("interval_us".to_owned(), 100.into());
        });
        assert_eq!(what, "setup");
    }

    #[test]
    fn one_name_is_one_thing() {
        let one = document(&[vec![1]], false);
        let mut other = document(&[vec![2]], false);
        other.series[0].kind = Kind::Noise;
        let refused = merge(&[one, other], true).unwrap_err().to_string();
        assert!(refused.contains("latency in ns"), "{refused}");
    }

    #[test]
    fn a_run_is_not_counted_twice() {
        let runs = [vec![1], vec![2], vec![1]].map(|column| document(&[column], false));
        for force in [false, true] {
            let refused = merge(&runs, force).unwrap_err();
            assert_eq!(refused, Error::Same { one: 1, other: 3 });
        }
    }

    #[test]
    fn warnings_are_given_once() {
        let mut runs = [1, 2].map(|value| document(&[vec![value]], false));
        for run in &mut runs {
            run.audit.push(Warning {
                id: "a".to_owned(),
                seen: "b".to_owned(),
                why: "c".to_owned(),
                fix: None,
            });
        }
        assert_eq!(merge(&runs, false).unwrap().audit.len(), 1);
    }

    #[test]
    fn too_few_samples_are_counted_again() {
        let run = |value| {
            let mut run = document(&[vec![value; 600_000]], false);
            run.audit
                .extend(few_samples::warning([("latency", 600_000)].into_iter()));
            assert_eq!(run.audit.len(), 1);
            run
        };
        assert_eq!(merge(&[run(1), run(2)], false).unwrap().audit, []);
        let mut short = [run(1), run(2)];
        for run in &mut short {
            run.series[0].distribution = Distribution::new();
            run.series[0]
                .distribution
                .record_n(run.audit.len() as i64, 300);
        }
        short[0].series[0].distribution.record(7);
        let audit = merge(&short, false).unwrap().audit;
        assert_eq!(audit.len(), 1);
        assert!(audit[0].seen.starts_with("latency has 601 samples"));
    }

    /// All that the order must not change.
    fn essence(document: &Document) -> Vec<(Tag, u64, i64, i64, String)> {
        let figures = |series: &Series| {
            let values = &series.distribution;
            let (min, max) = values.moments().map_or((0, 0), |it| (it.min, it.max));
            let histogram = crate::histogram::encode(values.histogram()).unwrap();
            (Tag::of(series), values.count(), min, max, histogram)
        };
        document.series.iter().map(figures).collect()
    }

    /// What [`document`] takes: a document itself would print pages when a test fails.
    fn some() -> impl Strategy<Value = (Vec<Vec<i64>>, bool)> {
        let column = prop::collection::vec(0..20_000_000_i64, 0..30);
        (prop::collection::vec(column, 1..3), any::<bool>())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_order_does_not_matter(parts in [some(), some(), some()]) {
            let [mut one, mut two, three] = parts.map(|(columns, fine)| document(&columns, fine));
            // Otherwise equal columns would be one run.
            one.started = Some("2026-11-21T19:10:04Z".to_owned());
            two.started = Some("2026-11-22T19:10:04Z".to_owned());
            let three = Document { started: Some("2026-11-23T19:10:04Z".to_owned()), ..three };
            let pair = |one: &Document, two: &Document| merge(&[one.clone(), two.clone()], false).unwrap();
            let left = pair(&pair(&one, &two), &three);
            let right = pair(&one, &pair(&two, &three));
            let turned = pair(&three, &pair(&two, &one));
            prop_assert_eq!(essence(&left), essence(&right));
            prop_assert_eq!(essence(&left), essence(&turned));
            let counted = |document: &Document| -> u64 {
                document.series.iter().map(|series| series.distribution.count()).sum()
            };
            prop_assert_eq!(counted(&left), counted(&one) + counted(&two) + counted(&three));
        }
    }
}
