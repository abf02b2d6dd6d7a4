// SPDX-License-Identifier: GPL-2.0-only
//! What is held, missed and not judged; and that a worse run never passes where a better one
//! did not.

use super::*;
use crate::compare::tests::compared;
use crate::compare::{compare, figures};
use artis_result::{Distribution, Document, Kind, Series, Setup, Unit};
use proptest::prelude::*;

const INTERVAL_US: u64 = 1000;

fn gate(text: &str) -> Gate {
    text.parse().unwrap()
}

/// A run of `measure latency`.
#[derive(Clone, Debug)]
struct Run {
    us: Vec<u64>,
    missed: u64,
    seconds: f64,
}

impl Run {
    /// So many values of 10 us and one of `max_us`, of 20 s.
    fn of(count: usize, max_us: u64, missed: u64) -> Self {
        let mut us = vec![10; count - 1];
        us.push(max_us);
        let seconds = 20.0;
        Self {
            us,
            missed,
            seconds,
        }
    }

    fn document(&self) -> Document {
        let mut values = Distribution::new();
        for us in &self.us {
            values.record_n((us * 1000) as i64, 1);
        }
        let mut document = Document::new(Setup::default());
        let options = &mut document.setup.options;
        options.insert("interval_us".to_owned(), INTERVAL_US.into());
        document.seconds = Some(self.seconds);
        document.series.push(Series {
            missed: Some(self.missed),
            ..Series::new("latency", Kind::Latency, Unit::Nanoseconds, values)
        });
        document
    }
}

/// What becomes of the gate for `b`.
#[track_caller]
fn outcome(text: &str, a: &Run, b: &Run) -> Outcome {
    let of = |name: &str, run: &Run| figures::of_results(name, &[run.document()]).unwrap();
    let all = compare(vec![of("a", a), of("b", b)], "us".to_owned(), None, false).unwrap();
    let verdict = gate(text).check(&all).unwrap();
    let [check] = &verdict.checks[..] else {
        panic!("{verdict:?}")
    };
    check.outcome.clone()
}

fn is_open(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::NotJudged(_))
}

#[test]
fn gates_are_held_and_missed() {
    let all = compared(
        &[
            ("stock", &[900.0]),
            ("shield", &[100.0]),
            ("artis", &[115.0]),
        ],
        false,
    );
    let held = |text: &str| {
        let verdict = gate(text).check(&all).unwrap();
        let checks = verdict.checks.iter();
        let checks: Vec<(&str, bool)> = checks
            .map(|one| (one.configuration.as_str(), one.outcome == Outcome::Held))
            .collect();
        format!("{checks:?}")
    };
    assert_eq!(
        held("latency.max<=1.2*shield"),
        r#"[("stock", false), ("artis", true)]"#
    );
    assert_eq!(held("artis:latency.max<shield"), r#"[("artis", false)]"#);
    assert_eq!(held("artis:latency.max==115"), r#"[("artis", true)]"#);
    assert_eq!(
        held("latency.max>100"),
        r#"[("stock", true), ("shield", false), ("artis", true)]"#
    );
}

#[test]
fn words_that_do_not_fit_are_errors() {
    let all = compared(&[("stock", &[900.0]), ("artis", &[115.0])], false);
    for (text, part) in [
        ("latency.max<=1.2*isolcpus", "there are stock, artis"),
        ("rt:latency.max<=5", "no configuration \"rt\""),
    ] {
        let complaint = gate(text).check(&all).unwrap_err().to_string();
        assert!(complaint.contains(part), "{text}: {complaint}");
    }
    let alone = compared(&[("stock", &[900.0])], false);
    let complaint = gate("latency.max<=stock").check(&alone);
    assert!(matches!(complaint, Err(Unfit::Nobody(_))));
}

#[test]
fn what_was_not_measured_is_not_judged() {
    let all = compared(&[("stock", &[900.0]), ("artis", &[115.0])], false);
    let verdict = gate("leaks==0").check(&all).unwrap();
    assert!(verdict.checks.iter().all(|one| is_open(&one.outcome)));
    let reference = gate("artis:leaks<=stock").check(&all).unwrap();
    assert!(reference.bound.is_none() && !reference.held());
}

/// Two runs of 20 s, of which the worse one missed more periods: equally long, so it is judged.
#[test]
fn runs_of_equal_duration_are_alike_whatever_they_missed() {
    let a = Run::of(19_947, 5000, 53);
    for (count, max_us, missed, expected) in [
        (19_692, 5900, 308, Outcome::Held),
        (19_692, 6100, 308, Outcome::Missed),
        // Half of all periods.
        (10_000, 5900, 10_000, Outcome::Held),
        (10_000, 60_000, 10_000, Outcome::Missed),
    ] {
        let b = Run::of(count, max_us, missed);
        assert_eq!(outcome("latency.max<=1.2*a", &a, &b), expected, "{missed}");
    }
    // Equally long, and fewer values for another reason: sleeps that begin when the last one ended.
    let slow = Run::of(15_000, 5000, 0);
    assert_eq!(outcome("latency.max<=a", &a, &slow), Outcome::Held);
}

#[test]
fn missed_periods_are_long_latencies() {
    let a = Run::of(10_000, 1500, 0);
    let missing = Run::of(9_000, 1500, 1000);
    // A tenth is late by 1000 us at least, and by 1500 at most.
    for (text, expected) in [
        ("latency.mean<=a", Outcome::Missed),
        ("latency.mean<=112", Outcome::NotJudged(String::new())),
        ("latency.mean<=200", Outcome::Held),
        ("b:latency.p99<=900", Outcome::Missed),
        ("b:latency.p99<=1600", Outcome::Held),
        ("b:latency.p99<=1200", Outcome::NotJudged(String::new())),
        ("b:latency.p50<=11", Outcome::Held),
        ("latency.max<=a", Outcome::Held),
    ] {
        let text = match text.starts_with("b:") || text.ends_with('a') {
            true => text.to_owned(),
            false => format!("b:{text}"),
        };
        let found = outcome(&text, &a, &missing);
        match expected {
            Outcome::NotJudged(_) => assert!(is_open(&found), "{text}: {found:?}"),
            expected => assert_eq!(found, expected, "{text}"),
        }
    }
}

/// No value is as late as a period, and periods are missing: nobody knows how late they were.
#[test]
fn periods_that_no_latency_explains_may_be_anything() {
    let a = Run::of(1000, 100, 0);
    let b = Run::of(990, 50, 10);
    assert_eq!(outcome("latency.max<=a", &a, &b), Outcome::Missed);
    let open = outcome("b:latency.max<=5000", &a, &b);
    assert!(is_open(&open), "{open:?}");
}

#[test]
fn more_or_fewer_samples_are_judged_where_they_speak_against_the_result() {
    let run = |count, max_us, seconds| Run {
        seconds,
        ..Run::of(count, max_us, 0)
    };
    let a = run(1000, 100, 1.0);
    for (text, b, expected) in [
        // The worst of more is no longer.
        ("latency.max<=a", run(5000, 90, 5.0), Some(Outcome::Held)),
        ("latency.max<=a", run(5000, 110, 5.0), None),
        ("latency.max<=a", run(200, 110, 0.2), Some(Outcome::Missed)),
        ("latency.max<=a", run(200, 90, 0.2), None),
        ("latency.max>=a", run(200, 110, 0.2), Some(Outcome::Held)),
        ("latency.max>=a", run(5000, 110, 5.0), None),
        ("latency.min>=a", run(5000, 90, 5.0), Some(Outcome::Held)),
        ("latency.min<=a", run(5000, 90, 5.0), None),
        ("latency.max==a", run(5000, 100, 5.0), None),
        // A mean does not grow with the sample.
        ("latency.mean<=2*a", run(5000, 90, 5.0), Some(Outcome::Held)),
    ] {
        let found = outcome(text, &a, &b);
        match expected {
            Some(expected) => assert_eq!(found, expected, "{text} {}", b.us.len()),
            None => assert!(is_open(&found), "{text} {}: {found:?}", b.us.len()),
        }
    }
}

fn runs() -> impl Strategy<Value = Run> {
    let us = prop_oneof![4 => 1..200_u64, 1 => 200..20_000_u64];
    (prop::collection::vec(us, 50..150), 0..40_u64, 1..4_u32).prop_map(|(us, missed, seconds)| {
        Run {
            us,
            missed,
            seconds: seconds.into(),
        }
    })
}

/// The same or worse: longer latencies, more missed periods, values that became missed periods.
fn worse(run: &Run, longer: &[u64], more: u64, lost: usize) -> Run {
    let mut us: Vec<u64> = run
        .us
        .iter()
        .zip(longer.iter().cycle())
        .map(|(us, by)| us + by)
        .collect();
    // A thread that missed a period was late by one.
    let lost = lost.min(us.len() - 1);
    us.sort_unstable();
    let late = INTERVAL_US * (lost as u64 + 1);
    us.drain(..lost);
    if lost > 0
        && let Some(last) = us.last_mut()
    {
        *last = (*last).max(late);
    }
    Run {
        us,
        missed: run.missed + more + lost as u64,
        seconds: run.seconds,
    }
}

fn texts() -> impl Strategy<Value = String> {
    let stats = prop::sample::select(vec!["max", "mean", "p50", "p90"]);
    let operators = prop::sample::select(vec!["<=", "<"]);
    (stats, operators, 0.5..3.0_f64)
        .prop_map(|(stat, operator, factor)| format!("latency.{stat}{operator}{factor}*a"))
}

proptest! {
    #[test]
    fn a_worse_run_never_holds_a_gate_that_a_better_one_missed(
        text in texts(),
        a in runs(),
        b in runs(),
        longer in prop::collection::vec(0..3000_u64, 1..20),
        more in 0..50_u64,
        lost in 0..20_usize,
    ) {
        let worse = worse(&b, &longer, more, lost);
        let (better, worse) = (outcome(&text, &a, &b), outcome(&text, &a, &worse));
        if better == Outcome::Missed {
            prop_assert!(worse != Outcome::Held, "{text}: {better:?} {worse:?}");
        }
    }

    /// Of two runs, at most one is worse than the other.
    #[test]
    fn two_runs_do_not_both_miss_against_each_other(
        text in texts(),
        a in runs(),
        b in runs(),
    ) {
        let (one, factor) = text.split_once('<').unwrap();
        let factor: f64 = factor.trim_start_matches('=').trim_end_matches("*a").parse().unwrap();
        let text = format!("{one}<={}*a", factor.max(1.0));
        let both = [outcome(&text, &a, &b), outcome(&text, &b, &a)];
        prop_assert!(both != [Outcome::Missed, Outcome::Missed], "{text}");
        prop_assert_eq!(outcome(&text, &a, &b) == Outcome::Held, {
            // Naming the other one first changes nothing.
            let of = |name: &str, run: &Run| figures::of_results(name, &[run.document()]).unwrap();
            let all = compare(vec![of("b", &b), of("a", &a)], "us".to_owned(), None, false);
            gate(&text).check(&all.unwrap()).unwrap().held()
        });
    }
}
