// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure latency`.

use super::{document, measure, said, series};
use crate::common::skipped;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn cyclictests_letters_mean_what_they_mean_there() {
    as_root_if_possible!("cyclictests_letters_mean_what_they_mean_there");
    let words = "latency -p 80 -i 500 -d 100 -a 0 -t 2 -m -q -D 0.3 --latency 5";
    let words: Vec<&str> = words.split(' ').collect();
    let Some(document) = document("cyclictests_letters", &words, 0) else {
        return;
    };
    assert_eq!(document["schema"], "artis.result/1");
    let options = &document["setup"]["options"];
    for (name, value) in [
        ("priority", 80),
        ("interval_us", 500),
        ("distance_us", 100),
        ("threads", 2),
        ("dma_latency_us", 5),
    ] {
        assert_eq!(options[name], value, "{name}");
    }
    let latency = series(&document, "latency");
    assert_eq!(latency.len(), 2);
    for (index, thread) in latency.iter().enumerate() {
        assert_eq!(thread["cpu"], 0);
        assert_eq!(thread["thread"], index);
        let count = thread["count"].as_u64().unwrap();
        // A busy machine misses periods, and says so.
        let periods = count + thread["missed"].as_u64().unwrap();
        assert!(count > 0 && periods >= 400, "{thread}");
        assert!(thread["max_at_s"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn the_kernels_part_and_the_tasks_part_make_the_whole() {
    as_root_if_possible!("the_kernels_part_and_the_tasks_part_make_the_whole");
    let words = ["latency", "--split", "-a", "0", "-l", "300"];
    let output = measure(&words).args(["--json", "-"]).output().unwrap();
    if output.status.code() == Some(1) {
        return skipped("the_kernels_part", said(&output).trim());
    }
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let (whole, handler, task) = (
        series(&document, "latency"),
        series(&document, "due_to_handler"),
        series(&document, "handler_to_task"),
    );
    // A wakeup whose timer expired on another CPU has no known parts.
    let parts = handler[0]["count"].as_u64().unwrap();
    assert!(parts >= 200, "{parts} of 300 wakeups were split");
    if parts == 300 {
        let mean = |series: &serde_json::Value| series["mean"].as_f64().unwrap();
        let sum = mean(handler[0]) + mean(task[0]);
        assert!((sum - mean(whole[0])).abs() < 1.0, "{document:#}");
    }
}

#[test]
fn a_passed_threshold_ends_with_its_own_status_and_is_told() {
    as_root_if_possible!("a_passed_threshold_ends_with_its_own_status_and_is_told");
    let words = ["latency", "-D", "60", "--on-threshold", "0"];
    let Some(document) = document("a_passed_threshold", &words, 2) else {
        return;
    };
    let why = document["ended_early"].as_str().unwrap();
    assert!(why.contains("above the threshold"), "{why}");
    assert!(document["seconds"].as_f64().unwrap() < 60.0);
}

#[test]
fn an_interrupt_keeps_every_sample() {
    let child = measure(&["latency", "-p", "0", "-i", "1000000000", "-t", "1"])
        .args(["--json", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Signals are caught before the measuring thread is made.
    let threads = format!("/proc/{}/task", child.id());
    while std::fs::read_dir(&threads).unwrap().count() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["ended_early"], "signal 2");
    assert_eq!(series(&document, "latency").len(), 1);
}

#[test]
fn an_unwritable_result_is_found_before_the_measurement() {
    let words = [
        "latency",
        "-p",
        "0",
        "-D",
        "1000",
        "--json",
        "/no/such/folder/x",
    ];
    let output = measure(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("/no/such/folder/x"));
}

#[test]
fn a_missing_source_says_what_to_load() {
    let words = [
        "latency",
        "--source",
        "rtc",
        "--rtc",
        "/dev/no-such-rtc",
        "-p",
        "0",
        "-l",
        "5",
    ];
    let output = measure(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("modprobe"), "{}", said(&output));
}
