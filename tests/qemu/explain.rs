// SPDX-License-Identifier: GPL-2.0-only
//! `artis explain` on both kernels. Who is late, and how much, means nothing here: the emulator's
//! own stops look like interrupts that are off.

use super::guest::text;
use super::sched::TWO_CPUS;
use super::shared::Script;
use artis::explain::{Document, Lane};

on_kernel!(normal, "newest": late_wakeups_are_cut_into_segments);
on_kernel!(rt, "newest-rt": late_wakeups_are_cut_into_segments);

pub static EXPLAIN: Script = Script {
    name: "explain::late_wakeups_are_cut_into_segments",
    rt: true,
    counts: &[],
    text: include_str!("../guest/explain.sh"),
};

fn late_wakeups_are_cut_into_segments(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &EXPLAIN);
    let document = Document::read(ran.file("late.json")).unwrap();
    let printed = text(ran.file("printed"));
    assert_eq!(document.worst.len(), 5, "{printed}");
    for explained in &document.worst {
        let subject = &explained.recording.subject;
        let (mut at, segments) = (0, &explained.segments);
        for segment in segments {
            assert_eq!(segment.begin_ns, at, "{subject:#?}\n{segments:#?}");
            at = segment.end_ns;
        }
        let length = subject.end_ns - subject.due_ns;
        assert_eq!(at, length, "{subject:#?}\n{segments:#?}");
        // Who slept has a due time, and what wakes it is seen.
        let unknown = segments.iter().filter(|one| one.lane == Lane::Unknown);
        let unknown: u64 = unknown.map(|one| one.ns()).sum();
        let is_known = explained.recording.is_incomplete() || unknown * 20 < at;
        assert!(is_known, "{:#?}\n{segments:#?}", explained.recording);
    }
    let names = document.threads.iter().map(|one| &one.name);
    let names: Vec<_> = names.collect();
    assert!(names.iter().any(|name| *name == "usleep"), "{names:?}");
    assert!(ran.file("late.pftrace").len() > 1000, "{printed}");
    assert_what_is_missed_is_rare_and_told(&document, &printed);
    // The kernel has every hook that a preemptible one of today has.
    let absent = &document.absent;
    assert!(absent.iter().all(|one| !one.contains("IPI")), "{absent:?}");
}

/// A busy host may stop a virtual CPU at any moment: while an event is written, or within a hook, so
/// that another task comes to the same one. What is missed then is said.
fn assert_what_is_missed_is_rare_and_told(document: &Document, printed: &str) {
    let (missed, events) = (document.missed, document.events);
    let said = format!("{missed:?} of {events} events:\n{printed}");
    assert!(missed.events * 100 < events, "{said}");
    assert!(missed.incomplete < document.worst.len() as u64, "{said}");
    for (count, words) in [
        (missed.events, "events were lost"),
        (missed.losses, "could not be looked at"),
        (missed.incomplete, "have a hole in their record"),
    ] {
        // Notes are wrapped.
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(count > 0, printed.contains(words), "{said}");
    }
    let counts = document.threads.iter();
    let counts = counts.map(|one| one.wakeups.count + one.locks.count + one.activations.count);
    assert!(missed.losses * 10 <= counts.sum(), "{said}");
}
