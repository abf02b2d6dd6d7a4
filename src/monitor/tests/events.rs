// SPDX-License-Identifier: GPL-2.0-only
//! Which events are said, and that none floods the journal.

use crate::culprits::Outcome;
use crate::events::{Events, Level};
use crate::now::{Culprit, Now, Partition, SCHEMA, Watch};
use artis_watch::Alert;

fn now() -> Now {
    Now {
        schema: SCHEMA,
        tool: "0.1.0",
        kernel: "7.1".to_owned(),
        watched_s: 1.0,
        scheduler: None,
        watch: Watch::default(),
        cpus: Vec::new(),
        rt0: Vec::new(),
        rt1: Vec::new(),
        partition: Partition::default(),
        culprits: Vec::new(),
        unknown: Vec::new(),
    }
}

fn scheduling(leaks: u64, since: &str) -> Now {
    let details = serde_json::json!({
        "pid": 7, "since": since, "uptime_s": 1, "kernel": "7.1", "rt_cpus": "1",
        "nrt_cpus": "0", "rt_cpus_offline": "", "detector": "syscall",
        "detector_blind_spots": [], "counters": {"leaks_fault": leaks},
        "linux_wait_ns_max": 0, "leave_ns_max": 0, "rt_cpu_times": [],
    });
    Now {
        scheduler: Some(serde_json::from_value(details).unwrap()),
        ..now()
    }
}

fn alert(value_ns: u64) -> Alert {
    Alert {
        tid: 9,
        pid: 9,
        name: "control".to_owned(),
        cpu: 1,
        arrived_ns: 0,
        value_ns,
        by_timer: true,
    }
}

fn texts(events: &mut Events, now: &Now, alerts: &[Alert]) -> Vec<String> {
    let all = events.look(now, alerts, None).into_iter();
    all.map(|one| one.text).collect()
}

#[test]
fn on_off_and_again_are_said_once() {
    let mut events = Events::default();
    assert_eq!(texts(&mut events, &now(), &[]), [""; 0]);
    let on = texts(&mut events, &scheduling(0, "a"), &[]);
    assert!(on[0].contains("is on: RT CPUs 1, process 7"), "{on:?}");
    assert_eq!(texts(&mut events, &scheduling(0, "a"), &[]), [""; 0]);
    let again = texts(&mut events, &scheduling(5, "b"), &[]);
    // Counters of another start are no leaks of this moment.
    assert_eq!(again, ["the scheduler was started again"]);
    let off = events.look(&now(), &[], None);
    assert!(off[0].text.contains("is off"), "{off:?}");
    assert_eq!(off[0].level, Level::Warning);
    assert_eq!(texts(&mut events, &now(), &[]), [""; 0]);
}

#[test]
fn leaks_are_said_and_then_wait() {
    let mut events = Events::default();
    texts(&mut events, &scheduling(3, "a"), &[]);
    let said = texts(&mut events, &scheduling(5, "a"), &[]);
    assert!(said[0].starts_with("2 leaks"), "{said:?}");
    assert_eq!(texts(&mut events, &scheduling(9, "a"), &[]), [""; 0]);
}

#[test]
fn of_many_late_wakeups_the_worst_is_said_and_the_others_counted() {
    let mut events = Events::default();
    let alerts = [alert(200_000), alert(300_000), alert(250_000)];
    let said = texts(&mut events, &now(), &alerts);
    assert_eq!(
        said,
        ["control (9) was 300.0 us late on CPU 1; 2 others were above the bound"]
    );
    for _ in 0..1000 {
        assert_eq!(texts(&mut events, &now(), &alerts), [""; 0]);
    }
}

#[test]
fn a_culprit_is_a_sentence_and_an_unknown_one_is_said_to_be() {
    let culprit = Culprit {
        at: "2026-11-30T23:01:02Z".to_owned(),
        tid: 9,
        thread: "control".to_owned(),
        late_ns: 300_000,
        lane: "device".to_owned(),
        who: Some("eth0".to_owned()),
        ns: 250_000,
    };
    let mut events = Events::default();
    let said = events.look(&now(), &[], Some(&Outcome::Found(vec![culprit])));
    assert_eq!(
        said[0].text,
        "control (9) was 300.0 us late at 2026-11-30T23:01:02Z: 250.0 us of it by eth0 (device)"
    );
    let none = Outcome::NotAgain {
        thread: "control (9)".to_owned(),
        wakeups: 1000,
    };
    let said = events.look(&now(), &[], Some(&none));
    assert!(said[0].text.contains("not late again in 1000"), "{said:?}");
}

#[test]
fn what_drifts_is_said_when_it_does() {
    let drifted = |places: &[&str]| Now {
        partition: Partition {
            changes: Some(3),
            drifted: places.iter().map(|one| (*one).to_owned()).collect(),
        },
        ..now()
    };
    let mut events = Events::default();
    texts(&mut events, &drifted(&[]), &[]);
    let said = texts(&mut events, &drifted(&["/proc/irq/9", "/proc/irq/8"]), &[]);
    assert!(
        said[0].contains("changed /proc/irq/9, and 1 others"),
        "{said:?}"
    );
    assert_eq!(texts(&mut events, &drifted(&["/proc/irq/9"]), &[]), [""; 0]);
}
