// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel knows of a task: read by the task itself at the end of its program, or by the
//! starter of one that has not ended.

use super::Actor;
use crate::arena::Slot;
use artis_machine::Root;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::Ordering::Relaxed;

impl Actor<'_> {
    /// Fills the task's own slot, or adds to that of forked ones: those are many and short, so
    /// only what one cheap call gives is asked for.
    pub(super) fn account(&self) {
        let slot = self.slot;
        if !self.is_forked {
            fill(slot, "self");
            return;
        }
        slot.count.fetch_add(1, Relaxed);
        if let Ok(time) = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID) {
            let ns = time.tv_sec() * 1_000_000_000 + time.tv_nsec();
            slot.cpu_ns.fetch_add(ns.unsigned_abs(), Relaxed);
        }
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
            let number = |count: i64| count.unsigned_abs();
            let (own, taken) = (
                usage.voluntary_context_switches(),
                usage.involuntary_context_switches(),
            );
            slot.voluntary.fetch_add(number(own), Relaxed);
            slot.involuntary.fetch_add(number(taken), Relaxed);
        }
    }
}

/// What this process has used while it prepared itself. Reading `/proc` takes long, so this is
/// before the start.
pub fn before_start(slot: &Slot) {
    fill(slot, "self");
    // Reading the rest took time, too.
    fill_times(slot, "self");
    let base = &slot.base;
    for (now, base) in [
        (&slot.cpu_ns, &base.cpu_ns),
        (&slot.waiting_ns, &base.waiting_ns),
        (&slot.migrations, &base.migrations),
    ] {
        base.store(now.load(Relaxed), Relaxed);
    }
}

/// Waiting for the start switches, too; this is cheap enough to come after it.
pub fn at_start(slot: &Slot) {
    if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
        let (own, taken) = (
            usage.voluntary_context_switches(),
            usage.involuntary_context_switches(),
        );
        slot.base.voluntary.store(own.unsigned_abs(), Relaxed);
        slot.base.involuntary.store(taken.unsigned_abs(), Relaxed);
    }
}

/// Reads a file of a process; empty where it cannot be read.
fn text_of(process: &str, file: &str) -> String {
    let text = Root::default().hint(format!("/proc/{process}/{file}"));
    text.unwrap_or_default()
}

/// How long it ran and waited.
fn fill_times(slot: &Slot, process: &str) {
    let statistics = text_of(process, "schedstat");
    let mut numbers = statistics.split_whitespace().map(str::parse::<u64>);
    if let (Some(Ok(cpu_ns)), Some(Ok(waiting_ns))) = (numbers.next(), numbers.next()) {
        slot.cpu_ns.store(cpu_ns, Relaxed);
        slot.waiting_ns.store(waiting_ns + 1, Relaxed);
    }
}

/// What `/proc` says of a process. Numbers that may be missing are stored one higher.
pub fn fill(slot: &Slot, process: &str) {
    fill_times(slot, process);
    let text = |file: &str| text_of(process, file);
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        line.rsplit([':', '\t', ' '])
            .next()?
            .trim()
            .parse::<u64>()
            .ok()
    };
    let status = text("status");
    for (key, into) in [
        ("voluntary_ctxt_switches", &slot.voluntary),
        ("nonvoluntary_ctxt_switches", &slot.involuntary),
    ] {
        if let Some(count) = value(&status, key) {
            into.store(count, Relaxed);
        }
    }
    if let Some(count) = value(&text("sched"), "se.nr_migrations") {
        slot.migrations.store(count + 1, Relaxed);
    }
}
