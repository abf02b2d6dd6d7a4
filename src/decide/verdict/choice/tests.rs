// SPDX-License-Identifier: GPL-2.0-only
//! "No" and "unknown" are different answers, and each unknown one says what to measure.

use super::super::tests::{JOB, decide, document, latencies, load, of};
use super::super::{Next, Standing, Verdict, flips};
use super::*;
use artis_result::{Document, Machine};

/// The candidates by the names that say which way they are.
const NAMES: [&str; 6] = ["stock", "tuned", "shield", "artis", "rt", "artis-rt"];

/// A thousand latencies of 10 us and one of `max_us`, beside a load of which so much was done.
fn measured(name: &str, max_us: f64, work: f64) -> Candidate {
    of(name, run(max_us, work))
}

fn run(max_us: f64, work: f64) -> Document {
    let mut document = document(latencies(&[(10.0, 1000), (max_us, 1)]));
    document.load.push(load("cache", work));
    document
}

/// On so many CPUs, of which the load used so many.
fn busy(max_us: f64, cpus: &str, cpu_seconds: f64) -> Document {
    let mut document = run(max_us, 1.0);
    document.load[0].cpu_seconds = Some(cpu_seconds);
    let mut machine = Machine::of_kernel("6.12".to_owned());
    machine.cpus = cpus.to_owned();
    document.machine = Some(machine);
    document
}

fn late(names: &[&str]) -> Vec<Candidate> {
    let all = names.iter();
    all.map(|name| measured(name, 5000.0, 10.0)).collect()
}

#[track_caller]
fn is(verdict: &Verdict, choice: Choice, standing: Standing, because: Because) {
    let decided = &verdict.decided;
    assert_eq!(decided.choice, choice, "{decided:?}");
    assert_eq!(verdict.standing(), standing, "{decided:?}");
    assert_eq!(decided.because, because);
    // Who does not know says what to measure, and who knows does not.
    assert_eq!(
        verdict.next.is_some(),
        choice == Choice::Unknown,
        "{:?}",
        verdict.next
    );
}

#[test]
fn it_is_a_no_only_when_all_that_can_exist_was_measured() {
    let nearest = || Nearest::Misses("stock".to_owned());
    for count in 1..NAMES.len() {
        let because = Because::NoneIsGood(nearest(), Way::LINUX[count..].to_vec());
        let verdict = decide(JOB, late(&NAMES[..count]));
        is(&verdict, Choice::Unknown, Standing::Unknown, because);
        let next = match count {
            1..4 => Next::Here,
            _ => Next::Elsewhere { is_rt: true },
        };
        assert_eq!(verdict.next, Some(next), "{count}");
    }
    is(
        &decide(JOB, late(&NAMES)),
        Choice::NotOnThisMachine,
        Standing::Cannot,
        Because::NoneIsGood(nearest(), Vec::new()),
    );
}

/// 3 misses of 1000 where 2.5 are acceptable may be chance, and 300 of 1000 are none.
#[test]
fn what_chance_may_have_made_is_no_no() {
    let with = |misses| {
        let job = format!("{JOB}\n[miss]\nprobability = 2.5e-3");
        let late = document(latencies(&[(10.0, 1000 - misses), (5000.0, misses)]));
        decide(&job, vec![of("stock", late)])
    };
    let chance = with(3);
    assert!(matches!(chance.candidates[0].meets, Meets::NotShown { .. }));
    is(
        &chance,
        Choice::Unknown,
        Standing::Unknown,
        Because::NotShown("stock".to_owned(), None),
    );
    assert_eq!(with(300).candidates[0].meets, Meets::No);
}

#[test]
fn a_stock_that_is_not_shown_does_not_miss() {
    let job = format!("{JOB}\n[miss]\nprobability = 1e-3");
    let short = of("stock", document(latencies(&[(10.0, 100)])));
    let long = of("rt", document(latencies(&[(10.0, 10_000)])));
    is(
        &decide(&job, vec![short, long]),
        Choice::Take(Way::PreemptRt),
        Standing::Meets,
        Because::Meets,
    );
}

/// One CPU cannot be given away.
#[test]
fn on_one_cpu_there_are_two_ways() {
    let on_one = |name: &str| of(name, busy(5000.0, "0", 0.5));
    let nearest = |name: &str| Nearest::Misses(name.to_owned());
    is(
        &decide(JOB, vec![on_one("stock"), on_one("rt")]),
        Choice::NotOnThisMachine,
        Standing::Cannot,
        Because::NoneIsGood(nearest("stock"), Vec::new()),
    );
    is(
        &decide(JOB, vec![on_one("stock")]),
        Choice::Unknown,
        Standing::Unknown,
        Because::NoneIsGood(nearest("stock"), vec![Way::PreemptRt]),
    );
}

#[test]
fn work_that_is_longer_than_the_deadline_is_a_no_whatever_was_measured() {
    let job = "[activation]\ndeadline = \"10us\"\nwork = \"20us\"";
    is(
        &decide(job, Vec::new()),
        Choice::NotOnThisMachine,
        Standing::Cannot,
        Because::WorkTooLong(20.0),
    );
}

#[test]
fn without_a_file_it_says_what_to_type() {
    is(
        &decide(JOB, Vec::new()),
        Choice::Unknown,
        Standing::Unknown,
        Because::NothingMeasured,
    );
    let command = "[activation]\ndeadline = \"10us\"\nwork_command = [\"./step\"]";
    is(
        &decide(command, late(&NAMES)),
        Choice::Unknown,
        Standing::Unknown,
        Because::WorkNotMeasured,
    );
}

#[test]
fn one_that_is_too_costly_leaves_the_others_unknown() {
    let job = format!("{JOB}\n[rest]\nload = \"cache\"\nloss = \"20 %\"");
    let with = |names: &[&str]| {
        let all = names.iter().map(|name| match *name {
            "rt" => measured("rt", 20.0, 7.0),
            other => measured(other, 5000.0, 10.0),
        });
        decide(&job, all.collect())
    };
    let because =
        |ways: &[Way]| Because::NoneIsGood(Nearest::TooDear("rt".to_owned()), ways.to_vec());
    let open = [Way::Tuned, Way::Shield, Way::Artis, Way::ArtisOnPreemptRt];
    is(
        &with(&["stock", "rt"]),
        Choice::Unknown,
        Standing::Unknown,
        because(&open),
    );
    is(
        &with(&NAMES),
        Choice::NotOnThisMachine,
        Standing::Cannot,
        because(&[]),
    );
}

#[test]
fn a_price_that_nobody_measured_is_no_acceptable_one() {
    let mut unpaid = measured("rt", 20.0, 10.0);
    let job = format!("{JOB}\n[rest]\nload = \"cache\"\nloss = \"20 %\"");
    unpaid
        .configuration
        .whole
        .retain(|metric, _| metric.load().is_none());
    let all = || vec![measured("stock", 5000.0, 10.0), unpaid.clone()];
    is(
        &decide(&job, all()),
        Choice::Unknown,
        Standing::Unknown,
        Because::NoPrice("rt".to_owned()),
    );
    // Whoever gives up any amount need not know it.
    is(
        &decide(JOB, all()),
        Choice::Take(Way::PreemptRt),
        Standing::Meets,
        Because::Meets,
    );
}

#[test]
fn what_is_not_shown_says_how_long_to_measure() {
    let job = format!("{JOB}\n[miss]\nprobability = 1e-6");
    let verdict = decide(&job, vec![measured("stock", 20.0, 10.0)]);
    is(
        &verdict,
        Choice::Unknown,
        Standing::Unknown,
        Because::NotShown("stock".to_owned(), Some(2_995_731)),
    );
    // A period of 1 ms.
    let Some(Next::Longer(seconds)) = verdict.next else {
        panic!("{:?}", verdict.next);
    };
    assert!((seconds - 2995.731).abs() < 0.001, "{seconds}");
}

#[test]
fn a_virtual_machine_that_was_not_measured_is_unknown() {
    let job = format!("{JOB}\n[machine]\nvirtual = true");
    for rest in ["", "\n[miss]\nper_hour = 5"] {
        is(
            &decide(&format!("{job}{rest}"), late(&NAMES)),
            Choice::Unknown,
            Standing::Unknown,
            Because::NotInside,
        );
    }
}

#[test]
fn full_memory_is_a_no_for_hard_deadlines_only() {
    let job = format!("{JOB}\n[machine]\nmemory_needed = \"2GiB\"\nmemory = \"1GiB\"");
    let hard = decide(&job, late(&["stock"]));
    is(
        &hard,
        Choice::NotOnThisMachine,
        Standing::Cannot,
        Because::MemoryFull,
    );
    let soft = decide(&format!("{job}\n[miss]\nper_hour = 5"), late(&["stock"]));
    assert_eq!(soft.decided.choice, Choice::Unknown);
    // Only memory helps.
    assert_eq!(soft.next, None);
}

#[test]
fn rounds_that_were_not_measured_are_unknown() {
    let round = |name: &str, us: f64| Candidate {
        round_us: Some(us),
        ..measured(name, 20.0, 10.0)
    };
    let job = "[activation]\nbarrier = true";
    is(
        &decide(job, vec![round("stock", 100.0), measured("rt", 20.0, 9.0)]),
        Choice::Unknown,
        Standing::Unknown,
        Because::NoRounds,
    );
    is(
        &decide(job, vec![round("stock", 100.0), round("rt", 90.0)]),
        Choice::Take(Way::PreemptRt),
        Standing::Meets,
        Because::Rounds(90.0, 100.0),
    );
}

/// The more the peak takes, the less may be given up for real time.
#[test]
fn utilisation_changes_the_verdict() {
    let with = |utilisation: &str, loss: &str| {
        let all = vec![
            measured("stock", 5000.0, 10.0),
            measured("shield", 20.0, 5.0),
            measured("artis", 20.0, 9.0),
        ];
        let job = format!(
            "{JOB}\n[rest]\nload = \"cache\"\nloss = \"{loss}\"\n[machine]\nutilisation = \
             \"{utilisation}\""
        );
        decide(&job, all)
    };
    for (utilisation, loss, choice) in [
        // Both do all of the peak's work, and the shield changes less.
        ("40 %", "5 %", Choice::Take(Way::Shield)),
        ("80 %", "5 %", Choice::Take(Way::Artis)),
        // Neither does.
        ("100 %", "5 %", Choice::Unknown),
        ("100 %", "20 %", Choice::Take(Way::Artis)),
    ] {
        let verdict = with(utilisation, loss);
        assert_eq!(verdict.decided.choice, choice, "{utilisation} {loss}");
        let mut all = verdict.flips.iter();
        let flip = all.find(|flip| flip.what == flips::What::Utilisation);
        if loss == "5 %" {
            let flip = flip.unwrap_or_else(|| panic!("{:?}", verdict.flips));
            let beyond = flip.at + (flip.at - flip.now).signum() * 0.001;
            let beyond = with(&format!("{} %", beyond * 100.0), loss);
            assert_eq!(beyond.decided.choice, flip.then, "{flip:?}");
        }
    }
}

#[test]
fn what_was_measured_beside_less_than_the_peak_says_nothing_of_it() {
    let job = |utilisation: f64| format!("{JOB}\n[machine]\nutilisation = {utilisation}");
    let idle = |share| Because::TooIdle(TooIdle { wanted: 0.5, share });
    // The load had one of four CPUs.
    let quarter = || vec![of("stock", busy(20.0, "0-3", 1.0))];
    is(
        &decide(&job(0.2), quarter()),
        Choice::Take(Way::Stock),
        Standing::Meets,
        Because::Meets,
    );
    is(
        &decide(&job(0.5), quarter()),
        Choice::Unknown,
        Standing::Unknown,
        idle(Some(0.25)),
    );
    let without = || vec![of("stock", document(latencies(&[(10.0, 1000)])))];
    is(
        &decide(&job(0.5), without()),
        Choice::Unknown,
        Standing::Unknown,
        idle(Some(0.0)),
    );
    let mut foreign = document(latencies(&[(10.0, 1000)]));
    foreign.tool = "cyclictest".to_owned();
    is(
        &decide(&job(0.5), vec![of("stock", foreign)]),
        Choice::Unknown,
        Standing::Unknown,
        idle(None),
    );
}

#[test]
fn what_an_emulator_or_another_machine_shows_is_no_yes_here() {
    let rows: [(&str, &[f64]); 1] = [("stock", &[20.0])];
    let experiment = artis_testing::experiment::of_rows(&rows);
    let verdict = decide(JOB, Candidate::of_experiment(&experiment).unwrap());
    assert_eq!(verdict.decided.choice, Choice::Take(Way::Stock));
    assert_eq!(verdict.standing(), Standing::Unknown);
}

#[test]
fn missed_periods_are_missed_deadlines() {
    let with = |missed| {
        let mut document = run(2500.0, 10.0);
        document
            .setup
            .options
            .insert("interval_us".to_owned(), 1000.into());
        document.series[0].missed = Some(missed);
        vec![of("stock", document)]
    };
    let misses = |job: &str, missed| {
        let verdict = decide(job, with(missed));
        let misses = verdict.candidates[0].misses.clone().unwrap();
        (misses.misses, misses.activations)
    };
    // The one that came 2500 us late swallowed the next two periods.
    assert_eq!(misses(JOB, 2), (3, 1003));
    // These were 1500 and 500 us late.
    let long = "[activation]\ndeadline = \"1400us\"\nwork = \"10us\"";
    assert_eq!(misses(long, 2), (2, 1003));
    let longer = "[activation]\ndeadline = \"3ms\"\nwork = \"10us\"";
    assert_eq!(misses(longer, 2), (0, 1003));
}
