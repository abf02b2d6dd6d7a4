// SPDX-License-Identifier: GPL-2.0-only
//! `artis explain` on both kernels. Who is late, and how much, means nothing here: the emulator's
//! own stops look like interrupts that are off.

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
    assert_eq!(document.worst.len(), 5);
    for explained in &document.worst {
        let subject = &explained.recording.subject;
        let (mut at, segments) = (0, &explained.segments);
        for segment in segments {
            assert_eq!(segment.begin_ns, at, "{segments:#?}");
            at = segment.end_ns;
        }
        assert_eq!(at, subject.end_ns - subject.due_ns, "{segments:#?}");
        // Who slept has a due time, and what wakes it is seen.
        let unknown = segments.iter().filter(|one| one.lane == Lane::Unknown);
        let unknown: u64 = unknown.map(|one| one.ns()).sum();
        assert!(unknown * 20 < at, "{segments:#?}");
        assert!(!explained.recording.is_incomplete());
    }
    assert!(document.threads.iter().any(|one| one.name == "usleep"));
    assert_eq!((document.missed.events, document.missed.losses), (0, 0));
    assert!(ran.file("late.pftrace").len() > 1000);
    // The kernel has every hook that a preemptible one of today has.
    assert!(
        document.absent.iter().all(|one| !one.contains("IPI")),
        "{:?}",
        document.absent
    );
}
