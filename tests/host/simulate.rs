// SPDX-License-Identifier: GPL-2.0-only
//! `artis simulate`: the same bytes, sweeps in parts, pictures, statuses, the experiment document.

use crate::admit::start_in;
use crate::schema::{Published, simulation};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

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
    for line in whole
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        simulation::published().assert_valid(&serde_json::from_slice(line).unwrap());
    }
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
fn shards_of_other_sweeps_are_refused() {
    let folder = mixed();
    let sweep = ["mixed.toml", "--seeds", "2", "--shard"];
    for (name, more) in [("a", &["1/2"][..]), ("b", &["2/2", "--costs", "none"])] {
        let line = printed(folder.path(), &[&sweep, more].concat());
        std::fs::write(folder.path().join(name), line).unwrap();
    }
    let output = artis(folder.path(), &["--merge", "a", "b"], "");
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no parts of one whole"), "{said}");
}

/// The files of a folder, with what changes when one is written again.
fn files(folder: &Path) -> BTreeMap<PathBuf, (u64, i64)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let whole = entries.filter(|entry| entry.path().extension().is_some_and(|it| it == "json"));
    let file = |entry: std::fs::DirEntry| {
        let there = entry.metadata().unwrap();
        (entry.path(), (there.ino(), there.mtime_nsec()))
    };
    whole.map(file).collect()
}

/// The processes that this one has started.
fn children(id: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    let text = text.unwrap_or_default();
    text.split_whitespace()
        .map(|id| id.parse().unwrap())
        .collect()
}

/// Waits for what comes in the end, or says that it does not.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Begins this sweep, and kills it when so many more simulations are kept; false: it has ended.
fn killed_after(folder: &Path, words: &[&str], more: usize) -> bool {
    let kept = || files(&folder.join("kept")).len();
    let before = kept();
    let mut child = Command::new(env!("CARGO_BIN_EXE_artis"))
        .current_dir(folder)
        .arg("simulate")
        .args(words)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut has_ended = false;
    wait_until("enough kept", || {
        has_ended = child.try_wait().unwrap().is_some();
        has_ended || kept() >= before + more
    });
    let parts = children(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the end of its parts", || {
        let is_over = |id: &u32| {
            let words = std::fs::read(format!("/proc/{id}/cmdline"));
            words.map_or(true, |words| words.is_empty())
        };
        parts.iter().all(is_over)
    });
    !has_ended
}

#[test]
fn what_kill_9_leaves_is_not_simulated_again_and_the_bytes_are_the_same() {
    let folder = mixed();
    let path = folder.path();
    let sweep = [
        "mixed.toml",
        "--seeds",
        "12",
        "--scheduler",
        "stock",
        "--scheduler",
        "artis",
    ];
    let whole = printed(path, &sweep);
    let kept = [&sweep[..], &["--keep", "kept"]].concat();
    let mut kills = 0;
    let mut before = files(&path.join("kept"));
    // With one process, and with a process for each part.
    while killed_after(
        path,
        &[&kept[..], &["--jobs", ["1", "2"][kills % 2]]].concat(),
        1 + kills,
    ) {
        let now = files(&path.join("kept"));
        assert!(
            before
                .iter()
                .all(|(path, file)| now.get(path) == Some(file))
        );
        (before, kills) = (now, kills + 1);
    }
    assert!(kills >= 1, "it ended before it was killed");
    assert_eq!(printed(path, &kept), whole);
    assert_eq!(files(&path.join("kept")).len(), 24);
    assert_eq!(
        printed(path, &[&kept[..], &["--shard", "1/1"]].concat()),
        whole
    );
    let all = files(&path.join("kept"));
    assert!(
        before
            .iter()
            .all(|(path, file)| all.get(path) == Some(file))
    );

    // The experiment of these simulations is made of what is there, and is the same.
    let experiment = |more: &[&str]| printed(path, &[&sweep[..], &["--experiment"], more].concat());
    assert_eq!(experiment(&["--keep", "kept"]), experiment(&[]));
    assert_eq!(files(&path.join("kept")), all);

    // Files that were cut off, as by a power cut, are made again.
    let (cut, gone) = (all.keys().next().unwrap(), all.keys().next_back().unwrap());
    std::fs::write(cut, &std::fs::read(cut).unwrap()[..100]).unwrap();
    std::fs::remove_file(gone).unwrap();
    assert_eq!(printed(path, &kept), whole);
    assert_eq!(files(&path.join("kept")).len(), 24);
}

#[test]
fn a_part_that_is_killed_is_an_error() {
    let folder = mixed();
    let words = [
        "mixed.toml",
        "--seeds",
        "2000",
        "--jobs",
        "2",
        "--keep",
        "kept",
    ];
    let child = start_in(folder.path(), "simulate", &words, "");
    wait_until("both parts", || children(child.id()).len() == 2);
    let part = Pid::from_raw(children(child.id())[1].cast_signed());
    kill(part, Signal::SIGKILL).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("ended by signal: 9") && said.contains("--keep"),
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
    simulation::published().assert_valid(&document);
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
        (
            &["mixed.toml", "--keep", "hog.toml"],
            "cannot keep simulations in hog.toml",
        ),
        (&["mixed.toml", "--rt", "0-1"], "all 2 CPUs are RT CPUs"),
        (&["mixed.toml", "hog.toml"], "--merge takes several"),
    ] {
        let output = artis(folder.path(), words, "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{words:?}: {said}");
        assert!(said.contains(sentence), "{words:?}: {said}");
    }
}
