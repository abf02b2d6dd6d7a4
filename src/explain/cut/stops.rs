// SPDX-License-Identifier: GPL-2.0-only
//! Stops of the whole machine: by firmware, or by a hypervisor that keeps no steal clock.
//!
//! No event reports them. But while one CPU may keep its interrupts off, others go on. If timers
//! of several CPUs were due and nothing at all happened before they were handled late, no CPU ran.

use crate::recording::{Event, Hole, What};
use std::collections::BTreeMap;

/// Shorter silence proves nothing: each CPU may have had its interrupts off by itself.
const SILENCE_NS: u64 = 1_000_000;

/// From when, at the latest, to when the machine stood. `events`: of all CPUs, in the order of
/// time; of those after `end_ns` there are timers only, so their silence says nothing.
pub(super) fn stops(events: &[&Event], holes: &[Hole], end_ns: u64) -> Vec<(u64, u64)> {
    let gaps = events.windows(2).enumerate();
    let gaps = gaps.filter(|(_, pair)| pair[1].ns <= end_ns);
    let gaps = gaps.filter(|(_, pair)| pair[1].ns.saturating_sub(pair[0].ns) >= SILENCE_NS);
    gaps.filter_map(|(at, pair)| {
        let gap = (pair[0].ns, pair[1].ns);
        let hides = |hole: &Hole| hole.from_ns < gap.1 && gap.0 < hole.until_ns;
        if holes.iter().any(hides) {
            return None;
        }
        let due = due_by_cpu(&events[at + 1..], gap);
        let first = due.values().min()?;
        (due.len() > 1).then_some((*first, gap.1))
    })
    .collect()
}

/// Of each CPU whose timer waited long within the gap: since when. `after`: the events from the end
/// of the gap on. A CPU that stood in the midst of other work does that first.
fn due_by_cpu(after: &[&Event], gap: (u64, u64)) -> BTreeMap<u32, u64> {
    let mut due = BTreeMap::new();
    let soon = gap.1.saturating_add(gap.1 - gap.0);
    for event in after.iter().take_while(|event| event.ns < soon) {
        let What::TimerBegins(timer) = &event.what else {
            continue;
        };
        // A clock that was set makes its timers late without a stop.
        if timer.settable {
            continue;
        }
        let at = timer.due_ns.saturating_add(timer.slack_ns).max(gap.0);
        if gap.1 - at.min(gap.1) >= SILENCE_NS {
            let first = due.entry(event.cpu).or_insert(at);
            *first = at.min(*first);
        }
    }
    due
}
