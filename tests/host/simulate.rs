// SPDX-License-Identifier: GPL-2.0-only
//! `artis simulate`: the same bytes, sweeps in parts, pictures, statuses, the experiment document.

use crate::admit::start_in;
use crate::schema::Published;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// RT0 on CPU 1, and others who compute, call the kernel and sleep.
const MIXED: &str = r#"
name = "mixed"
duration = "200ms"
[machine]
cpus = 2
rt = "1"
[[task]]
name = "rt0"
class = "rt0"
cpu = 1
forever = [{ compute = "300us" }, { every = "1ms" }]
[[task]]
name = "hog"
count = 2
forever = [{ compute = "10ms" }]
[[task]]
name = "caller"
forever = [{ compute = "1ms" }, { kernel = "200us" }]
[[task]]
name = "sleeper"
forever = [{ compute = "1ms" }, { sleep = "9ms" }]
"#;

/// What it says of these words, in that folder, with this standard input.
fn artis(folder: &Path, words: &[&str], input: &str) -> Output {
    let child = start_in(folder, "simulate", words, input);
    child.wait_with_output().unwrap()
}

fn mixed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mixed.toml"), MIXED).unwrap();
    folder
}

#[track_caller]
fn printed(folder: &Path, words: &[&str]) -> Vec<u8> {
    let output = artis(folder, words, "");
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn a_simulation_is_the_same_to_the_byte_and_shards_merge() {
    let folder = mixed();
    let sweep = [
        "mixed.toml",
        "--scheduler",
        "stock",
        "--scheduler",
        "artis",
        "--seeds",
        "2",
    ];
    let with = |more: &[&str]| printed(folder.path(), &[&sweep, more].concat());
    let whole = with(&[]);
    assert_eq!(whole, with(&[]));
    assert_eq!(whole.iter().filter(|byte| **byte == b'\n').count(), 4);
    for (name, shard) in [("a", "1/3"), ("b", "2/3"), ("c", "3/3")] {
        std::fs::write(folder.path().join(name), with(&["--shard", shard])).unwrap();
    }
    assert_eq!(printed(folder.path(), &["--merge", "c", "a", "b"]), whole);
    let output = artis(folder.path(), &["--merge", "a", "b"], "");
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("simulation 2 is in none of the files"),
        "{said}"
    );
}

#[test]
fn an_experiment_is_what_compare_reads() {
    let folder = mixed();
    let words = [
        "mixed.toml",
        "--experiment",
        "--scheduler",
        "stock",
        "--scheduler",
        "isolcpus",
        "--scheduler",
        "artis",
    ];
    let document = printed(folder.path(), &words);
    let value: Value = serde_json::from_slice(&document).unwrap();
    Published::new(include_str!("../../docs/experiment.schema.json")).assert_valid(&value);
    std::fs::write(folder.path().join("e.json"), document).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_artis"))
        .current_dir(folder.path())
        .args(["compare", "e.json"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("simulation") && text.contains("isolcpus"),
        "{text}"
    );
    let share = |row: usize| value["rows"][row]["rt_cpu_share_others"].as_f64().unwrap();
    assert!(
        share(1) == 0.0 && share(2) > 0.8,
        "{} {}",
        share(1),
        share(2)
    );
    assert_eq!(value["rows"][2]["leaks"], 0);
}

#[test]
fn who_looks_at_single_steps_sees_what_the_scheduler_decided() {
    let folder = mixed();
    let words = ["mixed.toml", "--interactive"];
    let output = artis(folder.path(), &words, "n\n\n3\nt 20\nwhat\nq\n");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for words in [
        "wakes up on CPU",
        "queue of Linux tasks",
        "its slice on CPU",
        "Enter: the next",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn pictures_show_each_cpu() {
    let folder = mixed();
    let words = [
        "mixed.toml",
        "--svg",
        "t.svg",
        "--perfetto",
        "t.trace",
        "--json",
    ];
    let document: Value = serde_json::from_slice(&printed(folder.path(), &words)).unwrap();
    assert_eq!(document["schema"], "artis.simulation/1");
    assert_eq!(document["is_complete"], true);
    let picture = std::fs::read_to_string(folder.path().join("t.svg")).unwrap();
    assert!(
        picture.contains("CPU 1 RT") && picture.contains("rt0"),
        "{picture}"
    );
    let trace = std::fs::read(folder.path().join("t.trace")).unwrap();
    assert!(trace.windows(9).any(|part| part == b"CPU 1, RT"));
}

#[test]
fn what_cannot_be_simulated_says_what_to_type() {
    let folder = mixed();
    let hog = "[[task]]\nname = \"hog\"\nforever = [{ compute = \"1ms\" }]\n";
    std::fs::write(folder.path().join("hog.toml"), hog).unwrap();
    for (words, sentence) in [
        (&["hog.toml"][..], "give --cpus 4"),
        (&["hog.toml", "--cpus", "2"], "give --duration"),
        (&["mixed.toml", "--cpus", "1"], "RT CPU 1 is no CPU"),
        (&["mixed.toml", "--shard", "3/2"], "such as 2/4"),
        (&["mixed.toml", "--rt", "0-1"], "all 2 CPUs are RT CPUs"),
        (&["mixed.toml", "hog.toml"], "--merge takes several"),
    ] {
        let output = artis(folder.path(), words, "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{words:?}: {said}");
        assert!(said.contains(sentence), "{words:?}: {said}");
    }
}
