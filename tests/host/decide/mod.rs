// SPDX-License-Identifier: GPL-2.0-only
//! `artis decide` on recorded cases: the answer, the fact that decides, and a second file in which
//! one number is changed, so that the verdict flips where the first one said.
//!
//! With `ARTIS_WRITE_TRANSCRIPTS=1` the files of facts and the transcript are written again.

mod facts;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/decide")
}

fn artis(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_artis"))
        .current_dir(folder())
        .arg("decide")
        .args(words)
        .output()
        .unwrap()
}

#[track_caller]
fn document(words: &[&str]) -> Value {
    let output = artis(&[words, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "", "{words:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(status(&document)), "{words:?}");
    document
}

/// How it ends: what scripts go by.
fn status(document: &Value) -> i32 {
    let decided = &document["decided"];
    let mut candidates = document["candidates"].as_array().unwrap().iter();
    let chosen = candidates.find(|one| one["name"] == decided["candidate"]);
    match choice(decided).as_str() {
        "not_on_this_machine" => 2,
        "unknown" => 3,
        _ if chosen.is_some_and(|one| one["origin"] != "measured") => 3,
        _ => 0,
    }
}

#[test]
fn the_facts_are_those_that_are_described() {
    for facts in facts::ALL {
        let path = folder().join(facts.file);
        let document = facts.document();
        if std::env::var_os("ARTIS_WRITE_TRANSCRIPTS").is_some() {
            let text = serde_json::to_string_pretty(&document).unwrap() + "\n";
            std::fs::write(&path, text).unwrap();
        }
        let found = artis::result::file::read(&path).unwrap();
        assert_eq!(found, document, "{}", facts.file);
    }
}

/// The documents of all cases and of their second files.
pub fn all_documents() -> Vec<Value> {
    let of = |case: &Case| {
        let first = format!("{}.toml", case.name);
        let second = format!("{}-flipped.toml", case.name);
        let second_facts = match case.flipped_facts.is_empty() {
            true => (second.clone(), case.facts),
            false => (first.clone(), case.flipped_facts),
        };
        [(first, case.facts), second_facts]
            .map(|(job, facts)| document(&[&[job.as_str()], facts].concat()))
    };
    CASES.iter().flat_map(of).collect()
}

/// A case and its second file.
struct Case {
    /// `NAME.toml`; the second one is `NAME-flipped.toml`.
    name: &'static str,
    facts: &'static [&'static str],
    /// Other facts for the second one; empty: the same, and another job.
    flipped_facts: &'static [&'static str],
    choice: &'static str,
    /// Which number flips it, what the second file says, and the choice then.
    flip: (&'static str, f64, &'static str),
    /// Part of the sentence that says why.
    because: &'static str,
    /// What the paper's flow says.
    flow: &'static str,
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

const CASES: [Case; 16] = [
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
fn choice(of: &Value) -> String {
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

#[test]
fn what_does_not_belong_together_is_refused_with_a_sentence() {
    let refused = |words: &[&str], part: &str| {
        let output = artis(words);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{words:?}");
        assert!(errors.contains(part), "{words:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    };
    let table = "../../../docs/results/table1.json";
    refused(
        &[
            "fuel-injection.toml",
            "stock=paper-stock.json",
            "rt=board-rt.json",
        ],
        "different loads: stock had kernel-build, rt had hackbench",
    );
    refused(
        &["tune.toml", "stock=board-stock.json", "rt=vm-rt.json"],
        "different machines (virtualisation): stock has none, rt has KVM",
    );
    refused(
        &[
            "tune.toml",
            "stock=board-stock.json",
            &format!("lab={table}"),
        ],
        "these cannot be compared",
    );
    refused(
        &["tune.toml", "stock=board-rt.json"],
        "stock is called stock, and its file was measured on a kernel whose preemption is",
    );
    refused(
        &["tune.toml", "stock=board-stock.json", "stock=board-rt.json"],
        "files of stock differ in preemption: voluntary and PREEMPT_RT",
    );
    refused(
        &["tune.toml", "stock=board-stock.json", "stock=vm-stock.json"],
        "files of stock differ in virtualisation: none and KVM",
    );
    refused(
        &[
            "tune.toml",
            "stock=board-stock.json",
            "stock=paper-stock.json",
        ],
        "different loads: a run of stock had hackbench, another had kernel-build",
    );
    refused(
        &["tune.toml", "monday=board-rt.json"],
        "name it stock, tuned, shield",
    );
    refused(
        &["tune.toml", "stock=paper-stock.json"],
        "the job's other work is hackbench, and the files were measured with kernel-build",
    );
    refused(
        &["wrong-unit.toml"],
        "wrong-unit.toml: line 4: deadline: write a time with its unit",
    );
    refused(
        &["wrong-field.toml"],
        "wrong-field.toml: line 3: dead_line is no key here; write deadline",
    );
    refused(&["wrong-work.toml"], "no work is given");
    refused(&["no-such.toml"], "no-such.toml");
    refused(&["tune.toml", "shield.toml"], "a verdict is for one job");
    refused(&["--deadline", "250us"], "no work is given");
}

#[test]
fn co_kernels_and_emulated_facts_are_marked() {
    let files = [
        ("xenomai", "xenomai.txt"),
        ("evl", "latmus.plot"),
        ("rtai", "rtai.txt"),
    ];
    for (name, file) in files {
        let file = format!("{name}=../result/{file}");
        let words = ["control-loop.toml", "stock=board-stock.json", &file];
        let verdict = document(&words);
        let elsewhere = &verdict["candidates"][1];
        assert_eq!(elsewhere["way"], "co_kernel");
        assert_eq!(elsewhere["origin"], "elsewhere");
        assert!(elsewhere["latency_us_max"].is_number(), "{elsewhere}");
        // What it costs beside the load of the job is not in such a file.
        assert_eq!(choice(&verdict["decided"]), "unknown");
        let words = [
            "--deadline=500us",
            "--work=200us",
            "stock=board-stock.json",
            &file,
        ];
        let verdict = document(&words);
        assert_eq!(choice(&verdict["decided"]), "co_kernel");
        let because = verdict["decided"]["because"].as_str().unwrap();
        assert!(because.contains("measured elsewhere"), "{because}");
        let text = String::from_utf8(artis(&words).stdout).unwrap();
        assert!(
            text.contains(&format!("{name}: measured elsewhere")),
            "{text}"
        );
    }
    let verdict = document(&[
        "--deadline=1ms",
        "--work=100us",
        "../../../docs/results/table1.json",
    ]);
    let candidates = verdict["candidates"].as_array().unwrap();
    assert!(candidates.iter().all(|one| one["origin"] == "emulated"));
    assert!(verdict["unit"].as_str().unwrap().contains("emulated"));
}

/// Without facts the flow and the principles still answer, and what to type is said.
#[test]
fn without_facts_it_says_what_to_measure() {
    let verdict = document(&["fuel-injection.toml"]);
    assert_eq!(choice(&verdict["decided"]), "unknown");
    assert_eq!(verdict["decided"]["because"], "nothing was measured");
    assert_eq!(
        verdict["next"],
        "sudo artis decide fuel-injection.toml --measure"
    );
    let unknown = verdict["unknown"].as_array().unwrap();
    assert_eq!(unknown.len(), 2, "{unknown:#?}");
    assert_eq!(
        choice(&document(&["kernel-build.toml"])["decided"]),
        "stock"
    );
    let nothing = artis(&[]);
    assert_eq!(nothing.status.code(), Some(64));
    let words = ["--deadline=250us", "--work=100us", "--period=1ms"];
    let text = String::from_utf8(artis(&words).stdout).unwrap();
    let typed = text.lines().skip_while(|line| !line.starts_with("type"));
    let typed: Vec<&str> = typed.take(2).map(str::trim).collect();
    assert_eq!(
        typed,
        [
            "type      sudo artis decide --deadline=250us --work=100us --period=1ms \\",
            "--measure"
        ]
    );
}

/// Files of stock and of rt that differ in one thing besides the kernel: it stands beside the
/// verdict, or they are refused.
#[test]
fn what_is_not_alike_is_named_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, place: &str, value: Option<Value>| {
        let text = std::fs::read(self::folder().join(name)).unwrap();
        let mut document: Value = serde_json::from_slice(&text).unwrap();
        let (parent, key) = place.rsplit_once('/').unwrap();
        let parent = document
            .pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap();
        match value {
            Some(value) => parent.insert(key.to_owned(), value),
            None => parent.remove(key),
        };
        std::fs::write(folder.path().join(name), document.to_string()).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    let options = |priority: u32, interval_us: u32| {
        Some(serde_json::json!({ "priority": priority, "interval_us": interval_us }))
    };
    let text = |value: &str| Some(Value::from(value));
    for (place, stock, rt, said) in [
        (
            "/setup/options",
            options(98, 1000),
            options(98, 10_000),
            "interval: 1000 us in stock, 10000 us in rt",
        ),
        (
            "/setup/options",
            options(80, 1000),
            options(98, 1000),
            "policy: FIFO 80 in stock, FIFO 98 in rt",
        ),
        (
            "/machine/cmdline",
            text("quiet"),
            text("quiet isolcpus=1"),
            "boot arguments: none of these in stock, isolcpus=1 in rt",
        ),
        (
            "/machine/kernel",
            text("6.12.0"),
            text("6.18.0-rt"),
            "kernel: 6.12.0 in stock, 6.18.0 in rt",
        ),
        (
            "/machine/cpu_model",
            text("a CPU"),
            None,
            "rt does not say its CPU model",
        ),
    ] {
        let files = [
            format!("stock={}", write("board-stock.json", place, stock)),
            format!("rt={}", write("board-rt.json", place, rt)),
        ];
        let verdict = document(&["tune.toml", &files[0], &files[1]]);
        assert_eq!(verdict["unlike"], serde_json::json!([said]));
        let printed = String::from_utf8(artis(&["tune.toml", &files[0], &files[1]]).stdout);
        let printed = printed.unwrap().replace("\n          ", " ");
        assert!(
            printed.contains(&format!("\nunlike    {said}\n")),
            "{printed}"
        );
    }
    for (place, stock, rt, said) in [
        (
            "/setup/options",
            options(0, 1000),
            options(98, 1000),
            "different policies: stock was measured as normal, rt as FIFO 98",
        ),
        (
            "/load/0/cpus",
            None,
            text("0"),
            "different loads: stock had hackbench, rt had hackbench on CPU 0",
        ),
        (
            "/machine/cpu_model",
            text("a CPU"),
            text("another"),
            "different machines (CPU model)",
        ),
        (
            "/series/0/unit",
            text("ns"),
            text("count"),
            "latency is in the unit count, which is no time",
        ),
    ] {
        let files = [
            format!("stock={}", write("board-stock.json", place, stock)),
            format!("rt={}", write("board-rt.json", place, rt)),
        ];
        let output = artis(&["tune.toml", &files[0], &files[1]]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(said), "{said}: {errors}");
    }
}
