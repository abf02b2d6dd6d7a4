// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the decision in words.

use super::*;
use artis_decide::verdict::busy::Busy;
use artis_decide::verdict::{Candidate, Facts, Question, verdict};
use artis_result::{Distribution, Document, Kind, LoadDone, Series, Setup, Unit};
use artis_testing::experiment::of_rows;

const JOB: &str = "[activation]\ndeadline = \"100us\"\nwork = \"10us\"\nper_second = 100";

/// A thousand latencies of 10 us and one of `max_us`, beside a load that did so much.
fn of(name: &str, max_us: i64, work: f64) -> Candidate {
    let mut values = Distribution::new();
    values.record_n(10_000, 1000);
    values.record(max_us * 1000);
    let mut document = Document::new(Setup::default());
    let series = Series::new("latency", Kind::Latency, Unit::Nanoseconds, values);
    document.series.push(series);
    document.load.push(LoadDone {
        name: "cache".to_owned(),
        cpus: None,
        command: String::new(),
        work,
        unit: "rounds".to_owned(),
        seconds: 1.0,
        cpu_seconds: None,
    });
    Candidate::of_results(name, &[document]).unwrap()
}

fn decide(job: &str, candidates: Vec<Candidate>) -> Verdict {
    let question = Question::new(Job::parse(job).unwrap(), None).unwrap();
    verdict(&question, &Facts::new(candidates).unwrap()).unwrap()
}

fn job(more: &str) -> String {
    format!("{JOB}\n{more}")
}

fn costly() -> String {
    job("[rest]\nload = \"cache\"\nloss = \"20 %\"")
}

fn late(names: &[&str]) -> Vec<Candidate> {
    names.iter().map(|name| of(name, 5000, 10.0)).collect()
}

/// The second one is in time and does less.
fn dear() -> Vec<Candidate> {
    vec![of("stock", 5000, 10.0), of("rt", 20, 7.0)]
}

const HERE: Option<&str> = Some("sudo artis decide JOB.toml --measure");

/// The fact that decides, and what to type.
#[track_caller]
fn says(job: &str, candidates: Vec<Candidate>, words: &str, typed: Option<&str>) {
    let verdict = decide(job, candidates);
    assert_eq!(because(&verdict), words);
    assert_eq!(next(&verdict).as_deref(), typed);
}

#[test]
fn what_is_not_good_enough_is_named_with_its_misses() {
    says(
        JOB,
        late(&["stock"]),
        "stock does not meet the deadline: 1 of 1001 activations miss; tuned, shield, artis, \
         PREEMPT_RT and artis on PREEMPT_RT were not measured",
        HERE,
    );
    says(
        JOB,
        late(&["stock", "tuned", "shield", "artis"]),
        "none of what was measured meets the deadline: even on stock, 1 of 1001 activations miss; \
         PREEMPT_RT and artis on PREEMPT_RT were not measured, and a kernel with PREEMPT_RT has to \
         be booted for that",
        Some("sudo artis decide JOB.toml --measure --keep rt"),
    );
    says(
        &costly(),
        dear(),
        "rt meets the deadline and keeps only 70.0 % of the throughput; 80.0 % are wanted; tuned, \
         shield, artis and artis on PREEMPT_RT were not measured",
        HERE,
    );
    says(
        &job("[miss]\nprobability = 1e-6"),
        vec![of("stock", 20, 10.0)],
        "stock may be good enough, but no miss in 1001 activations (at most 3.0e-3 each, 95 %) \
         does not show it; 2995731 without a miss would show it",
        Some("sudo artis decide JOB.toml --measure -D 50m"),
    );
    says(
        &JOB.replace("10us", "200us"),
        Vec::new(),
        "the work alone takes 200 us and the deadline is 100 us",
        None,
    );
}

#[test]
fn what_is_good_enough_is_named_with_its_price() {
    says(
        JOB,
        dear(),
        "rt meets the deadline, stock does not: 1 of 1001 activations miss; it keeps 70.0 % of \
         stock's throughput",
        None,
    );
    let mut unpaid = of("rt", 20, 10.0);
    let whole = &mut unpaid.configuration.whole;
    whole.retain(|metric, _| metric.load().is_none());
    says(
        &costly(),
        vec![of("stock", 5000, 10.0), unpaid],
        "rt meets the deadline, and what it costs was not measured; 80.0 % of the throughput are \
         wanted",
        HERE,
    );
    let mut long = of("rt", 20, 10.0);
    if let Some(all) = &mut long.configuration.latencies {
        let more = all.clone();
        all.merge(&more);
    }
    says(
        &job("[miss]\nprobability = 2e-3"),
        vec![of("stock", 20, 10.0), long],
        "rt meets the deadline, and of stock it is not shown: no miss in 1001 activations (at most \
         3.0e-3 each, 95 %); it keeps 100.0 % of stock's throughput",
        None,
    );
    says(
        "[activation]",
        dear(),
        "there is no deadline, so only throughput counts, and rt keeps 70.0 %",
        None,
    );
}

#[test]
fn what_was_not_measured_is_named() {
    says(JOB, Vec::new(), "nothing was measured", HERE);
    let mut idle = of("stock", 20, 10.0);
    idle.busy = Busy::Share(0.0);
    says(
        &job("[machine]\nutilisation = 0.5"),
        vec![idle],
        "the job uses 50 % of the CPUs' time at its peak, and the loads used 0 % while this was \
         measured: how late it is at the peak is not known",
        HERE,
    );
    let round = |name: &str, us: f64| Candidate {
        round_us: Some(us),
        ..of(name, 20, 10.0)
    };
    let barrier = "[activation]\nbarrier = true";
    says(
        barrier,
        vec![round("stock", 100.0), of("rt", 20, 9.0)],
        "all threads wait for the slowest, and how long a round takes was not measured on two ways \
         to run the machine",
        Some("artis measure jitter -D 1m --json rt-jitter.json"),
    );
    says(
        barrier,
        vec![round("stock", 100.0), round("rt", 90.0)],
        "all threads wait for the slowest: a round takes 90 us on rt and 100 us on stock, so less \
         OS jitter lets the work finish earlier",
        None,
    );
}

#[test]
fn what_is_not_known_is_a_sentence() {
    let is_said = |verdict: &Verdict, part: &str| {
        let all = open::unknown(verdict);
        assert!(all.iter().any(|one| one.contains(part)), "{all:#?}");
    };
    let hard = decide(JOB, vec![of("stock", 20, 10.0)]);
    is_said(&hard, "whether stock never misses: no run shows that");
    is_said(&hard, "whether stock was measured on this machine");
    is_said(&hard, "artis were not measured; type: sudo artis decide");
    is_said(&hard, "boot a kernel with PREEMPT_RT, type there: ");
    let barrier = decide("[activation]\nbarrier = true", vec![of("stock", 20, 10.0)]);
    is_said(
        &barrier,
        "a barrier's round takes on stock: artis measure jitter",
    );
    let mut priced = [of("stock", 5000, 10.0), of("rt", 20, 9.0)];
    let job = job("[rest]\nload = \"cache\"");
    priced[1].configuration.runs.truncate(1);
    let once = decide(&job, priced.to_vec());
    is_said(
        &once,
        "stock and rt were measured once, and loads never do the same work twice",
    );
}

#[test]
fn every_line_fits_80_columns_and_says_what_is_emulated() {
    let rows: [(&str, &[f64]); 1] = [("stock-with-a-very-long-name-indeed", &[1e9, 2e9])];
    let candidates = Candidate::of_experiment(&of_rows(&rows)).unwrap();
    let facts = Facts::new(candidates).unwrap();
    let job = "[activation]\ndeadline = \"1ms\"\nwork = \"10us\"\nperiod = \"10ms\"";
    let question = Question::new(Job::parse(job).unwrap(), None).unwrap();
    let text = text(&verdict(&question, &facts).unwrap(), &[]);
    let long: Vec<&str> = text
        .lines()
        .filter(|line| line.chars().count() > WIDTH)
        .collect();
    assert!(long.is_empty(), "{long:?}");
    assert!(text.contains("the facts are an emulator's"), "{text}");
    assert!(text.contains("PREEMPT_RT were not measured"), "{text}");
}

#[test]
fn a_command_can_be_copied_from_several_lines() {
    let words = format!("sudo artis decide {}--measure", "--option value ".repeat(6));
    let text = command("type", &words);
    let lines: Vec<&str> = text.lines().collect();
    let (last, first) = lines.split_last().unwrap();
    assert!(
        first.len() == 1 && first.iter().all(|line| line.ends_with(" \\")),
        "{text}"
    );
    assert!(last.ends_with("--measure"), "{text}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= WIDTH),
        "{text}"
    );
}
