// SPDX-License-Identifier: GPL-2.0-only
//! `docs/explain.schema.json`.

use super::Published;
use artis::explain::advice::Advice;
use artis::explain::document::{Counts, Document, Explained, Missed, SCHEMA, Thread};
use artis::explain::recording::{Event, Events, Hole, Loss, Recording, Subject, Task, What};
use artis::explain::summary::Row;
use artis::explain::{Lane, Segment};
use serde_json::{Value, json};

fn published() -> Published {
    Published::new(include_str!("../../../docs/explain.schema.json"))
}

/// A document in which nothing is absent. Every field is here by name, so that a new one
/// does not compile until it is here, and does not pass until the schema has it.
fn whole() -> Document {
    let text = |text: &str| text.to_owned();
    let counts = Counts {
        count: 1,
        ns_sum: 10,
        ns_max: 10,
    };
    let task = Task {
        tid: 7,
        name: text("controller"),
        policy: 1,
        priority: 9,
        kernel_thread: true,
        served: true,
    };
    Document {
        schema: text(SCHEMA),
        tool: text("0.1.0"),
        kernel: text("6.18"),
        watched: text("process 7"),
        seconds: 1.5,
        ended_early: Some(text("signal 2")),
        memory_bytes: 1,
        events: 1,
        missed: Missed {
            events: 0,
            losses: 0,
            without_room: 0,
            untraced: 2,
            incomplete: 1,
        },
        absent: vec![text("this kernel has no hook")],
        threads: vec![Thread {
            tid: 7,
            name: text("controller"),
            ended: false,
            wakeups: counts,
            locks: counts,
            activations: counts,
        }],
        history: vec![Event {
            ns: 101,
            cpu: 1,
            steal_ns: 3,
            what: What::TimerEnds,
        }]
        .into(),
        worst: vec![Explained {
            segments: vec![Segment {
                begin_ns: 0,
                end_ns: 10,
                cpu: Some(1),
                lane: Lane::Lock,
                culprit: Some(text("low")),
                tid: Some(8),
                code: Some(text("futex")),
                stack: vec![text("schedule")],
                chain: vec![text("waits for low")],
            }],
            recording: Recording {
                subject: Subject {
                    task,
                    process: 7,
                    loss: Loss::LockedOut,
                    due_ns: 100,
                    waking_ns: 105,
                    end_ns: 110,
                    lost_ns: 10,
                    from_ns: 90,
                    call: Some(0),
                    busy: true,
                },
                events: Events::default(),
                holes: vec![Hole {
                    cpu: 1,
                    from_ns: 1,
                    until_ns: 101,
                    keeps_task: true,
                    untraced: true,
                }],
                smi: 0,
                virtual_machine: true,
            },
            events: vec![(0, 1)],
        }],
        culprits: vec![Row {
            culprit: Some(text("low")),
            lane: Lane::Lock,
            times: 1,
            ns_sum: 10,
            ns_max: 10,
            share: 1.0,
        }],
        advice: vec![Advice {
            lane: Lane::Lock,
            findings: vec![text("unshielded")],
            steps: vec![text("cpuset-shield")],
            text: text("inherit"),
        }],
    }
}

fn written(document: &Document) -> Value {
    serde_json::to_value(document).unwrap()
}

#[test]
fn real_documents_fit() {
    published().assert_valid(&written(&whole()));
    let mut bare = whole();
    bare.ended_early = None;
    bare.culprits[0].culprit = None;
    bare.worst[0].recording.holes.clear();
    bare.worst[0].segments = vec![Segment {
        cpu: None,
        culprit: None,
        tid: None,
        code: None,
        stack: Vec::new(),
        chain: Vec::new(),
        ..bare.worst[0].segments[0].clone()
    }];
    published().assert_valid(&written(&bare));
}

#[test]
fn every_lane_is_in_the_schema() {
    let mut document = whole();
    for lane in artis::explain::lane::ALL {
        document.culprits[0].lane = lane;
        published().assert_valid(&written(&document));
    }
}

#[test]
fn the_schema_promises_what_is_written_and_nothing_else() {
    published().assert_promises_only(&written(&whole()));
    published().assert_knows(&written(&whole()), &[]);
}

#[test]
fn damaged_documents_fit_neither() {
    let damages = [
        ("/tool", json!(null)),
        ("/seconds", json!("long")),
        ("/missed", json!(3)),
        ("/threads", json!({})),
        ("/threads/0/tid", json!(-1)),
        ("/worst/0/segments/0/lane", json!("fate")),
        ("/worst/0/segments/0/begin_ns", json!(-1)),
        ("/worst/0/recording/subject/loss", json!("sad")),
        ("/history/0/ns", json!(null)),
        ("/culprits/0/share", json!("all")),
        ("/advice/0/steps", json!("one")),
    ];
    published().assert_neither_takes::<Document>(&written(&whole()), &damages);
}

#[test]
fn what_was_written_is_read_and_cut_again() {
    let mut document = whole();
    document.worst[0].recording.holes.clear();
    let text = serde_json::to_vec(&document).unwrap();
    let read = Document::read(&text).unwrap();
    // Events are written once, in the history, whichever recordings have them.
    let mut wanted = document.worst[0].recording.clone();
    wanted.events = read.worst[0].recording.events.clone();
    assert_eq!(wanted.events.iter().len(), 1);
    assert_eq!(read.worst[0].recording, wanted);
    let sum: u64 = read.worst[0].segments.iter().map(Segment::ns).sum();
    assert_eq!(sum, 10);
    let mut other = written(&document);
    other["schema"] = json!("artis.explain/2");
    let error = Document::read(other.to_string().as_bytes()).unwrap_err();
    assert!(error.to_string().contains("artis.explain/1"), "{error}");
    let mut backwards = written(&document);
    backwards["worst"][0]["recording"]["subject"]["end_ns"] = json!(50);
    let error = Document::read(backwards.to_string().as_bytes()).unwrap_err();
    assert!(error.to_string().contains("before it begins"), "{error}");
}
