// SPDX-License-Identifier: GPL-2.0-only
//! The response of one job in a busy window, and what it is made of.
//!
//! A busy window begins when neither a job of this urgency nor an interrupt is left over. The job
//! that comes at `A` has begun its last stretch when the window has had room for what held it up,
//! for its task's jobs up to it, for the others that go first, and for all interrupts; then that
//! stretch is only interrupted. Source: S. Bozhko, B. Brandenburg, "Abstract response-time
//! analysis", ECRTS 2020, with interrupts as the most urgent interference; of several jobs in a
//! window the worst counts (J. Lehoczky, "Fixed priority scheduling of periodic task sets with
//! arbitrary deadlines", RTSS 1990).

use super::cpu::{Cpu, Member};
use super::stream::{Meter, Why, least};
use serde::Serialize;

/// What a bound is made of, nanoseconds; the sum of all is the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Parts {
    /// The job itself.
    pub own_ns: i64,
    /// Jobs of the same task before it in the busy window.
    pub earlier_ns: i64,
    /// Tasks that go first: of higher or equal priority, or with earlier deadlines or releases.
    pub others_ns: i64,
    /// Less urgent tasks and the kernel, by locks and sections.
    pub blocking_ns: i64,
    pub interrupts_ns: i64,
    pub tick_ns: i64,
    pub switches_ns: i64,
    /// From the event until the scheduler knows of the job: jitter and wakeup.
    pub jitter_ns: i64,
    /// What of the busy window was over when the job was released: 0 or negative.
    pub before_ns: i64,
}

impl Parts {
    /// The bound.
    pub fn sum(&self) -> i64 {
        self.own_ns
            + self.earlier_ns
            + self.others_ns
            + self.blocking_ns
            + self.interrupts_ns
            + self.tick_ns
            + self.switches_ns
            + self.jitter_ns
            + self.before_ns
    }
}

/// A job in a busy window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When it comes, from the window's beginning on.
    pub at_ns: u64,
    /// When it has begun its last stretch.
    pub begun_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    pub blocking_ns: u64,
}

impl Job {
    /// From its release to its end.
    pub fn response_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.at_ns)
    }
}

/// Work of others that goes first: how much, and how many jobs, in a window of this length.
pub trait Others {
    /// Work of jobs that come within `length_ns` and go before the job that comes at `at_ns`.
    fn work(&self, at_ns: u64, length_ns: u64, meter: &Meter) -> u64;
    /// How many those are.
    fn jobs(&self, at_ns: u64, length_ns: u64) -> u64;
}

/// A task and what its jobs meet.
pub struct Window<'a, O: Others> {
    pub cpu: &'a Cpu,
    pub member: &'a Member,
    pub others: O,
    pub meter: &'a Meter,
}

impl<O: Others> Window<'_, O> {
    /// What interrupts take.
    fn taken(&self, length_ns: u64) -> u64 {
        self.cpu.taken_of(length_ns, self.meter)
    }

    /// The part of a job that no task preempts once it has begun.
    fn last_ns(&self) -> u64 {
        match self.cpu.is_preemptive {
            true => 0,
            // It has begun when its first nanosecond is over.
            false => self.member.stream.cost_ns - 1,
        }
    }

    /// Work of the task's jobs up to the one that comes at `at_ns`.
    fn own(&self, at_ns: u64) -> u64 {
        self.member.stream.work(at_ns + 1)
    }

    /// The job that comes at `at_ns`, held up so long; `from` is not above its beginning.
    pub fn job(&self, at_ns: u64, blocking_ns: u64, from: u64) -> Result<Job, Why> {
        let before = self.own(at_ns).saturating_sub(self.last_ns());
        let before = before.saturating_add(blocking_ns);
        let demand = |x| before.saturating_add(self.others.work(at_ns, x, self.meter));
        let begun_ns = least(from.max(before), self.meter, |x| {
            demand(x).saturating_add(self.taken(x))
        })?;
        let end_ns = match self.last_ns() {
            0 => begun_ns,
            last => {
                let work = demand(begun_ns).saturating_add(last);
                least(begun_ns, self.meter, |x| work.saturating_add(self.taken(x)))?
            }
        };
        Ok(Job {
            at_ns,
            begun_ns,
            end_ns,
            blocking_ns,
        })
    }

    /// What the response of a job is made of, with the delay before its release.
    pub fn parts(&self, job: &Job) -> Parts {
        let count = self.member.stream.arrivals(job.at_ns + 1);
        let others = self.others.jobs(job.at_ns, job.begun_ns);
        let switches = self.cpu.switches_ns * (count + others);
        let unmetered = Meter::new(u64::MAX);
        let work = self.others.work(job.at_ns, job.begun_ns, &unmetered);
        Parts {
            own_ns: self.member.execution_ns as i64,
            earlier_ns: (self.member.execution_ns * (count - 1)) as i64,
            others_ns: (work - self.cpu.switches_ns * others) as i64,
            blocking_ns: job.blocking_ns as i64,
            interrupts_ns: self.cpu.interrupts.work(job.end_ns, &unmetered) as i64,
            tick_ns: self.cpu.tick.work(job.end_ns, &unmetered) as i64,
            switches_ns: switches as i64,
            jitter_ns: self.member.delay_ns as i64,
            before_ns: -(job.at_ns as i64),
        }
    }
}
