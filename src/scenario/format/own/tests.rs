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

#[test]
fn what_is_wrong_has_its_place_and_a_remedy() {
    let task = |keys: &str| format!("[[task]]\n{keys}\n");
    let step = |step: &str| task(&format!("run = [{step}]"));
    for (text, place, words) in [
        ("".to_owned(), "line 1, column 1", "there is no task"),
        (
            "name = 5".to_owned(),
            "line 1, column 8",
            "write a name in quotes",
        ),
        ("[machine\n".to_owned(), "line 1", "this is not TOML"),
        (
            "\nnames = 1".to_owned(),
            "line 2, column 1",
            "write name, seed",
        ),
        (
            task("class = \"rt0\"\nrun = [\"yield\"]"),
            "line 1, column 1",
            "write cpu = 1",
        ),
        (
            task("class = \"hard\"\nrun = []"),
            "line 3",
            "write one step",
        ),
        (
            task("class = \"hard\"\nrun = [\"yield\"]"),
            "line 2, column 9",
            "\"rt0\" or",
        ),
        (
            task("priority = 4\nrun = [\"yield\"]"),
            "line 2, column 12",
            "does not go with",
        ),
        (
            task("policy = \"fifo\"\nrun = [\"yield\"]"),
            "line 1",
            "priority is missing",
        ),
        (task("count = 5"), "line 1", "needs run"),
        (
            step("{ comput = \"1ms\" }"),
            "line 2, column 10",
            "is no step; write compute",
        ),
        (
            step("{ compute = 5 }"),
            "line 2, column 20",
            "with its unit",
        ),
        (
            step("{ compute = \"1ms\", bytes = 5 }"),
            "line 2, column 27",
            "write compute",
        ),
        (
            step("{ arrival = \"x\" }"),
            "line 2, column 20",
            "[arrivals.x]",
        ),
        (
            step("{ fork = \"x\" }"),
            "line 2, column 17",
            "name of a [[task]]",
        ),
        (
            step("{ sleep = \"25h\" }"),
            "line 2, column 18",
            "at most one day",
        ),
        (
            step("{ memory = \"1TiB\", buffer = \"2GiB\" }"),
            "line 2",
            "at most 1073741824",
        ),
        (
            task("run = [{ every = \"1ms\" }]\nforever = [\"yield\"]"),
            "line 1",
            "no step that takes time",
        ),
        (
            "[mutex.m]\nceiling = 5\nprotocol = \"none\"\n".to_owned() + &step("\"yield\""),
            "line 1, column 8",
            "a ceiling goes with",
        ),
        (
            "[group.\"../x\"]\n".to_owned() + &step("\"yield\""),
            "line 1, column 8",
            "no name of a group",
        ),
    ] {
        let error = error(&text);
        assert!(
            error.starts_with(place) && error.contains(words),
            "{text}: {error}"
        );
    }
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
