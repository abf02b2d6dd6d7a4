// SPDX-License-Identifier: GPL-2.0-only
//! The part of a CPU's ring that concerns a loss, and the holes in it.

use crate::skeleton::types::{
    recorder_event, recorder_kind as Kind, recorder_switch_flags as Flags,
};
use artis_explain::recording::Subject;
use std::ops::Range;

/// Of each CPU, so many events before the thread's history are kept at least, where there are, back
/// to what had the CPU then.
const BEFORE: usize = 256;
/// So many of an interrupt that had begun before are looked through for its begin.
const BEFORE_IN_INTERRUPT: usize = 8192;
/// Switches of each CPU that are kept of the time before, where others may have waited for long.
const WAIT_SWITCHES: u32 = 64;

/// What was found.
#[derive(Default)]
pub(crate) struct Part {
    /// Of the events, the last one first.
    pub numbers: Vec<u64>,
    /// From when to when events are missing.
    pub holes: Vec<(u64, u64)>,
    /// From when to when only events within one task's time are missing.
    pub gap: Option<(u64, u64)>,
    /// From when to when nobody knows who had the CPU: the kernel did not trace a switch.
    pub untraced: Vec<(u64, u64)>,
}

/// Whether a CPU was in an interrupt and in a softirq at a moment: the last begin or end of each
/// before it says so.
#[derive(Default)]
struct Contexts {
    interrupt: bool,
    softirq: bool,
}

impl Contexts {
    fn see(&mut self, kind: Kind) {
        match kind {
            Kind::RECORDER_VECTOR_ENTRY
            | Kind::RECORDER_VECTOR_EXIT
            | Kind::RECORDER_IRQ_ENTRY
            | Kind::RECORDER_IRQ_EXIT => self.interrupt = true,
            // They begin and end outside of interrupts.
            Kind::RECORDER_SOFTIRQ_ENTRY | Kind::RECORDER_SOFTIRQ_EXIT |
            // These happen in neither.
            Kind::RECORDER_SYS_ENTER
            | Kind::RECORDER_SYS_EXIT
            | Kind::RECORDER_FAULT
            | Kind::RECORDER_IDLE
            | Kind::RECORDER_SWITCH => (self.interrupt, self.softirq) = (true, true),
            _ => {}
        }
    }

    fn are_known(&self) -> bool {
        self.interrupt && self.softirq
    }
}

/// Looks backwards through the events with these numbers: the interval, and what leads to it.
/// `last_switch`: behind it there is none. `read` has none for an event that cannot be read.
pub(crate) fn part(
    numbers: Range<u64>,
    last_switch: u64,
    subject: &Subject,
    waits: bool,
    mut read: impl FnMut(u64) -> Option<recorder_event>,
) -> Part {
    let is_whole_history = numbers.start == 0;
    // Whom the thread waits for may have lost its CPU long before.
    let mut switches_left = if waits { WAIT_SWITCHES } else { 1 };
    let begin_ns = subject.begin_ns();
    let mut part = Part::default();
    let mut contexts = Contexts::default();
    let mut before = 0;
    let mut is_missing = false;
    // When the event after this one came.
    let mut next_ns = subject.end_ns;
    let mut left = numbers;
    while let Some(mut number) = left.next_back() {
        // Of what is this far back, only a switch counts.
        let enough = match contexts.are_known() {
            true => BEFORE,
            false => BEFORE_IN_INTERRUPT,
        };
        let is_far = before > enough;
        let jumps = is_far && left.contains(&last_switch);
        if jumps {
            left.end = last_switch;
            number = last_switch;
        }
        let Some(event) = read(number) else {
            is_missing = true;
            continue;
        };
        // What is missing after the end is of no interest.
        if std::mem::take(&mut is_missing) && event.ns < subject.end_ns {
            part.holes.push((event.ns.min(next_ns), next_ns));
        }
        let behind_ns = std::mem::replace(&mut next_ns, event.ns.min(subject.end_ns));
        if event.ns > subject.end_ns {
            // A machine that stood still is known by the timers that all CPUs handle late. The
            // thread may be back in user mode before another CPU has handled its own.
            let is_timer = Kind(u32::from(event.kind)) == Kind::RECORDER_HRTIMER_ENTRY;
            if is_timer && event.ns - subject.end_ns <= subject.end_ns - subject.due_ns {
                part.numbers.push(number);
            }
            continue;
        }
        let is_switch = Kind(u32::from(event.kind)) == Kind::RECORDER_SWITCH;
        if is_switch && u32::from(event.what) & Flags::RECORDER_UNTRACED.0 != 0 {
            part.untraced.push((event.a, event.ns));
        }
        let leads_to_it = event.ns <= begin_ns;
        if leads_to_it && !is_far {
            before += 1;
            contexts.see(Kind(u32::from(event.kind)));
        }
        if is_far && (jumps || !is_switch) && part.gap.is_none() {
            part.gap = Some((0, behind_ns));
        }
        if !is_far || is_switch {
            part.numbers.push(number);
        }
        if is_switch && leads_to_it {
            if let Some(gap) = &mut part.gap {
                gap.0 = gap.0.max(event.ns);
            }
            switches_left -= 1;
            if switches_left == 0 {
                return part;
            }
        }
    }
    if is_missing || (!is_whole_history && next_ns > begin_ns) {
        part.holes.push((0, next_ns));
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_explain::recording::{Loss, Task};

    fn subject(due_ns: u64, end_ns: u64) -> Subject {
        Subject {
            task: Task {
                tid: 1,
                name: "t".to_owned(),
                policy: 1,
                priority: 50,
                kernel_thread: false,
                served: false,
            },
            process: 1,
            loss: Loss::Late,
            due_ns,
            waking_ns: due_ns,
            end_ns,
            lost_ns: end_ns - due_ns,
            from_ns: 0,
            call: None,
            busy: false,
        }
    }

    /// Event `n` comes at 10 `n`; each tenth is a switch.
    fn found(numbers: Range<u64>, missing: &[u64]) -> (Vec<u64>, Vec<(u64, u64)>) {
        let last_switch = numbers.end.saturating_sub(1) / 10 * 10;
        let part = part(numbers, last_switch, &subject(205, 405), false, |number| {
            let kind = match number % 10 {
                0 => Kind::RECORDER_SWITCH,
                _ => Kind::RECORDER_IDLE,
            };
            (!missing.contains(&number)).then(|| recorder_event {
                ns: number * 10,
                kind: kind.0 as u16,
                ..Default::default()
            })
        });
        (part.numbers, part.holes)
    }

    #[test]
    fn the_interval_and_what_had_the_cpu_are_found() {
        let all: Vec<u64> = (20..=40).rev().collect();
        assert_eq!(found(0..50, &[]), (all.clone(), Vec::new()));
        assert_eq!(found(7..50, &[]), (all.clone(), Vec::new()));
        // What is missing outside is of no interest.
        assert_eq!(found(0..50, &[3, 19, 42, 43, 49]), (all, Vec::new()));
    }

    #[test]
    fn timers_that_came_soon_after_it_are_kept() {
        // The interval is 205 to 405; each fifth event is a timer.
        let part = part(0..100, 40, &subject(205, 405), false, |number| {
            let kind = match number {
                20 | 40 => Kind::RECORDER_SWITCH,
                _ if number % 5 == 0 => Kind::RECORDER_HRTIMER_ENTRY,
                _ => Kind::RECORDER_IDLE,
            };
            Some(recorder_event {
                ns: number * 10,
                kind: kind.0 as u16,
                ..Default::default()
            })
        });
        let after = part.numbers.into_iter();
        let after: Vec<u64> = after.take_while(|number| number * 10 > 405).collect();
        assert_eq!(after, [60, 55, 50, 45]);
        assert_eq!(part.holes, []);
    }

    #[test]
    fn a_switch_long_ago_is_not_searched_for() {
        let mut reads = 0;
        let part = part(0..10_000, 40, &subject(99_500, 99_900), false, |number| {
            reads += 1;
            let kind = match number {
                40 => Kind::RECORDER_SWITCH,
                _ => Kind::RECORDER_IDLE,
            };
            Some(recorder_event {
                ns: number * 10,
                kind: kind.0 as u16,
                ..Default::default()
            })
        });
        assert_eq!(part.numbers.last(), Some(&40));
        assert_eq!(part.holes, []);
        assert!(
            part.numbers.len() > BEFORE && reads < BEFORE + 100,
            "{reads}"
        );
        // What interrupted the task before is not known.
        assert!(
            part.gap
                .is_some_and(|(from, to)| from == 400 && to < 99_500)
        );
    }

    /// 500 timers are due at once, and the thread is due in their midst: their interrupt's begin is
    /// looked for.
    #[test]
    fn the_begin_of_an_interrupt_is_found_behind_all_that_happens_in_it() {
        let read = |number: u64| {
            let kind = match number {
                10 => Kind::RECORDER_SWITCH,
                20 => Kind::RECORDER_VECTOR_ENTRY,
                21..1000 if number.is_multiple_of(2) => Kind::RECORDER_HRTIMER_EXIT,
                21..1000 => Kind::RECORDER_HRTIMER_ENTRY,
                1000 => Kind::RECORDER_VECTOR_EXIT,
                _ => Kind::RECORDER_IDLE,
            };
            Some(recorder_event {
                ns: number * 10,
                kind: kind.0 as u16,
                ..Default::default()
            })
        };
        let part = part(0..1100, 10, &subject(9_995, 10_500), false, read);
        assert!(part.numbers.contains(&20), "{:?}", part.numbers.last());
        assert_eq!(part.numbers.last(), Some(&10));
    }

    #[test]
    fn a_switch_that_was_not_traced_says_since_when() {
        let part = part(0..50, 40, &subject(205, 405), false, |number| {
            let is_switch = number % 10 == 0;
            Some(recorder_event {
                ns: number * 10,
                kind: if is_switch {
                    Kind::RECORDER_SWITCH
                } else {
                    Kind::RECORDER_IDLE
                }
                .0 as u16,
                what: if number == 30 {
                    Flags::RECORDER_UNTRACED.0 as u16
                } else {
                    0
                },
                a: 215,
                ..Default::default()
            })
        });
        assert_eq!((part.untraced, part.holes), (vec![(215, 300)], vec![]));
    }

    #[test]
    fn what_is_missing_is_a_hole() {
        let holes = |numbers, missing| found(numbers, missing).1;
        assert_eq!(holes(0..50, &[30]), [(290, 310)]);
        assert_eq!(holes(0..50, &[30, 31, 25]), [(290, 320), (240, 260)]);
        // The last ones before the end, and the last ones at all.
        assert_eq!(holes(0..50, &[40, 41]), [(390, 405)]);
        assert_eq!(holes(0..41, &[40]), [(390, 405)]);
        // Who had the CPU when it was due.
        assert_eq!(holes(0..50, &[20]), [(190, 210)]);
        // The begin was overwritten.
        assert_eq!(holes(25..50, &[]), [(0, 250)]);
        assert_eq!(holes(15..50, &[20]), [(190, 210)]);
        let none: Vec<u64> = (0..50).collect();
        assert_eq!(holes(0..50, &none), [(0, 405)]);
        // Before the first one there was no recorder.
        assert_eq!(holes(0..0, &[]), []);
    }
}
