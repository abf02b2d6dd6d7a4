// SPDX-License-Identifier: GPL-2.0-only
//! Cases with their answers, and how little each would have to change for another.

use super::*;

/// A case and its second file.
pub(super) struct Case {
    /// `NAME.toml`; the second one is `NAME-flipped.toml`.
    pub(super) name: &'static str,
    pub(super) facts: &'static [&'static str],
    /// Other facts for the second one; empty: the same, and another job.
    pub(super) flipped_facts: &'static [&'static str],
    pub(super) choice: &'static str,
    /// Which number flips it, what the second file says, and the choice then.
    pub(super) flip: (&'static str, f64, &'static str),
    /// Part of the sentence that says why.
    pub(super) because: &'static str,
    /// What the paper's flow says.
    pub(super) flow: &'static str,
}

const PAPER: &[&str] = &["stock=paper-stock.json", "rt=paper-rt.json"];

const BOARD: &[&str] = &[
    "stock=board-stock.json",
    "tuned=board-tuned.json",
    "shield=board-shield.json",
    "artis=board-artis.json",
    "rt=board-rt.json",
    "artis-rt=board-artis-rt.json",
];

const VM: &[&str] = &["stock=vm-stock.json", "rt=vm-rt.json"];

pub(super) const CASES: [Case; 16] = [
    // The paper: "No benchmarking is needed to see that a workload requiring (say) 100
    // microseconds of processing with a 250-microsecond deadline will require real-time Linux".
    Case {
        name: "fuel-injection",
        facts: PAPER,
        flipped_facts: &[],
        choice: "preempt_rt",
        flip: ("deadline", 4000.0, "stock"),
        because: "rt meets the deadline, stock does not",
        flow: "real_time",
    },
    // "If the work unit is going to take three weeks to complete, then starting the work a few
    // milliseconds late is unlikely to matter much."
    Case {
        name: "three-weeks",
        facts: PAPER,
        flipped_facts: &[],
        choice: "stock",
        flip: ("deadline", 20.0 * 86_400e6, "not_on_this_machine"),
        because: "stock meets the deadline",
        flow: "real_fast",
    },
    // Section 2.2.
    Case {
        name: "kernel-build",
        facts: PAPER,
        flipped_facts: &["stock=paper-stock.json", "rt=paper-rt-fast.json"],
        choice: "stock",
        flip: ("throughput_kept", 1.05, "preempt_rt"),
        because: "only throughput counts, and rt keeps 85.6 %",
        flow: "real_fast",
    },
    // "One exception to this occurs in some scientific barrier-based computations".
    Case {
        name: "barrier",
        facts: &["stock=barrier-stock.json", "rt=barrier-rt.json"],
        flipped_facts: &["stock=barrier-stock.json", "rt=barrier-rt-noisy.json"],
        choice: "preempt_rt",
        flip: ("round", 1100.0, "stock"),
        because: "less OS jitter lets the work finish earlier",
        flow: "both",
    },
    // "If your workload oversubscribes memory, ... you cannot expect real-time response."
    Case {
        name: "memory",
        facts: PAPER,
        flipped_facts: &[],
        choice: "unknown",
        flip: ("memory_needed", 6.0 * 1_073_741_824.0, "preempt_rt"),
        because: "page faults come",
        flow: "real_fast",
    },
    // "If you use virtualization, you are unlikely to get real-time response".
    Case {
        name: "virtual",
        facts: PAPER,
        flipped_facts: &[],
        choice: "unknown",
        flip: ("virtual", 0.0, "preempt_rt"),
        because: "runs in a virtual machine, and none was measured",
        flow: "real_fast",
    },
    // "though this may be changing": measured inside.
    Case {
        name: "virtual-measured",
        facts: VM,
        flipped_facts: &[],
        choice: "preempt_rt",
        flip: ("deadline", 700.0, "unknown"),
        because: "rt meets the deadline",
        flow: "real_fast",
    },
    Case {
        name: "control-loop",
        facts: BOARD,
        flipped_facts: &[],
        choice: "artis",
        flip: ("deadline", 260.0, "artis_on_preempt_rt"),
        because: "it keeps 95.0 % of stock's throughput",
        flow: "real_time",
    },
    Case {
        name: "tune",
        facts: BOARD,
        flipped_facts: &[],
        choice: "tuned",
        flip: ("work", 1200.0, "artis"),
        because: "tuned meets the deadline, stock does not",
        flow: "real_time",
    },
    Case {
        name: "shield",
        facts: &[
            "stock=board-stock.json",
            "tuned=board-tuned.json",
            "shield=board-shield.json",
        ],
        flipped_facts: &[],
        choice: "shield",
        flip: ("loss", 0.3, "unknown"),
        because: "shield meets the deadline",
        flow: "real_time",
    },
    // What the peak takes is all that has to be kept: half of the machine's work, or most of it.
    Case {
        name: "peak",
        facts: BOARD,
        flipped_facts: &[],
        choice: "shield",
        flip: ("utilisation", 0.9, "artis"),
        because: "it keeps 52.0 % of stock's throughput, and the peak takes 50.0 %",
        flow: "real_time",
    },
    Case {
        name: "artis-on-rt",
        facts: BOARD,
        flipped_facts: &[],
        choice: "artis_on_preempt_rt",
        flip: ("work", 150.0, "artis"),
        because: "artis-rt meets the deadline",
        flow: "real_time",
    },
    Case {
        name: "nowhere",
        facts: BOARD,
        flipped_facts: &[],
        choice: "not_on_this_machine",
        flip: ("deadline", 250.0, "artis_on_preempt_rt"),
        because: "even on artis-rt, 100 of 1000000 activations miss",
        flow: "real_time",
    },
    Case {
        name: "probability",
        facts: PAPER,
        flipped_facts: &[],
        choice: "preempt_rt",
        flip: ("miss_probability", 1e-8, "unknown"),
        because: "rt meets the deadline",
        flow: "real_time",
    },
    Case {
        name: "acceptable",
        facts: PAPER,
        flipped_facts: &[],
        choice: "stock",
        flip: ("misses_per_hour", 10.0, "preempt_rt"),
        because: "stock meets the deadline",
        flow: "real_time",
    },
    // Work in the kernel takes longer on PREEMPT_RT (principle 5).
    Case {
        name: "long-system-calls",
        facts: PAPER,
        flipped_facts: &[],
        choice: "stock",
        flip: ("deadline", 22_500.0, "unknown"),
        because: "stock meets the deadline",
        flow: "real_time",
    },
];

/// `take` and the way, or the word.
pub(super) fn choice(of: &Value) -> String {
    let choice = &of["choice"];
    let way = choice["take"].as_str().or(choice.as_str());
    way.unwrap_or_else(|| panic!("{of}")).to_owned()
}

#[test]
fn every_case_has_its_answer_and_flips_where_it_says() {
    for case in CASES {
        let name = case.name;
        let job = format!("{name}.toml");
        let verdict = document(&[&[job.as_str()], case.facts].concat());
        let decided = &verdict["decided"];
        assert_eq!(choice(decided), case.choice, "{name}: {decided}");
        let because = decided["because"].as_str().unwrap();
        assert!(because.contains(case.because), "{name}: {because}");
        assert_eq!(verdict["flow_says"], case.flow, "{name}");
        assert_eq!(verdict["principles"].as_array().unwrap().len(), 6);

        let (what, number, then) = case.flip;
        let flips = verdict["flips"].as_array().unwrap();
        let said = flips.iter().find(|flip| {
            let beyond = match (flip["now"].as_f64(), flip["at"].as_f64()) {
                (Some(now), Some(at)) if at > now => number >= at,
                (_, Some(at)) => number <= at,
                _ => false,
            };
            let then_is = choice(&serde_json::json!({ "choice": flip["then"] })) == then;
            flip["what"]["of"] == what && beyond && then_is
        });
        assert!(said.is_some(), "{name}: {what} {number} in {flips:#?}");

        let flipped = format!("{name}-flipped.toml");
        let other = match case.flipped_facts {
            [] => document(&[&[flipped.as_str()], case.facts].concat()),
            facts => document(&[&[job.as_str()], facts].concat()),
        };
        assert_eq!(
            choice(&other["decided"]),
            then,
            "{name}: {}",
            other["decided"]
        );
    }
}

/// The option that puts a number in the job's place, and its word for it; none where no option
/// changes it.
fn option_for(what: &str, number: f64) -> Option<String> {
    Some(match what {
        "deadline" => format!("--deadline={number}us"),
        "work" => format!("--work={number}us"),
        "per_second" => format!("--period={}us", 1e6 / number),
        "misses_per_hour" => format!("--per-hour={number}"),
        "miss_probability" => format!("--probability={number}"),
        "loss" => format!("--loss={number}"),
        "utilisation" => format!("--utilisation={number}"),
        _ => return None,
    })
}

/// Flips of the job's numbers are flips: deciding with a number a little beyond gives the choice
/// that was said, and a little before the old one. Two cases of each number and direction.
#[test]
fn flips_are_exact() {
    let mut checked = std::collections::BTreeMap::new();
    for case in CASES {
        let job = format!("{}.toml", case.name);
        let words = [&[job.as_str()], case.facts].concat();
        let verdict = document(&words);
        for flip in verdict["flips"].as_array().unwrap() {
            let what = flip["what"]["of"].as_str().unwrap();
            let (now, at) = (flip["now"].as_f64().unwrap(), flip["at"].as_f64().unwrap());
            let outwards = (at - now).signum();
            let with = |beyond: f64| {
                let option = option_for(what, at * (1.0 + outwards * beyond))?;
                let words = [&[option.as_str()], words.as_slice()].concat();
                Some(choice(&document(&words)["decided"]))
            };
            let times: &mut u32 = checked.entry((what.to_owned(), at > now)).or_default();
            if *times == 2 {
                continue;
            }
            let Some((beyond, before)) = with(1e-5).zip(with(-1e-5)) else {
                continue;
            };
            let then = choice(&serde_json::json!({ "choice": flip["then"] }));
            assert_eq!(beyond, then, "{}: {flip}", case.name);
            assert_eq!(before, case.choice, "{}: {flip}", case.name);
            *times += 1;
        }
    }
    checked.retain(|_, times| *times > 0);
    let numbers: std::collections::BTreeSet<&str> =
        checked.keys().map(|(what, _)| what.as_str()).collect();
    let all = [
        "deadline",
        "loss",
        "miss_probability",
        "misses_per_hour",
        "per_second",
        "utilisation",
        "work",
    ];
    assert!(numbers.into_iter().eq(all), "{checked:?}");
}
