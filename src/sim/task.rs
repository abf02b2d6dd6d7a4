// SPDX-License-Identifier: GPL-2.0-only
//! A task that is simulated: where it stands, how it is scheduled, and what it has had.

use crate::fair::Entity;
use crate::mask::Mask;
use artis_scenario::model::{Class, Cursor, Op, Policy};
use std::rc::Rc;

/// A task's place in the list of all.
pub type Id = u32;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has not begun.
    Unborn,
    /// It waits for a moment or for another task.
    Asleep,
    /// It waits for a CPU.
    Queued,
    Running,
    Ended,
}

/// Where it is in the step of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It takes the next step.
    Next,
    /// It computes in user mode until nothing is left.
    User,
    /// It works in the kernel, and then does what the step is for.
    Kernel,
}

/// A task.
#[derive(Debug)]
pub struct Task<'s> {
    /// Its kind: a place in the scenario's tasks.
    pub kind: u32,
    /// Which of its kind.
    pub instance: u32,
    pub policy: Policy,
    /// Its class at the start.
    pub class: Class,
    pub state: State,
    /// Where it is, or was last.
    pub cpu: u32,
    pub allowed: Rc<Mask>,
    pub allowed_count: u32,

    pub cursor: Cursor,
    pub op: Option<&'s Op>,
    pub phase: Phase,
    /// How much is left of the phase.
    pub left_ns: u64,
    /// How much of that cannot be preempted.
    pub section_ns: u64,
    /// Calls, pages or bytes that a step has yet to do.
    pub rest: u64,
    /// Until when a step of busy waiting or sleeping goes on.
    pub until_ns: u64,
    pub has_come: bool,

    /// Its place among real-time tasks; the least comes first. Others have none.
    pub rank: u64,
    /// With what it inherits, or a ceiling gives it.
    pub boost: Option<u64>,
    /// Its place in the queue of its CPU, while it waits there as a real-time task.
    pub place: (u64, i64),
    pub fair: Entity,
    /// How much of its round is left, with `SCHED_RR`.
    pub round_ns: u64,

    /// Its own timers, by their numbers: the next time of each.
    pub timers: Vec<(u32, u64)>,
    /// Its place in each stream of arrivals that it uses: number, count, the last time.
    pub streams: Vec<(u32, u64)>,
    /// Signals that wait for it.
    pub signals: u32,
    /// Who waits for what it holds; mutexes, by their numbers.
    pub holds: Vec<u32>,
    pub group: u32,

    pub had: Had,
}

/// What a task has had.
#[derive(Clone, Debug, Default)]
pub struct Had {
    pub started_ns: u64,
    pub ended_ns: Option<u64>,
    /// CPU time on CPUs that are not RT, and on those that are.
    pub ran_ns: [u64; 2],
    /// By CPU, of the first ones that it used.
    pub by_cpu: Vec<(u32, u64)>,
    /// Since when it waits for a CPU.
    pub waits_since_ns: u64,
    pub waited_ns: u64,
    pub waited_ns_max: u64,
    /// Whether that wait is one after it woke up.
    pub wakes: bool,
    pub wakeups: u64,
    pub wakeup_ns: u64,
    pub wakeup_ns_max: u64,
    pub switches: u64,
    pub migrations: u64,
    pub displaced: u64,
    /// When its activation began, and how many deadlines there were and were met.
    pub activated_ns: Option<u64>,
    pub deadline_ns: u64,
    pub deadlines: u64,
    pub met: u64,
    pub response_ns_max: u64,
    /// Of its jobs: the CPU time from one activation to its end, least and most.
    pub job_ns: Option<(u64, u64)>,
    pub job_from_ns: u64,
    /// How much of its work is done, without what others cost it.
    pub work_ns: u64,
}

/// So many CPUs are counted one by one for each task: memory is linear in tasks.
const BY_CPU_MAX: usize = 16;

impl Had {
    /// It ran for so long.
    pub fn run(&mut self, cpu: u32, is_rt: bool, ns: u64) {
        self.ran_ns[usize::from(is_rt)] += ns;
        match self.by_cpu.iter_mut().find(|(known, _)| *known == cpu) {
            Some((_, sum)) => *sum += ns,
            None => {
                if self.by_cpu.len() < BY_CPU_MAX {
                    self.by_cpu.push((cpu, ns));
                }
            }
        }
    }

    /// It has waited up to now.
    pub fn waits(&mut self, now: u64) {
        let waited = now.saturating_sub(self.waits_since_ns);
        self.waited_ns += waited;
        self.waited_ns_max = self.waited_ns_max.max(waited);
    }

    /// It has its CPU from `now` on, and works there from `works` on, when the switch is done. How
    /// long that took since it woke up, if it did.
    pub fn begin(&mut self, now: u64, works: u64) -> Option<u64> {
        self.waits(now);
        self.switches += 1;
        if !std::mem::take(&mut self.wakes) {
            return None;
        }
        let latency = works.saturating_sub(self.waits_since_ns);
        self.wakeups += 1;
        self.wakeup_ns += latency;
        self.wakeup_ns_max = self.wakeup_ns_max.max(latency);
        Some(latency)
    }

    /// What it was activated for is done.
    pub fn finish(&mut self, now: u64) {
        let Some(since) = self.activated_ns.take() else {
            return;
        };
        let job = self.total_ns() - self.job_from_ns;
        let (least, most) = self.job_ns.unwrap_or((job, job));
        self.job_ns = Some((least.min(job), most.max(job)));
        self.job_from_ns = self.total_ns();
        let response = now.saturating_sub(since);
        self.response_ns_max = self.response_ns_max.max(response);
        if self.deadline_ns > 0 {
            self.deadlines += 1;
            self.met += u64::from(response <= self.deadline_ns);
        }
    }

    pub fn total_ns(&self) -> u64 {
        self.ran_ns.iter().sum()
    }
}

/// Of tasks that are not real-time.
pub const NO_RANK: u64 = u64::MAX;

/// Ranks of FIFO and RR begin here: below all deadlines.
const FIXED: u64 = 1 << 63;

/// The rank of a fixed priority, 1 to 99.
pub fn fixed_rank(priority: u8) -> u64 {
    FIXED + u64::from(99 - priority.min(99))
}

impl Task<'_> {
    /// The rank with which it is scheduled now.
    pub fn rank(&self) -> u64 {
        self.boost.map_or(self.rank, |boost| boost.min(self.rank))
    }

    /// Is a class above sched_ext and the fair class its class?
    pub fn is_realtime(&self) -> bool {
        self.rank() != NO_RANK
    }

    /// Does it work in user mode?
    pub fn is_in_user_mode(&self) -> bool {
        matches!(self.phase, Phase::Next | Phase::User)
    }

    pub fn nice(&self) -> i8 {
        match self.policy {
            Policy::Other { nice } | Policy::Batch { nice } | Policy::Ext { nice } => nice,
            _ => 0,
        }
    }

    /// Its policy and priority changed.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
        self.rank = match policy {
            Policy::Fifo { priority } | Policy::RoundRobin { priority } => fixed_rank(priority),
            // Until it is activated: behind all that are.
            Policy::Deadline { .. } => FIXED - 1,
            _ => NO_RANK,
        };
    }

    /// A deadline task is activated: its rank is its deadline.
    pub fn activate(&mut self, now: u64) {
        if let Policy::Deadline { deadline_ns, .. } = self.policy {
            self.rank = (now + deadline_ns).min(FIXED - 2);
        }
    }
}
