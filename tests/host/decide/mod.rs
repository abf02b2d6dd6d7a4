// SPDX-License-Identifier: GPL-2.0-only
//! `artis decide` on recorded cases: the answer, the fact that decides, and a second file in which
//! one number is changed, so that the verdict flips where the first one said.
//!
//! With `ARTIS_WRITE_TRANSCRIPTS=1` the files of facts and the transcript are written again.

mod cases;
mod facts;

use cases::{CASES, Case, choice};
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
/// Copies of the board's files with these values at a place; none: without it.
fn changed(folder: &Path, place: &str, values: [Option<Value>; 2]) -> [String; 2] {
    let mut values = values.into_iter();
    ["stock", "rt"].map(|name| {
        let file = format!("board-{name}.json");
        let text = std::fs::read(self::folder().join(&file)).unwrap();
        let mut document: Value = serde_json::from_slice(&text).unwrap();
        let (parent, key) = place.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap();
        let parent = parent.as_object_mut().unwrap();
        match values.next().unwrap() {
            Some(value) => parent.insert(key.to_owned(), value),
            None => parent.remove(key),
        };
        std::fs::write(folder.join(&file), document.to_string()).unwrap();
        format!("{name}={}", folder.join(file).display())
    })
}

fn options(priority: u32, interval_us: u32) -> Option<Value> {
    Some(serde_json::json!({ "priority": priority, "interval_us": interval_us }))
}

fn text(value: &str) -> Option<Value> {
    Some(Value::from(value))
}

#[test]
fn what_is_not_alike_is_named() {
    let folder = tempfile::tempdir().unwrap();
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
        let files = changed(folder.path(), place, [stock, rt]);
        let verdict = document(&["tune.toml", &files[0], &files[1]]);
        assert_eq!(verdict["unlike"], serde_json::json!([said]));
        let printed = String::from_utf8(artis(&["tune.toml", &files[0], &files[1]]).stdout);
        let printed = printed.unwrap().replace("\n          ", " ");
        assert!(
            printed.contains(&format!("\nunlike    {said}\n")),
            "{printed}"
        );
    }
}

#[test]
fn what_may_not_differ_is_refused() {
    let folder = tempfile::tempdir().unwrap();
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
        let files = changed(folder.path(), place, [stock, rt]);
        let output = artis(&["tune.toml", &files[0], &files[1]]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(said), "{said}: {errors}");
    }
}
