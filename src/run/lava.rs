// SPDX-License-Identifier: GPL-2.0-only
//! What LAVA and KernelCI read of a measurement: a line for each figure, and one for each gate,
//! which decides whether it passed.
//!
//! Source: LAVA's documentation, "Test definitions", signals of test cases. A line is
//! `<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=… RESULT=… MEASUREMENT=… UNITS=…>`; no word has spaces.

use artis_decide::compare::gate::{Bound, Operator, Outcome, Verdict};
use artis_decide::compare::metric::{Metric, Stat};
use artis_decide::compare::{Comparison, Configuration, Gate, compare, figures};
use artis_result::{Document, Unit};

/// The only configuration there is.
const NAME: &str = "artis";
/// Whether it was measured to its end.
const COMPLETED: &str = "completed";

/// The lines of a measurement, and which gates were missed or could not be judged.
pub struct Lines {
    pub text: String,
    pub missed: Vec<String>,
}

/// What became of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passed {
    Pass,
    Fail,
    Unknown,
}

impl Passed {
    fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
        }
    }
}

/// A word of a line: what is no letter, digit or one of `._-` would end it.
fn word(text: &str) -> String {
    let fits = |one: char| one.is_ascii_alphanumeric() || "._-".contains(one);
    let words = text.chars().map(|one| if fits(one) { one } else { '_' });
    words.collect()
}

fn line(id: &str, result: Passed, measured: Option<(f64, &str)>) -> String {
    let mut line = format!(
        "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={} RESULT={}",
        word(id),
        result.word()
    );
    if let Some((value, unit)) = measured.filter(|(value, _)| value.is_finite()) {
        // As tables have it: a thousandth of a microsecond.
        let value = (value * 1000.0).round() / 1000.0;
        line += &format!(" MEASUREMENT={value} UNITS={}", word(unit));
    }
    line + ">\n"
}

/// Reads the figures of a document, and holds them against the gates.
///
/// # Errors
/// When a gate names a configuration: there is one only.
pub fn lines(document: &Document, gates: &[Gate]) -> anyhow::Result<Lines> {
    let completed = match document.ended_early {
        None => Passed::Pass,
        Some(_) => Passed::Fail,
    };
    let mut text = line(COMPLETED, completed, None);
    let mut missed = Vec::new();
    let known = known(document);
    for gate in gates {
        let verdict = known.as_ref().map(|all| gate.check(all)).transpose()?;
        let outcome = verdict
            .as_ref()
            .and_then(|one: &Verdict| one.checks.first());
        let result = match outcome.map(|check| &check.outcome) {
            Some(Outcome::Held) => Passed::Pass,
            Some(Outcome::Missed) => Passed::Fail,
            Some(Outcome::NotJudged(_)) | None => Passed::Unknown,
        };
        if result != Passed::Pass {
            missed.push(match outcome.map(|check| &check.outcome) {
                Some(Outcome::NotJudged(why)) => format!("{gate} cannot be judged: {why}"),
                Some(_) => gate.to_string(),
                None => format!("{gate} cannot be judged: there is no such figure"),
            });
        }
        let figure = outcome.and_then(|check| check.figure);
        let unit = known
            .as_ref()
            .map(|all| unit(&gate.metric, all))
            .unwrap_or_default();
        text += &line(
            &id(gate),
            result,
            figure.map(|it| (it.value, unit.as_str())),
        );
    }
    if let Some(all) = &known {
        let cells = all.configurations.iter().flat_map(|one| &one.cells);
        for (metric, cell) in cells.filter(|(metric, _)| metric.is_in_tables()) {
            let unit = unit(metric, all);
            let measured = Some((cell.figure.value, unit.as_str()));
            text += &line(&metric.to_string(), Passed::Pass, measured);
        }
    }
    Ok(Lines { text, missed })
}

/// The name of a gate's line; each gate has its own.
fn id(gate: &Gate) -> String {
    let operator = match gate.operator {
        Operator::AtMost => "at-most",
        Operator::AtLeast => "at-least",
        Operator::Equal => "equal",
        Operator::Below => "below",
        Operator::Above => "above",
    };
    let bound = match &gate.bound {
        Bound::Number(number) => number.to_string(),
        Bound::Times { factor, reference } => format!("{factor}.{reference}"),
    };
    format!("gate.{}.{operator}.{bound}", gate.metric)
}

/// The figures; none where there are none, or where they mean nothing.
fn known(document: &Document) -> Option<Comparison> {
    if document.is_emulated() {
        return None;
    }
    let one = figures::of_results(NAME, std::slice::from_ref(document)).ok()?;
    let unit = one.unit.clone();
    compare(vec![one], unit, None, true).ok()
}

fn unit(metric: &Metric, all: &Comparison) -> String {
    let of_series = || {
        let metric = metric.to_string();
        let series = metric.rsplit_once('.').map_or("", |(series, _)| series);
        let units = |one: &Configuration| one.units.get(series).copied();
        let found = all
            .configurations
            .iter()
            .find_map(|one| units(&one.configuration));
        match found {
            Some(Unit::Count) => "number".to_owned(),
            _ => all.unit.clone(),
        }
    };
    match metric {
        Metric::Of(_, Stat::Variation)
        | Metric::RtCpuShareOthers
        | Metric::OfBoundMax
        | Metric::OfBoundMin => "ratio".to_owned(),
        Metric::Of(..) => of_series(),
        Metric::LoadCpuTime | Metric::ThroughputSeconds(_) => "s".to_owned(),
        Metric::Throughput(_) | Metric::WorkPerCpuSecond(_) => "per_s".to_owned(),
        Metric::Leaks | Metric::Missed => "number".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_result::document::EMULATED_TIME;
    use artis_result::{Distribution, Kind, Series, Setup, Warning};

    fn document(latencies_ns: &[i64]) -> Document {
        let mut document = Document::new(Setup::default());
        let mut values = Distribution::new();
        for ns in latencies_ns {
            values.record(*ns);
        }
        let series = Series::new("latency", Kind::Latency, Unit::Nanoseconds, values);
        document.series = vec![series];
        document
    }

    fn of(document: &Document, gates: &[&str]) -> Lines {
        let gates: Vec<Gate> = gates.iter().map(|text| text.parse().unwrap()).collect();
        lines(document, &gates).unwrap()
    }

    #[test]
    fn each_figure_and_each_gate_has_a_line() {
        let found = of(
            &document(&[1000, 5000]),
            &["latency.max <= 5", "latency.max<4", "leaks == 0"],
        );
        for expected in [
            "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=completed RESULT=pass>",
            "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=gate.latency.max.at-most.5 RESULT=pass \
             MEASUREMENT=5 UNITS=us>",
            "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=gate.latency.max.below.4 RESULT=fail \
             MEASUREMENT=5 UNITS=us>",
            "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=gate.leaks.equal.0 RESULT=unknown>",
            "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=latency.mean RESULT=pass MEASUREMENT=3 UNITS=us>",
        ] {
            assert!(
                found.text.lines().any(|line| line == expected),
                "{}",
                found.text
            );
        }
        assert_eq!(found.missed.len(), 2, "{:?}", found.missed);
        assert_eq!(found.missed[0], "latency.max<4");
        assert!(
            found.missed[1].contains("cannot be judged"),
            "{:?}",
            found.missed
        );
    }

    #[test]
    fn a_line_is_what_a_reader_takes_whatever_the_names_are() {
        let mut hostile = document(&[1000]);
        hostile.series[0].name = "a> b\n\"c=d".to_owned();
        hostile.series[0].kind = Kind::Noise;
        let found = of(&hostile, &[]);
        assert!(found.text.contains("=a__b__c_d.max "), "{}", found.text);
        for line in found.text.lines() {
            let inner = line.strip_prefix("<LAVA_SIGNAL_TESTCASE ").unwrap();
            let inner = inner.strip_suffix('>').unwrap();
            assert!(!inner.contains(['<', '>', '"']), "{line}");
            let pairs = inner.split(' ').map(|pair| pair.split('=').count());
            assert!(pairs.into_iter().all(|count| count == 2), "{line}");
        }
    }

    #[test]
    fn figures_that_mean_nothing_are_not_said_and_what_ended_early_has_failed() {
        let mut emulated = document(&[1000]);
        emulated.ended_early = Some("signal 2".to_owned());
        emulated.audit.push(Warning {
            id: EMULATED_TIME.to_owned(),
            seen: String::new(),
            why: String::new(),
            fix: None,
        });
        let found = of(&emulated, &["latency.max<=5"]);
        let expected = "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=completed RESULT=fail>\n\
                        <LAVA_SIGNAL_TESTCASE TEST_CASE_ID=gate.latency.max.at-most.5 \
                        RESULT=unknown>\n";
        assert_eq!(found.text, expected);
    }
}
