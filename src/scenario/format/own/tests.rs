// SPDX-License-Identifier: GPL-2.0-only
//! What our own files mean, and what is said of those that mean nothing.

use super::super::{Format, NoteKind, read};
use crate::model::*;

fn error(text: &str) -> String {
    read(text, Some(Format::Toml), "it")
        .unwrap_err()
        .to_string()
}

#[test]
fn everything_is_understood() {
    let reading = read(include_str!("../examples/all.toml"), None, "it").unwrap();
    let Scenario {
        machine,
        tasks,
        objects,
        end,
        ..
    } = &reading.scenario;
    assert_eq!(reading.format, Format::Toml);
    assert_eq!(
        (machine.cpus, machine.rt_cpus.to_string().as_str()),
        (Some(4), "1-3")
    );
    assert_eq!(
        (end.duration_ns, end.with_foreground),
        (Some(2_000_000_000), true)
    );
    let classes: Vec<&str> = tasks
        .iter()
        .map(|task| task.class(machine).name())
        .collect();
    assert_eq!(
        classes,
        ["RT0", "RT1+", "Linux", "unbound", "unbound", "Linux"]
    );
    assert_eq!(tasks[0].deadline_ns, Some(800_000));
    assert_eq!(tasks[1].policy, Policy::Ext { nice: -16 });
    assert_eq!(
        (tasks[2].count, tasks[2].group, tasks[2].start_ns),
        (2, Some(0), 5_000_000)
    );
    assert_eq!(objects.arrivals.len(), 3);
    assert_eq!(objects.groups[0].quota.unwrap().quota_ns, 20_000_000);
    let doubts = reading
        .notes
        .iter()
        .filter(|note| note.kind == NoteKind::Doubt);
    let doubts: Vec<&str> = doubts.map(|note| note.text.as_str()).collect();
    assert_eq!(
        doubts,
        [
            "task parent waits for a signal that nobody sends",
            "task child waits for a signal that nobody sends"
        ]
    );
}

fn task(keys: &str) -> String {
    format!("[[task]]\n{keys}\n")
}

fn step(step: &str) -> String {
    task(&format!("run = [{step}]"))
}

/// Each text has its error at this place, and these words are in it.
#[track_caller]
fn each(cases: &[(&str, &str, &str)], written: impl Fn(&str) -> String) {
    for (text, place, words) in cases {
        let error = error(&written(text));
        let fits = error.starts_with(place) && error.contains(words);
        assert!(fits, "{text}: {error}");
    }
}

#[test]
fn a_wrong_file_has_its_place_and_a_remedy() {
    let cases = [
        ("", "line 1, column 1", "there is no task"),
        ("name = 5", "line 1, column 8", "a name in quotes"),
        ("[machine\n", "line 1", "this is not TOML"),
        ("\nnames = 1", "line 2, column 1", "write name, seed"),
        (
            "[mutex.m]\nceiling = 5\nprotocol = \"none\"",
            "line 1, column 8",
            "a ceiling goes",
        ),
        (
            "[group.\"../x\"]\n",
            "line 1, column 8",
            "no name of a group",
        ),
    ];
    each(&cases, str::to_owned);
}

#[test]
fn a_wrong_task_has_its_place_and_a_remedy() {
    let cases = [
        (
            "class = \"rt0\"\nrun = [\"yield\"]",
            "line 1, column 1",
            "write cpu = 1",
        ),
        ("class = \"hard\"\nrun = []", "line 3", "write one step"),
        (
            "class = \"hard\"\nrun = [\"yield\"]",
            "line 2, column 9",
            "\"rt0\" or",
        ),
        (
            "priority = 4\nrun = [\"yield\"]",
            "line 2, column 12",
            "does not go with",
        ),
        (
            "policy = \"fifo\"\nrun = [\"yield\"]",
            "line 1",
            "priority is missing",
        ),
        ("count = 5", "line 1", "needs run"),
        (
            "run = [\"yield\"]\nforever = [\"yield\"]",
            "line 1",
            "no step that takes time",
        ),
    ];
    each(&cases, task);
}

#[test]
fn a_wrong_step_has_its_place_and_a_remedy() {
    let cases = [
        (
            "{ comput = \"1ms\" }",
            "line 2, column 10",
            "is no step; write compute",
        ),
        ("{ compute = 5 }", "line 2, column 20", "with its unit"),
        (
            "{ compute = \"1ms\", bytes = 5 }",
            "line 2, column 27",
            "write compute",
        ),
        ("{ arrival = \"x\" }", "line 2, column 20", "[arrivals.x]"),
        (
            "{ fork = \"x\" }",
            "line 2, column 17",
            "name of a [[task]]",
        ),
        (
            "{ sleep = \"25h\" }",
            "line 2, column 18",
            "at most one day",
        ),
        (
            "{ memory = \"1TiB\", buffer = \"2GiB\" }",
            "line 2",
            "at most 1073741824",
        ),
    ];
    each(&cases, step);
}

#[test]
fn sizes_are_bounded() {
    let nested = |depth: usize| {
        let begin = "{ loop = 2, steps = [".repeat(depth);
        let end = "] }".repeat(depth);
        format!("[[task]]\nrun = [{begin}\"yield\"{end}]\n")
    };
    assert!(read(&nested(DEPTH_MAX), None, "it").is_ok());
    assert!(error(&nested(DEPTH_MAX + 1)).contains("more than 8 loops"));
    // Whoever says no first, the parser or we.
    error(&nested(2000));
    let many = "[[task]]\ncount = 600000\nrun = [\"yield\"]\n".repeat(2);
    let many = many.replacen("count", "name = \"a\"\ncount", 1);
    assert!(error(&many).contains("1200000 tasks start"));
    let long = format!("#{}", "x".repeat(5 << 20));
    assert!(error(&long).contains("at most 4194304 bytes"));
}
