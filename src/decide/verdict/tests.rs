// SPDX-License-Identifier: GPL-2.0-only
//! What the recorded cases do not reach: work of many lengths, candidates of which only the
//! maximum is known, laws of extremes, and units of work that differ.

use super::*;
use crate::extremes::Refusal;
use crate::extremes::random::Random;
use artis_result::{BlockMaxima, Distribution, Document, Kind, LoadDone, Series, Setup, Unit};

pub(super) fn latencies(us: &[(f64, u64)]) -> Distribution {
    let mut all = Distribution::new();
    for (us, count) in us {
        all.record_n((us * 1000.0) as i64, *count);
    }
    all
}

pub(super) fn load(name: &str, work: f64) -> LoadDone {
    LoadDone {
        name: name.to_owned(),
        cpus: None,
        command: String::new(),
        work,
        unit: "rounds".to_owned(),
        seconds: 1.0,
        cpu_seconds: None,
    }
}

pub(super) fn document(values: Distribution) -> Document {
    let mut document = Document::new(Setup::default());
    let series = Series::new("latency", Kind::Latency, Unit::Nanoseconds, values);
    document.series.push(series);
    document
}

pub(super) fn of(name: &str, document: Document) -> Candidate {
    Candidate::of_results(name, &[document]).unwrap()
}

pub(super) fn question(job: &str) -> Question {
    Question::new(Job::parse(job).unwrap(), None).unwrap()
}

pub(super) const JOB: &str =
    "[activation]\ndeadline = \"100us\"\nwork = \"10us\"\nper_second = 100";

pub(super) fn decide(job: &str, candidates: Vec<Candidate>) -> Verdict {
    verdict(&question(job), &Facts::new(candidates).unwrap()).unwrap()
}

#[test]
fn work_of_many_lengths_misses_as_often_as_both_together() {
    let stock = of("stock", document(latencies(&[(10.0, 500), (50.0, 500)])));
    // 30 us in one half, 70 us in the other: only 50 + 70 is too long.
    let times = latencies(&[(30.0, 10), (70.0, 10)]);
    let job = Job::parse("[activation]\ndeadline = \"100us\"\nwork_file = \"a.json\"").unwrap();
    let question = Question::new(job.clone(), Some(&times)).unwrap();
    let facts = Facts::new(vec![stock]).unwrap();
    let found = verdict(&question, &facts).unwrap();
    let misses = found.candidates[0].misses.as_ref().unwrap();
    assert_eq!((misses.misses, misses.activations), (250, 1000));
    let nothing = Distribution::summary(5, 1, 2.0, 3).unwrap();
    assert!(matches!(
        Question::new(job, Some(&nothing)),
        Err(Error::NoWork(_))
    ));
}

#[test]
fn where_only_the_maximum_is_known_a_miss_is_at_least_one() {
    let summary = |max| document(Distribution::summary(1000, 5000, 6000.0, max).unwrap());
    let fine = decide(JOB, vec![of("stock", summary(89_000))]);
    assert_eq!(fine.decided.choice, Choice::Take(Way::Stock));
    let late = decide(JOB, vec![of("stock", summary(91_000))]);
    let misses = late.candidates[0].misses.as_ref().unwrap();
    assert!(misses.at_least && misses.misses == 1);
    assert_eq!(late.candidates[0].meets, Meets::No);
    assert_eq!(late.decided.choice, Choice::Unknown);
}

#[test]
fn execution_times_under_load_stretch_the_work() {
    let mut stock = document(latencies(&[(10.0, 1000)]));
    for (name, values) in [
        ("execution_time_unloaded", latencies(&[(500.0, 10)])),
        ("execution_time", latencies(&[(500.0, 990), (5500.0, 10)])),
    ] {
        let kind = Kind::ExecutionTime;
        let series = Series::new(name, kind, Unit::Nanoseconds, values);
        stock.series.push(series);
    }
    // 10 us of work take 110 us in one of a hundred cases.
    let found = decide(JOB, vec![of("stock", stock)]);
    assert_eq!(found.candidates[0].misses.as_ref().unwrap().misses, 10);
}

/// Latencies of one law, a hundred a second, with their block maxima.
fn exponential(seconds: u64, trend: f64) -> Document {
    let mut random = Random(11);
    let mut maxima = BlockMaxima::new();
    let mut all = Distribution::new();
    for at in 0..seconds * 1000 {
        let part = at as f64 / (seconds * 1000) as f64;
        let ns = (10_000.0 - 2000.0 * random.uniform().ln()) * (1.0 + trend * part);
        all.record(ns as i64);
        maxima.record(ns as i64, at * 1_000_000);
    }
    let mut document = document(all);
    document.series[0].blocks = maxima.blocks();
    document
}

#[test]
fn a_probability_that_no_run_shows_is_extrapolated_or_refused() {
    let job = format!("{JOB}\n[miss]\nprobability = 2e-5");
    let steady = decide(&job, vec![of("stock", exponential(20, 0.0))]);
    assert_eq!(steady.decided.choice, Choice::Take(Way::Stock));
    let one = &steady.candidates[0];
    assert_eq!(one.meets, Meets::Extrapolated, "{one:?}");
    let misses = one.misses.as_ref().unwrap();
    // e^-40 would be right if nothing else could be. The exact bound of 20,000 activations says
    // less.
    let found = misses.extrapolation.as_ref().unwrap();
    let law = found.by_peaks.high;
    assert!(law < 1e-6 && law < found.probability.high, "{found:?}");
    assert!(
        found.probability.high < 2e-5 && misses.at_most > 1e-4,
        "{found:?}"
    );

    let drifting = decide(&job, vec![of("stock", exponential(20, 1.0))]);
    assert_eq!(drifting.decided.choice, Choice::Unknown);
    let misses = drifting.candidates[0].misses.as_ref().unwrap();
    assert!(
        matches!(misses.refusal, Some(Refusal::Trend { .. })),
        "{misses:?}"
    );
    assert!(
        matches!(drifting.decided.because, Because::NotShown(..)),
        "{:?}",
        drifting.decided
    );
}

/// A result of `artis measure completion`: so long a start, so slow a work.
fn completion(start_us: f64, slowdown: f64, steps: f64) -> Document {
    let mut document = document(latencies(&[(start_us, 1000)]));
    for length_us in [10_u32, 1000, 100_000] {
        let work_us = slowdown * f64::from(length_us);
        for (part, kind, us) in [
            ("start", Kind::Latency, start_us),
            ("work", Kind::ExecutionTime, work_us),
            ("completion", Kind::Duration, start_us + work_us),
        ] {
            let name = format!("{part}.user.{length_us}us");
            let values = latencies(&[(us, 100)]);
            let series = Series::new(&name, kind, Unit::Nanoseconds, values);
            document.series.push(series);
        }
    }
    let options = &mut document.setup.options;
    options.insert("steps_per_us".to_owned(), steps.into());
    document
}

#[test]
fn measured_curves_give_slowdown_and_break_even() {
    let stock = || of("stock", completion(1500.0, 1.0, 100.0));
    let job = "[activation]\ndeadline = \"50ms\"\nwork = \"10ms\"";
    let found = decide(job, vec![stock(), of("rt", completion(10.0, 1.2, 100.0))]);
    assert!((found.candidates[1].slowdown.factor - 1.2).abs() < 1e-3);
    let [even] = &found.break_even[..] else {
        panic!("{:?}", found.break_even);
    };
    // (1500 - 10) / 0.2 us.
    assert!(
        (even.crossing.length_us / 7450.0 - 1.0).abs() < 0.01,
        "{even:?}"
    );
    assert!(even.measured);
    let other = Facts::new(vec![stock(), of("rt", completion(10.0, 1.2, 90.0))]);
    let error = other.unwrap_err().to_string();
    assert!(error.contains("--like"), "{error}");
}

#[test]
fn a_price_that_is_too_high_rules_a_candidate_out() {
    let with = |name: &str, us, work| {
        let mut document = document(latencies(&[(us, 1000)]));
        document.load.push(load("cache", work));
        of(name, document)
    };
    let both = || vec![with("stock", 500.0, 10.0), with("rt", 20.0, 7.0)];
    let job = |loss: &str| format!("{JOB}\n[rest]\nload = \"cache\"\nloss = \"{loss}\"");
    // Nothing may be lost, too: a number of 0 can grow.
    for loss in ["20 %", "0 %"] {
        let dear = decide(&job(loss), both());
        assert_eq!(dear.decided.choice, Choice::Unknown);
        assert!(
            matches!(
                &dear.decided.because,
                Because::NoneIsGood(Nearest::TooDear(name), _) if name == "rt"
            ),
            "{:?}",
            dear.decided
        );
        let flip = dear
            .flips
            .iter()
            .find(|flip| flip.what == flips::What::Loss);
        let flip = flip.unwrap_or_else(|| panic!("{loss}: {:?}", dear.flips));
        assert!((flip.at - 0.3).abs() < 1e-5, "{loss}: {flip:?}");
        assert_eq!(flip.then, Choice::Take(Way::PreemptRt));
    }
    let acceptable = decide(&job("40 %"), both());
    assert_eq!(acceptable.decided.choice, Choice::Take(Way::PreemptRt));
}

/// Laws of extremes take part in the search: the flips hold of the decision that is shown.
#[test]
fn flips_of_what_is_extrapolated_hold() {
    let decided = |deadline: f64, probability: f64| {
        let job = format!(
            "[activation]\ndeadline = \"{deadline}us\"\nwork = \"10us\"\nper_second = 100\n\
             [miss]\nprobability = {probability:e}"
        );
        decide(&job, vec![of("stock", exponential(20, 0.0))])
    };
    let found = decided(100.0, 2e-5);
    assert_eq!(found.candidates[0].meets, Meets::Extrapolated);
    let flip = |what: flips::What| {
        let mut all = found.flips.iter();
        let flip = all.find(|flip| flip.what == what && !flip.is_above());
        flip.unwrap_or_else(|| panic!("{what:?}: {:?}", found.flips))
    };
    let deadline = flip(flips::What::Deadline);
    // Not where the run ends, but where the laws do.
    let worst_us = found.candidates[0].latency_us_max.unwrap();
    assert!(deadline.at > worst_us + 10.5, "{deadline:?}");
    assert_eq!(deadline.then, Choice::Unknown);
    assert_eq!(
        decided(deadline.at * 0.998, 2e-5).decided.choice,
        Choice::Unknown
    );
    assert_eq!(
        decided(deadline.at * 1.002, 2e-5).decided.choice,
        Choice::Take(Way::Stock)
    );
    let probability = flip(flips::What::MissProbability);
    assert_eq!(
        decided(100.0, probability.at * 0.999).decided.choice,
        Choice::Unknown
    );
    assert_eq!(
        decided(100.0, probability.at * 1.001).decided.choice,
        Choice::Take(Way::Stock)
    );
}

#[test]
fn what_is_not_known_is_said() {
    let of_result = |name: &str| of(name, document(latencies(&[(10.0, 1000)])));
    let is_said = |verdict: &Verdict, one: fn(String) -> Unknown| {
        let one = one("stock".to_owned());
        assert!(verdict.unknown.contains(&one), "{:#?}", verdict.unknown);
    };
    let hard = decide(JOB, vec![of_result("stock")]);
    is_said(&hard, Unknown::NeverMisses);
    is_said(&hard, Unknown::Here);
    let barrier = decide("[activation]\nbarrier = true", vec![of_result("stock")]);
    is_said(&barrier, Unknown::Round);
}

#[test]
fn work_that_was_measured_is_not_held_against_emulated_facts() {
    let rows: [(&str, &[f64]); 1] = [("stock", &[100.0])];
    let experiment = artis_testing::experiment::of_rows(&rows);
    let facts = Facts::new(Candidate::of_experiment(&experiment).unwrap()).unwrap();
    let job = Job::parse("[activation]\ndeadline = \"1ms\"\nwork_file = \"a.json\"").unwrap();
    let question = Question::new(job, Some(&latencies(&[(30.0, 10)]))).unwrap();
    let error = verdict(&question, &facts).unwrap_err().to_string();
    assert!(error.contains("a.json"), "{error}");
    assert!(verdict(&self::question(JOB), &facts).is_ok());
}

#[test]
fn several_files_of_a_name_are_all_held_against_it() {
    let with = |preemption: &str, name: Option<&str>| {
        let mut document = document(latencies(&[(10.0, 1000)]));
        let mut machine = artis_result::Machine::of_kernel("6.12".to_owned());
        machine.preemption = preemption.to_owned();
        document.machine = Some(machine);
        document.load.extend(name.map(|name| load(name, 1.0)));
        document
    };
    let refused = |documents: &[Document], part: &str| {
        let error = Candidate::of_results("stock", documents).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    let lazy = with("lazy", Some("cache"));
    refused(
        &[lazy.clone(), with("PREEMPT_RT", Some("cache"))],
        "preemption",
    );
    refused(&[lazy.clone(), with("lazy", None)], "another had none");
    assert!(Candidate::of_results("stock", &[lazy.clone(), lazy]).is_ok());
}

#[test]
fn the_other_work_may_be_a_command_whose_time_counts() {
    let of_command = |words: &str, seconds: f64| {
        let mut document = Document::new(Setup::default());
        let values = latencies(&[(seconds * 1e6, 5)]);
        let series = Series::new("real", Kind::Duration, Unit::Nanoseconds, values);
        document.series.push(series);
        document
            .setup
            .options
            .insert("workload".to_owned(), words.into());
        document
    };
    let with = |name: &str, us, words: &str, seconds| {
        let files = [
            document(latencies(&[(us, 1000)])),
            of_command(words, seconds),
        ];
        Candidate::of_results(name, &files).unwrap()
    };
    let both = |words: &str| {
        Facts::new(vec![
            with("stock", 500.0, words, 10.0),
            with("rt", 20.0, "make -j8", 12.5),
        ])
    };
    let job = |loss: &str, command: &str| {
        question(&format!(
            "{JOB}\n[rest]\ncommand = {command}\nloss = \"{loss}\""
        ))
    };
    let make = "[\"make\", \"-j8\"]";
    let facts = both("make -j8").unwrap();
    let dear = verdict(&job("10 %", make), &facts).unwrap();
    assert_eq!(dear.decided.choice, Choice::Unknown);
    let kept = dear.candidates[1].throughput_kept.unwrap();
    assert!((kept - 0.8).abs() < 0.01, "{kept}");
    let acceptable = verdict(&job("25 %", make), &facts).unwrap();
    assert_eq!(acceptable.decided.choice, Choice::Take(Way::PreemptRt));
    let once = Unknown::Prices(["stock", "rt"].map(str::to_owned).to_vec());
    let is_unsure = |verdict: &Verdict| verdict.unknown.contains(&once);
    assert!(is_unsure(&acceptable), "{:#?}", acceptable.unknown);
    assert_eq!(acceptable.candidates[1].throughput_interval, None);
    let twice = |name: &str, us, seconds: [f64; 2]| {
        let runs = seconds.map(|seconds| of_command("make -j8", seconds));
        let files = [&[document(latencies(&[(us, 1000)]))][..], &runs].concat();
        Candidate::of_results(name, &files).unwrap()
    };
    let facts_of_two = Facts::new(vec![
        twice("stock", 500.0, [9.9, 10.1]),
        twice("rt", 20.0, [12.4, 12.6]),
    ]);
    let surer = verdict(&job("25 %", make), &facts_of_two.unwrap()).unwrap();
    assert!(!is_unsure(&surer), "{:#?}", surer.unknown);
    let interval = surer.candidates[1].throughput_interval.unwrap();
    assert!(0.7 < interval.low && interval.low < 0.8, "{interval:?}");
    assert!(0.8 < interval.high && interval.high < 0.9, "{interval:?}");
    let error = verdict(&job("25 %", "[\"ninja\"]"), &facts).unwrap_err();
    assert!(error.to_string().contains("times of make -j8"), "{error}");
    let error = both("make -j2").unwrap_err().to_string();
    assert!(error.contains("stock ran make -j2"), "{error}");
}
