// SPDX-License-Identifier: GPL-2.0-only
//! `artis scenario`: statuses, places of what is wrong, what is shown, runs and Ctrl-C.

use crate::admit::start;
use serde_json::Value;
use std::process::Output;
use std::time::{Duration, Instant};

const HOG: &str = "[[task]]\nname = \"artis-test-hog\"\nforever = [{ compute = \"1ms\" }]\n";

/// What it says of these words, with this standard input.
fn artis(words: &[&str], input: &str) -> Output {
    start("scenario", words, input).wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_wrong_file_has_its_place_and_what_is_allowed() {
    for (input, status, words) in [
        (
            "{ \"tasks\" : { \"a\" : { \"run\" : 5 } } }",
            0,
            "-: rt-app, 1 task",
        ),
        ("# one\n{ loop = 5 }", 0, "-: lb-micro, 1 task; 1 note"),
        (HOG, 0, "-: toml, 1 task"),
        (
            "{ \"tasks\" :\n { \"a\" : 5 } }",
            64,
            "-: line 2, column 10: a: 5 does not fit",
        ),
        (
            "[[task]]\nrun = 5\n",
            64,
            "-: line 2, column 7: run: 5 does not fit; write a list",
        ),
        (
            "{ lop = 5 }",
            64,
            "line 1, column 3: \"lop\" is no key here; write cpu_mask",
        ),
    ] {
        let output = artis(&["check", "-"], input);
        assert_eq!(output.status.code(), Some(status), "{input}\n{output:?}");
        let said = text(&output.stdout).to_owned() + text(&output.stderr);
        assert!(said.contains(words), "{input}: {said}");
    }
}

#[test]
fn what_was_understood_is_shown_and_a_document() {
    let output = artis(&["show", "lab/scenario/paper.lb"], "");
    let shown = text(&output.stdout);
    assert!(shown.contains("16 tasks of 16 programs"), "{shown}");
    assert!(
        shown.contains("27500 times\n    compute 17.2 ms\n    sleep 1 ms"),
        "{shown}"
    );
    let output = artis(
        &["show", "lab/scenario/twelve-real-time.toml", "--json"],
        "",
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "artis.scenario/1");
    assert_eq!(document["scenario"]["tasks"].as_array().unwrap().len(), 13);
}

#[test]
fn a_run_says_what_each_task_did() {
    let input = "[[task]]\nname = \"a\"\nrun = [{ loop = 3, steps = [{ compute = \"1ms\" }, \
                 { every = \"2ms\" }] }]\n";
    let output = artis(&["run", "-", "--json"], input);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "artis.scenario-run/1");
    assert_eq!(
        (&document["ended"], &document["tasks"][0]["name"]),
        (&"all".into(), &"a".into())
    );
    assert_eq!(document["tasks"][0]["activations"], 3);
    let late = "[[task]]\nrun = [{ busy = \"3ms\" }, { every = \"1ms\" }]\n";
    let output = artis(&["run", "-", "--deadlines"], late);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = artis(
        &["run", "-"],
        "[[task]]\ncpu = 8191\nrun = [{ sleep = \"1ms\" }]\n",
    );
    assert_eq!(output.status.code(), Some(64), "{output:?}");
}

#[test]
fn ctrl_c_ends_all_tasks_and_prints_what_there_is() {
    let child = start("scenario", &["run", "-"], HOG);
    let pid = i32::try_from(child.id()).unwrap();
    let limit = Instant::now() + Duration::from_secs(60);
    while hogs() == 0 {
        assert!(Instant::now() < limit, "no task started in a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        text(&output.stdout).contains("it was interrupted"),
        "{output:?}"
    );
    assert_eq!(hogs(), 0);
}

/// Processes that are a fake task of this test.
fn hogs() -> usize {
    let names = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = std::fs::read_to_string(entry.ok()?.path().join("comm"));
        name.ok().filter(|name| name.trim() == "artis-test-hog")
    });
    names.count()
}
