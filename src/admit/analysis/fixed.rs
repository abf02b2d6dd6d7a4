// SPDX-License-Identifier: GPL-2.0-only
//! Fixed priorities: the worst response of one task, several jobs of it in a busy window.
//!
//! Sources: M. Joseph, P. Pandya, "Finding response times in a real-time system", 1986;
//! J. Lehoczky, RTSS 1990, for deadlines after the next release; for jobs that are not preempted
//! R. Davis and others, "Controller Area Network (CAN) schedulability analysis", 2007.

use super::cpu::{Cpu, Member};
use super::stream::{Load, Meter, Stream, Why, least};
use super::window::{Job, Others, Window};

/// The tasks of higher and equal priority, without the one that is analysed.
pub struct Higher<'a> {
    load: &'a Load,
    without: Stream,
}

impl Others for Higher<'_> {
    fn work(&self, _: u64, length_ns: u64, meter: &Meter) -> u64 {
        let all = self.load.work(length_ns, meter);
        all - self.without.work(length_ns)
    }

    fn jobs(&self, _: u64, length_ns: u64) -> u64 {
        self.load.jobs(length_ns) - self.without.arrivals(length_ns)
    }
}

/// The window of a task; `load` is that of all tasks of its priority and higher ones.
pub fn window<'a>(
    cpu: &'a Cpu,
    member: &'a Member,
    load: &'a Load,
    meter: &'a Meter,
) -> Window<'a, Higher<'a>> {
    let without = member.stream;
    Window {
        cpu,
        member,
        others: Higher { load, without },
        meter,
    }
}

/// The job that answers last; the first one that is later than `enough` ends the search.
pub fn worst(
    cpu: &Cpu,
    member: &Member,
    load: &Load,
    meter: &Meter,
    enough: Option<u64>,
) -> Result<Job, Why> {
    let window = window(cpu, member, load, meter);
    let blocking = cpu.blocking.at(member.urgency);
    let mut worst = window.job(0, blocking, 0)?;
    let is_late = |job: &Job| enough.is_some_and(|enough| job.response_ns() > enough);
    if is_late(&worst) {
        return Ok(worst);
    }
    let mut last = worst;
    let mut length = None;
    for at in member.stream.later_arrivals() {
        if at >= last.end_ns {
            // Where jobs are preempted the window is over; else more urgent ones may be left.
            let end = match length {
                _ if cpu.is_preemptive => at,
                Some(length) => length,
                None => *length.insert(end(cpu, load, blocking, meter)?),
            };
            if at >= end {
                break;
            }
        }
        last = window.job(at, blocking, last.begun_ns)?;
        if last.response_ns() > worst.response_ns() {
            worst = last;
        }
        if is_late(&worst) {
            break;
        }
    }
    Ok(worst)
}

/// How long the busy window is.
fn end(cpu: &Cpu, load: &Load, blocking_ns: u64, meter: &Meter) -> Result<u64, Why> {
    least(blocking_ns, meter, |x| {
        blocking_ns
            .saturating_add(load.work(x, meter))
            .saturating_add(cpu.taken_of(x, meter))
    })
}
