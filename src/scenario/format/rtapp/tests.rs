// SPDX-License-Identifier: GPL-2.0-only
//! What rt-app's files mean.

use super::super::{Format, NoteKind, Reading, read};
use crate::model::*;

fn scenario(text: &str) -> Reading {
    read(text, Some(Format::RtApp), "it").unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn tasks(tasks: &str) -> Reading {
    scenario(&format!("{{ \"tasks\" : {{ {tasks} }} }}"))
}

/// The operations that a task does first.
fn first(task: &Task, count: usize) -> Vec<&Op> {
    let mut cursor = task.program.start();
    let next = std::iter::from_fn(|| cursor.advance(&task.program));
    next.take(count).collect()
}

#[test]
fn everything_is_understood() {
    let reading = scenario(include_str!("../examples/all.json"));
    let Scenario {
        tasks,
        objects,
        end,
        ..
    } = &reading.scenario;
    assert_eq!(tasks.len(), 8);
    assert_eq!(end.duration_ns, Some(2_000_000_000));
    assert!(end.with_foreground);
    let mutex = |name: &str| objects.mutexes.iter().find(|it| it.name == name).unwrap();
    assert_eq!(mutex("map").protocol, Protocol::Ceiling(80));
    assert_eq!(mutex("list").protocol, Protocol::Inheritance);
    // "together" is named by one instance of each of two tasks.
    assert_eq!(objects.barriers[0].parties, 2);
    let work = &tasks[0];
    assert_eq!((work.count, work.start_ns), (2, 1_500_000));
    assert_eq!(work.policy, Policy::Fifo { priority: 10 });
    let ops = first(work, 16);
    assert!(matches!(ops[0], Op::Become(change) if change.cpus == Some("1".parse().unwrap())));
    assert_eq!(ops[1], &Op::Compute(Work::Ns(100_000)));
    assert!(matches!(
        ops[9],
        Op::Become(change) if change.policy == Some(Policy::Other { nice: -5 })
            && change.group == Some(0)
    ));
    assert_eq!(ops[10], &Op::Busy { ns: 200_000 });
    assert!(
        matches!(ops[13], Op::Become(_)),
        "the next round: {:?}",
        ops[13]
    );
    assert_eq!(objects.groups[0].name, "tg1/tg11");
    let timers: Vec<(bool, bool)> = objects
        .timers
        .iter()
        .map(|timer| (timer.is_shared, timer.is_relative))
        .collect();
    assert_eq!(timers[..2], [(false, false), (true, true)]);
    // 10,000,000 bytes to /dev/null in buffers of 1 MiB.
    let memory = &tasks[2];
    let calls = first(memory, 30)
        .into_iter()
        .filter(|op| matches!(op, Op::Kernel { ns: 0 }));
    assert_eq!(calls.count(), 10);
    let oldest = first(&tasks[5], 7);
    assert_eq!(oldest[2], &Op::Compute(Work::Ns(500_000)));
    assert!(matches!(
        oldest[6],
        Op::Timer {
            period_ns: 10_000_000,
            ..
        }
    ));
    assert_eq!(tasks[5].deadline_ns, Some(8_000_000));
    assert_eq!(
        first(&tasks[7], 2)[0],
        &Op::AwaitSignal {
            by_descriptor: true
        }
    );
}

#[test]
fn repeated_keys_are_the_program() {
    let reading = tasks("'t': { 'run': 1, 'sleep': 2, 'run': 3, 'sleep': 4, 'loop': 1 }");
    let ops = first(&reading.scenario.tasks[0], 9);
    let expected = [
        Op::Compute(Work::Ns(1000)),
        Op::Sleep { ns: 2000 },
        Op::Compute(Work::Ns(3000)),
        Op::Sleep { ns: 4000 },
    ];
    assert_eq!(ops, expected.iter().collect::<Vec<_>>());
    let taken = reading.notes.iter().any(|it| it.kind == NoteKind::Taken);
    assert!(taken, "{:?}", reading.notes);
}

#[test]
fn loops_are_those_of_rt_app() {
    for (text, endless, ops) in [
        ("'t': { 'run': 1 }", true, 9),
        ("'t': { 'run': 1, 'loop': 3 }", false, 3),
        ("'t': { 'phases': { 'a': { 'run': 1 } } }", true, 9),
        (
            "'t': { 'loop': 2, 'phases': { 'a': { 'loop': 3, 'run': 1 } } }",
            false,
            6,
        ),
    ] {
        let task = &tasks(text).scenario.tasks[0];
        assert_eq!(task.program.is_endless(), endless, "{text}");
        assert_eq!(first(task, 9).len(), ops, "{text}");
    }
}

#[test]
fn suspend_waits_for_the_own_name() {
    let text = "'Sub1': { 'suspend': 'Sub', 'run': 5 }, 'main': { 'resume': 'Sub', 'run': 5 }";
    let notes = tasks(text).notes;
    let doubts: Vec<&str> = notes
        .iter()
        .filter(|note| note.kind == NoteKind::Doubt)
        .map(|note| note.text.as_str())
        .collect();
    assert_eq!(doubts.len(), 2, "{doubts:?}");
    assert!(doubts[0].contains("Sub1 is waited for, and nobody signals it"));
    assert!(doubts[1].contains("own name"));
}

#[test]
fn what_has_no_meaning_is_said_with_its_place_and_a_remedy() {
    for (text, place, words) in [
        ("{}", "line 1, column 1", "tasks is missing"),
        (
            "{ \"tasks\" : 5 }",
            "line 1, column 13",
            "tasks: 5 does not fit",
        ),
        (
            "{ \"tasks\" :\n{ \"a\" : { \"run\" : \"x\" } } }",
            "line 2, column 19",
            "from 0 to",
        ),
        (
            "{ \"tasks\" :\n{ \"a\" : { \"loop\" : 1 } } }",
            "line 2, column 3",
            "has no event",
        ),
        (
            "{ \"tasks\" : { \"a\" : { \"run\" : 1, \"policy\" : \"FIFO\" } } }",
            "line 1, column 45",
            "\"SCHED_OTHER\" or",
        ),
        (
            "{ \"tasks\" : { \"a\" : { \"run\" : 1, \"policy\" : \"SCHED_DEADLINE\" } } }",
            "line 1, column 15",
            "dl-runtime",
        ),
        (
            "{ \"tasks\" : { \"a\" : { \"run\" : 1, \"fork\" : \"b\" } } }",
            "line 1, column 43",
            "name of a task",
        ),
        (
            "{ \"tasks\" : { \"a\" : { \"yield\" : \"\" } } }",
            "line 1, column 15",
            "no step that takes time",
        ),
        (
            "{ \"tasks\" : { \"a\" : { \"run\" : 1, \"taskgroup\" : \"/../x\" } } }",
            "line 1, column 48",
            "no name of a group",
        ),
    ] {
        let error = read(text, Some(Format::RtApp), "it")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(place) && error.contains(words),
            "{text}: {error}"
        );
    }
}

#[test]
fn words_that_are_no_keys_are_doubted_and_not_dropped_in_silence() {
    let reading = tasks("'t': { 'slep': 5, 'run': 1, 'util_min': 5 }");
    let words: Vec<String> = reading
        .notes
        .iter()
        .map(|note| format!("{}: {}", note.kind.name(), note.text))
        .collect();
    assert!(
        words
            .iter()
            .any(|it| it.starts_with("doubt: \"slep\" is no event")),
        "{words:?}"
    );
    assert!(
        words.iter().any(|it| it.starts_with("ignored: util_min")),
        "{words:?}"
    );
}
