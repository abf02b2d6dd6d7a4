// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure throughput`, and `--load` beside a measurement.

use super::{measure, said, series};
use crate::common;
use serde_json::Value;
use std::process::{Command, Stdio};

/// Runs a measurement that must succeed, and gives its document.
#[track_caller]
fn document(words: &[&str]) -> Value {
    let words = [&["throughput", "--json", "-"], words].concat();
    let output = measure(&words).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

const QUANTITIES: [&str; 5] = [
    "real",
    "user",
    "sys",
    "voluntary_switches",
    "involuntary_switches",
];

#[test]
fn a_command_is_run_once_more_than_it_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    let script = format!("echo noise; echo run >> {}; sleep 0.01", file.display());
    let document = document(&["--runs", "3", "--", "sh", "-c", &script]);
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 4);
    for name in QUANTITIES {
        assert_eq!(series(&document, name)[0]["count"], 3, "{name}");
    }
    assert!(series(&document, "real")[0]["min"].as_i64().unwrap() >= 10_000_000);
    // The shell waits for sleep.
    assert!(
        series(&document, "voluntary_switches")[0]["min"]
            .as_i64()
            .unwrap()
            >= 1
    );
}

/// The same, bound to one CPU: on two of a virtual machine a message takes 20 times as long.
fn on_one_cpu(command: &Command) -> Command {
    let mut bound = Command::new("taskset");
    bound.args(["--cpu-list", "0"]).arg(command.get_program());
    bound.args(command.get_args());
    bound
}

#[test]
fn the_built_in_workloads_run() {
    for (workload, tools) in [
        ("compute", &[][..]),
        ("pingpong", &[]),
        ("hackbench-processes", &["hackbench"]),
        ("build", &["cc", "make"]),
    ] {
        if let Some(tool) = tools.iter().find(|tool| which::which(tool).is_err()) {
            common::skipped(workload, &format!("{tool} is not installed"));
            continue;
        }
        let mut command = measure(&["throughput", "--runs", "1", "--workload", workload]);
        if workload == "pingpong" {
            command = on_one_cpu(&command);
        }
        let output = command.output().unwrap();
        let table = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{table}");
        for row in ["real s", "run 1", "mean", "std. dev."] {
            assert!(table.contains(row), "{table}");
        }
    }
}

#[test]
fn ten_permutations_give_fifty_series() {
    as_root_if_possible!("ten_permutations_give_fifty_series");
    let output = measure(&["throughput", "--permutations", "--runs", "1", "--json", "-"])
        .args(["--", "true"])
        .output()
        .unwrap();
    let words = said(&output);
    if !output.status.success() && (words.contains("SCHED_FIFO") || words.contains("only CPU")) {
        return common::skipped("ten_permutations", words.trim());
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["series"].as_array().unwrap().len(), 50, "{words}");
    assert_eq!(series(&document, "real_fifo_cpus1_x2")[0]["count"], 1);
}

#[test]
fn without_the_right_fifo_is_refused_with_the_reason() {
    as_root_if_possible!("without_the_right_fifo_is_refused_with_the_reason");
    let refused = measure(&["throughput", "--permutations", "--", "true"]);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.args(["--bounding-set=-all", "--inh-caps=-all"]);
    command.arg(refused.get_program()).args(refused.get_args());
    let reason =
        "needs root, setpriv, two CPUs, a program that nobody may run, and no RLIMIT_RTPRIO";
    let Ok(output) = command.output() else {
        return common::skipped("without_the_right_fifo_is_refused", reason);
    };
    let words = said(&output);
    if !words.starts_with("artis: ") || words.contains("only CPU") {
        return common::skipped("without_the_right_fifo_is_refused", reason);
    }
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("RLIMIT_RTPRIO"), "{words}");
}

#[test]
fn a_run_that_fails_is_an_error_with_its_status_and_words() {
    let words = ["throughput", "--", "sh", "-c", "echo no luck >&2; exit 3"];
    let output = measure(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let words = said(&output);
    assert!(
        words.contains("exit status: 3") && words.contains("no luck"),
        "{words}"
    );
    assert!(output.stdout.is_empty());
    let output = measure(&["throughput", "--", "no-such-command"])
        .output()
        .unwrap();
    assert!(said(&output).contains("no-such-command: could not be started"));
}

#[test]
fn ctrl_c_keeps_the_runs_that_are_complete() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    // From its third run on, it does not end.
    let script = format!(
        "echo >> {0}; [ $(wc -l < {0}) -lt 3 ] || sleep 600",
        file.display()
    );
    let artis = measure(&["throughput", "--json", "-", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while std::fs::read_to_string(&file)
        .unwrap_or_default()
        .lines()
        .count()
        < 3
    {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = nix::unistd::Pid::from_raw(artis.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = artis.wait_with_output().unwrap();
    assert!(output.status.success());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["ended_early"], "signal 2");
    assert_eq!(series(&document, "real")[0]["count"], 1);
}

#[test]
fn a_load_beside_a_measurement_is_in_its_result() {
    let words = [
        "--runs",
        "1",
        "--load",
        "locks,fork",
        "--load-cpus",
        "0",
        "--",
        "sleep",
        "1",
    ];
    let document = document(&words);
    let load = document["load"].as_array().unwrap();
    assert_eq!(load.len(), 2);
    let done = ["locks taken", "children forked and reaped"];
    for ((load, name), unit) in load.iter().zip(["locks", "fork"]).zip(done) {
        assert_eq!((&load["name"], &load["cpus"]), (&name.into(), &"0".into()));
        assert_eq!(load["unit"], unit);
        assert!(load["work"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(document["setup"]["options"]["load"], "locks,fork");
}
