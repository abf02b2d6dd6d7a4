// SPDX-License-Identifier: GPL-2.0-only
//! A clock that was set to a later time: its timers are overdue at once, by as much.

use super::Segment;
use super::label::named;
use crate::lane::Lane;
use crate::recording::{Event, Loss, Subject, What};

/// What the CPU that set it asks others for, whose timers may be due.
const SET: &str = "retrigger_next_event";
/// Within so long they have done it.
const DONE_NS: u64 = 10_000_000;

/// From when to when the thread was not due yet, as its clock said then, and who set that.
pub(super) fn sets(events: &[&Event], subject: &Subject) -> Vec<(u64, u64, Segment)> {
    let is_own = |event: &&Event| {
        matches!(&event.what, What::TimerBegins(timer)
            if timer.settable && timer.due_ns == subject.due_ns)
    };
    if subject.loss != Loss::Late || !events.iter().any(is_own) {
        return Vec::new();
    }
    let mut sets = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let What::ClockSet { step_ns } = &event.what else {
            continue;
        };
        let Ok(step_ns) = u64::try_from(*step_ns) else {
            continue;
        };
        let set = setter(&events[..at], event.ns);
        let set_ns = set.map_or(event.ns, |(ns, ..)| ns);
        let mut piece = named(Lane::ClockSet, set.map_or("who set the clock", |set| set.2));
        piece.tid = set.map(|set| set.1);
        let ms = step_ns as f64 / 1e6;
        piece.code = Some(format!("the clock was set {ms:.3} ms forward"));
        let until_ns = set_ns.min(subject.due_ns.saturating_add(step_ns));
        if until_ns > subject.due_ns {
            sets.push((subject.due_ns, until_ns, piece));
        }
    }
    sets
}

/// When it was set, and by whom, if other CPUs were asked.
fn setter<'a>(before: &[&'a Event], seen_ns: u64) -> Option<(u64, u32, &'a str)> {
    let events = before.iter().rev();
    let mut events = events.take_while(|event| seen_ns - event.ns <= DONE_NS);
    events.find_map(|event| match &event.what {
        What::CallSent {
            function,
            by,
            by_name,
            ..
        } if function == SET => Some((event.ns, *by, by_name.as_str())),
        _ => None,
    })
}
