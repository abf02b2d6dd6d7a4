// SPDX-License-Identifier: GPL-2.0-only
//! `artis explain` on both kernels. Which thread is late, and how much, means nothing
//! here: the emulator's own stops look like interrupts that are off.

use super::guest::{artis, run, text};
use super::sched::TWO_CPUS;
use super::shared::Script;
use crate::common::count;
use artis::explain::summary::chief;
use artis::explain::{Document, Lane};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

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
    let mut known = 0;
    for explained in &document.worst {
        let subject = &explained.recording.subject;
        let (mut at, segments) = (0, &explained.segments);
        for segment in segments {
            assert_eq!(segment.begin_ns, at, "{subject:#?}\n{segments:#?}");
            at = segment.end_ns;
        }
        let length = subject.end_ns - subject.due_ns;
        assert_eq!(at, length, "{subject:#?}\n{segments:#?}");
        let unknown = segments.iter().filter(|one| one.lane == Lane::Unknown);
        let unknown: u64 = unknown.map(|one| one.ns()).sum();
        known += u32::from(explained.recording.is_incomplete() || unknown * 20 < at);
    }
    // Who slept has a due time, and what wakes it is seen. The host may have stopped a virtual CPU
    // in between: nothing in the guest proves that, so it is unknown.
    assert!(known > 0, "{printed}");
    let names = document.threads.iter().map(|one| &one.name);
    let names: Vec<_> = names.collect();
    assert!(names.iter().any(|name| *name == "usleep"), "{names:?}");
    assert!(ran.file("late.pftrace").len() > 1000, "{printed}");
    assert_what_is_missed_is_rare_and_told(&document, &printed);
    // The kernel has every hook that a preemptible one of today has.
    let absent = &document.absent;
    assert!(absent.iter().all(|one| !one.contains("IPI")), "{absent:?}");
}

/// A busy host may stop a virtual CPU at any moment: while an event is written, or within a hook,
/// so that another task comes to the same one. What is missed then is said.
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

/// How long the machine is stopped at a time. Whatever else happens to the guest takes less, but
/// for a host that does the same to it.
const STOP: Duration = Duration::from_millis(80);
/// What is judged: between that and other late wakeups of an emulated guest.
const JUDGED_US: u64 = 60_000;

/// By this the emulator of this test differs from those of the others.
const MARK: &str = "ARTIS_TEST_IS_STOPPED";

/// The emulator that inherited this test's mark; nobody while there is none.
fn emulator() -> Option<Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_ours = |pid: &i32| {
        let file = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        text(&file("environ")).contains(MARK) && text(&file("cmdline")).contains("qemu-system")
    };
    pids.find(is_ours).map(Pid::from_raw)
}

/// Stops the whole machine again and again, as a hypervisor does that runs another one.
fn stop_and_continue(enough: &AtomicBool) {
    let mut turn = 0;
    while !enough.load(Relaxed) {
        if let Some(pid) = emulator() {
            // It does not matter if it has just ended.
            let _ = kill(pid, Signal::SIGSTOP);
            std::thread::sleep(STOP);
            let _ = kill(pid, Signal::SIGCONT);
        }
        // At all places of the victim's period, without a source of chance.
        turn += 1;
        std::thread::sleep(Duration::from_micros(150_000 + turn * 7_919 % 300_000));
    }
}

/// A stop of a virtual machine leaves no event and no steal time here. What tells it is that a
/// timer's interrupt came late into user mode, where nothing of the kernel keeps it off, or that
/// the timers of both CPUs came late at once.
#[test]
fn a_stopped_machine_is_blamed() {
    let output = tempfile::tempdir().unwrap();
    let seconds = count(6, 60);
    let script = "for cpu in 0 1; do taskset -c $cpu sh -c 'while :; do :; done' & done
        artis explain run --threshold $0 --worst 100 --json late.json -- \\
            artis measure latency -q -a 1 -p 80 -D $1";
    let mut command = artis(&["lab", "run", "--kernel", "newest", "--output"]);
    command.arg(output.path()).args(["--", "sh", "-c", script]);
    command.args([JUDGED_US, seconds].map(|number| number.to_string()));
    command.env(MARK, "1");
    let enough = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| stop_and_continue(&enough));
        let ended = run(&mut command);
        enough.store(true, Relaxed);
        ended
    });
    let said = format!("{}{}", text(&ended.stdout), text(&ended.stderr));
    assert!(ended.status.success(), "{said}");
    let document = Document::read(&fs::read(output.path().join("late.json")).unwrap()).unwrap();
    let judged = document.worst.len();
    let is_right = |segments: &[_]| {
        chief(segments).is_some_and(|(lane, who, _)| {
            lane == Lane::Hypervisor && who.as_deref() == Some("hypervisor")
        })
    };
    let right = document.worst.iter().filter(|one| is_right(&one.segments));
    let right = right.count();
    println!("{right} of {judged}\n{said}");
    assert!(judged as u64 >= seconds / 2, "too few were late: {said}");
    // 98 of 100 were. Few are judged in the short run.
    let share = if judged >= 100 { 90 } else { 70 };
    assert!(right * 100 >= judged * share, "{said}");
}
