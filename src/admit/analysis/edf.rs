// SPDX-License-Identifier: GPL-2.0-only
//! EDF and FIFO: the worst response of one task, with interrupts and blocking.
//!
//! Sources: M. Spuri, "Analysis of deadline scheduled real-time systems", INRIA 2772, 1996 (the
//! worst response need not begin with all releases at once: each time at which a deadline of
//! others falls together with the job's); S. Bozhko, B. Brandenburg, ECRTS 2020 (blocking by
//! sections, supply, and FIFO).

use super::cpu::{Cpu, Member};
use super::demand::{Due, busy};
use super::stream::{Load, Meter, Stream, Why};
use super::window::{Job, Others, Window};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Tasks whose jobs go first when their deadline is not later.
pub struct Earlier<'a> {
    dues: &'a [Due],
    own: Due,
}

impl Earlier<'_> {
    /// Jobs that are due by then come within so long.
    fn within(&self, due: &Due, at_ns: u64, length_ns: u64) -> u64 {
        (at_ns + 1 + self.own.deadline_ns)
            .saturating_sub(due.deadline_ns)
            .min(length_ns)
    }
}

impl Others for Earlier<'_> {
    fn work(&self, at_ns: u64, length_ns: u64, meter: &Meter) -> u64 {
        if !meter.take(self.dues.len() as u64 + 1) {
            return u64::MAX;
        }
        let work = self.dues.iter();
        let work = work.map(|due| due.stream.work(self.within(due, at_ns, length_ns)));
        let own = self
            .own
            .stream
            .work(self.within(&self.own, at_ns, length_ns));
        work.fold(0, u64::saturating_add) - own
    }

    fn jobs(&self, at_ns: u64, length_ns: u64) -> u64 {
        let jobs =
            |due: &Due| due.stream.arrivals(self.within(due, at_ns, length_ns)) * due.stream.tasks;
        self.dues.iter().map(jobs).sum::<u64>() - jobs(&self.own)
    }
}

/// The window of a task; `dues` are all tasks of the CPU.
pub fn window<'a>(
    cpu: &'a Cpu,
    member: &'a Member,
    dues: &'a [Due],
    meter: &'a Meter,
) -> Window<'a, Earlier<'a>> {
    let own = Due {
        stream: member.stream,
        deadline_ns: member.room_ns(),
    };
    Window {
        cpu,
        member,
        others: Earlier { dues, own },
        meter,
    }
}

/// The job that answers last; the first one that is later than `enough` ends the search.
pub fn worst(
    cpu: &Cpu,
    member: &Member,
    dues: &[Due],
    meter: &Meter,
    enough: Option<u64>,
) -> Result<Job, Why> {
    let window = window(cpu, member, dues, meter);
    let room = member.room_ns();
    let end = busy(cpu, dues, meter)?;
    let own = [(member.stream, 0)];
    let others = dues.iter().map(|due| {
        let shift = due.deadline_ns as i64 - room as i64;
        (due.stream, shift)
    });
    let mut points = Points::new(own.into_iter().chain(others));
    points.also(
        cpu.blocking
            .levels()
            .iter()
            .filter_map(|it| it.checked_sub(room)),
    );
    let mut worst: Option<Job> = None;
    for at in points.take_while(|at| *at < end) {
        meter.take(8);
        let job = window.job(at, cpu.blocking.at(at + room), 0)?;
        if worst.is_none_or(|worst| job.response_ns() > worst.response_ns()) {
            worst = Some(job);
        }
        if enough.is_some_and(|enough| job.response_ns() > enough) {
            break;
        }
    }
    worst.ok_or(Why::Spent)
}

/// Tasks whose jobs go first when they were released no later.
pub struct Before<'a> {
    load: &'a Load,
    own: Stream,
}

impl Others for Before<'_> {
    fn work(&self, at_ns: u64, _: u64, meter: &Meter) -> u64 {
        self.load.work(at_ns + 1, meter) - self.own.work(at_ns + 1)
    }

    fn jobs(&self, at_ns: u64, _: u64) -> u64 {
        self.load.jobs(at_ns + 1) - self.own.arrivals(at_ns + 1)
    }
}

/// The window of a task under FIFO; `load` is that of all tasks.
pub fn fifo<'a>(
    cpu: &'a Cpu,
    member: &'a Member,
    load: &'a Load,
    meter: &'a Meter,
) -> Window<'a, Before<'a>> {
    let own = member.stream;
    Window {
        cpu,
        member,
        others: Before { load, own },
        meter,
    }
}

/// Under FIFO, the job that answers last. A task's job is among all those that come first, so the
/// longest response of any job bounds that of each.
pub fn worst_of_fifo(
    cpu: &Cpu,
    member: &Member,
    load: &Load,
    dues: &[Due],
    meter: &Meter,
) -> Result<Job, Why> {
    let window = fifo(cpu, member, load, meter);
    let end = busy(cpu, dues, meter)?;
    let blocking = cpu.blocking.at(0);
    let points = Points::new(load.streams().iter().map(|one| (*one, 0)));
    let mut worst: Option<Job> = None;
    for at in points.take_while(|at| *at < end) {
        let from = worst.map_or(0, |job| if job.at_ns <= at { job.begun_ns } else { 0 });
        let job = window.job(at, blocking, from)?;
        if worst.is_none_or(|worst| job.response_ns() > worst.response_ns()) {
            worst = Some(job);
        }
    }
    worst.ok_or(Why::Spent)
}

/// Times at which jobs come, shifted, ascending and each once: where a bound may be largest.
struct Points {
    next: BinaryHeap<Reverse<(u64, usize)>>,
    streams: Vec<(Stream, i64)>,
    /// How many jobs of each stream have come.
    counts: Vec<u64>,
    last: Option<u64>,
}

impl Points {
    fn new(streams: impl Iterator<Item = (Stream, i64)>) -> Self {
        let mut points = Self {
            next: BinaryHeap::new(),
            streams: streams.collect(),
            counts: Vec::new(),
            last: None,
        };
        points.counts = vec![0; points.streams.len()];
        for which in 0..points.streams.len() {
            points.push(which);
        }
        points
    }

    /// These, too.
    fn also(&mut self, times: impl Iterator<Item = u64>) {
        self.next.extend(times.map(|at| Reverse((at, usize::MAX))));
    }

    /// The next time of a stream that is not negative.
    fn push(&mut self, which: usize) {
        let (stream, shift) = self.streams[which];
        let Stream {
            period_ns,
            jitter_ns,
            ..
        } = stream;
        loop {
            let count = self.counts[which];
            self.counts[which] += 1;
            let at = match count {
                0 => Some(0),
                // The first that comes after the beginning, then one each period.
                count => (jitter_ns / period_ns + count)
                    .checked_mul(period_ns)
                    .map(|at| at - jitter_ns),
            };
            let Some(at) = at.and_then(|at| i64::try_from(at).ok()) else {
                return;
            };
            if at + shift >= 0 {
                self.next.push(Reverse(((at + shift) as u64, which)));
                return;
            }
            // Far below zero all jobs up to it can be passed over at once.
            let behind = (-(at + shift)) as u64 / period_ns;
            self.counts[which] += behind.saturating_sub(1);
        }
    }
}

impl Iterator for Points {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let Reverse((at, which)) = self.next.pop()?;
            if which < self.streams.len() {
                self.push(which);
            }
            if self.last != Some(at) {
                self.last = Some(at);
                return Some(at);
            }
        }
    }
}
