// SPDX-License-Identifier: GPL-2.0-only
//! A small exact simulator of one CPU, from event to event, in whole units of time.
//!
//! Jobs are lists of pieces: plain ones, sections during which no other task runs, and pieces with
//! a lock. Interrupts are above all of it. It says whether any job is late.

use artis_admit::model::Protocol;

/// A stretch of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    Plain(u64),
    Section(u64),
    Lock(usize, u64),
}

impl Piece {
    fn length(self) -> u64 {
        match self {
            Self::Plain(length) | Self::Section(length) | Self::Lock(_, length) => length,
        }
    }
}

/// A task: released at `offset`, then each period, each release later by up to the jitter: the
/// first one is as late as it can be, all others come on time.
#[derive(Clone, Debug)]
pub struct Source {
    pub pieces: Vec<Piece>,
    pub period: u64,
    pub deadline: u64,
    pub jitter: u64,
    pub offset: u64,
    /// Of fixed priorities; higher is more urgent.
    pub priority: u64,
    pub is_interrupt: bool,
    /// One job only.
    pub once: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Fixed,
    Edf,
    Fifo,
}

#[derive(Clone, Debug)]
struct Job {
    source: usize,
    released: u64,
    /// By which jobs are ordered under EDF.
    due: u64,
    late_after: u64,
    piece: usize,
    /// Of the piece.
    done: u64,
}

/// What runs on the CPU.
pub struct Machine<'a> {
    pub order: Order,
    pub sources: &'a [Source],
    pub protocols: &'a [Protocol],
}

impl Machine<'_> {
    /// The smaller, the sooner.
    fn rank(&self, job: &Job) -> (u64, u64, usize) {
        let source = &self.sources[job.source];
        let first = match self.order {
            _ if source.is_interrupt => 0,
            Order::Fixed => 1 + (1000 - source.priority),
            Order::Edf => 1 + job.due,
            Order::Fifo => 1 + job.released,
        };
        // Of those released at once under FIFO, the one with the least time waits longest.
        let second = match self.order {
            Order::Fifo => u64::MAX - source.deadline,
            _ => job.released,
        };
        (first, second, job.source)
    }

    fn piece(&self, job: &Job) -> Piece {
        self.sources[job.source].pieces[job.piece]
    }

    /// The lock that a job has now.
    fn held(&self, job: &Job) -> Option<usize> {
        match self.piece(job) {
            Piece::Lock(lock, _) if job.done > 0 => Some(lock),
            _ => None,
        }
    }

    /// The ceiling of a lock: the most urgent priority, or relative deadline, of its users.
    fn ceiling(&self, lock: usize) -> u64 {
        let uses = |source: &&Source| {
            let mut pieces = source.pieces.iter();
            pieces.any(|piece| matches!(piece, Piece::Lock(one, _) if *one == lock))
        };
        let users = self.sources.iter().filter(uses);
        let level = |source: &Source| match self.order {
            Order::Edf => source.deadline - source.jitter,
            _ => 1000 - source.priority,
        };
        users.map(level).min().unwrap_or(u64::MAX)
    }

    /// Which job runs.
    fn choose(&self, jobs: &[Job]) -> Option<usize> {
        let interrupt = (0..jobs.len())
            .filter(|at| self.sources[jobs[*at].source].is_interrupt)
            .min_by_key(|at| self.rank(&jobs[*at]));
        if interrupt.is_some() {
            return interrupt;
        }
        let in_section = |job: &Job| matches!(self.piece(job), Piece::Section(_)) && job.done > 0;
        if let Some(at) = jobs.iter().position(in_section) {
            return Some(at);
        }
        // A job that has not begun waits for ceilings that are not below it.
        let kept_back = |at: &usize| {
            let job = &jobs[*at];
            let begun = job.piece > 0 || job.done > 0;
            let level = match self.order {
                Order::Edf => {
                    let source = &self.sources[job.source];
                    source.deadline - source.jitter
                }
                _ => 1000 - self.sources[job.source].priority,
            };
            !begun
                && jobs.iter().any(|other| {
                    self.held(other).is_some_and(|lock| {
                        self.protocols[lock] == Protocol::Ceiling && self.ceiling(lock) <= level
                    })
                })
        };
        let free = (0..jobs.len()).filter(|at| !kept_back(at));
        let first = free.min_by_key(|at| self.rank(&jobs[*at]))?;
        // Who waits for a lock lends its owner the CPU.
        match self.piece(&jobs[first]) {
            Piece::Lock(lock, _) if jobs[first].done == 0 => {
                let owner = jobs.iter().position(|job| self.held(job) == Some(lock));
                Some(owner.unwrap_or(first))
            }
            _ => Some(first),
        }
    }

    /// The first source whose job is late before `end`.
    pub fn late(&self, end: u64) -> Option<usize> {
        let mut next: Vec<(u64, u64)> = self
            .sources
            .iter()
            .map(|source| (source.offset + source.jitter, 0))
            .collect();
        let mut jobs: Vec<Job> = Vec::new();
        let mut now = 0;
        while now < end {
            for (which, source) in self.sources.iter().enumerate() {
                while next[which].0 <= now {
                    let nominal = source.offset + next[which].1 * source.period;
                    let released = next[which].0;
                    jobs.push(Job {
                        source: which,
                        released,
                        due: released + source.deadline - source.jitter,
                        late_after: nominal + source.deadline,
                        piece: 0,
                        done: 0,
                    });
                    let count = next[which].1 + 1;
                    let at = (source.offset + count * source.period).max(released);
                    next[which] = (if source.once { u64::MAX } else { at }, count);
                }
            }
            let coming = next.iter().map(|one| one.0).min().unwrap_or(end);
            let Some(at) = self.choose(&jobs) else {
                now = coming;
                continue;
            };
            let left = self.piece(&jobs[at]).length() - jobs[at].done;
            let run = left.min(coming - now);
            now += run;
            let job = &mut jobs[at];
            job.done += run;
            if run == left {
                (job.piece, job.done) = (job.piece + 1, 0);
                if job.piece == self.sources[job.source].pieces.len() {
                    if now > job.late_after {
                        return Some(job.source);
                    }
                    jobs.remove(at);
                }
            }
            if let Some(job) = jobs.iter().find(|job| now > job.late_after) {
                return Some(job.source);
            }
        }
        None
    }
}

fn source(length: u64, period: u64, priority: u64) -> Source {
    Source {
        pieces: vec![Piece::Plain(length)],
        period,
        deadline: period,
        jitter: 0,
        offset: 0,
        priority,
        is_interrupt: false,
        once: false,
    }
}

fn late(order: Order, sources: &[Source], protocols: &[Protocol]) -> Option<usize> {
    let machine = Machine {
        order,
        sources,
        protocols,
    };
    machine.late(1000)
}

#[test]
fn the_simulator_knows_textbook_sets() {
    let sources = [source(2, 5, 9), source(4, 7, 8)];
    assert_eq!(late(Order::Fixed, &sources, &[]), Some(1));
    assert_eq!(late(Order::Edf, &sources, &[]), None);
    // An inversion: the middle one runs for 50 while the low one has the lock of the high one.
    let mut low = source(1, 1000, 1);
    low.pieces = vec![Piece::Lock(0, 10)];
    let middle = Source {
        offset: 2,
        ..source(50, 1000, 2)
    };
    let high = Source {
        pieces: vec![Piece::Lock(0, 2)],
        offset: 1,
        deadline: 20,
        ..source(1, 1000, 3)
    };
    let all = [low, middle, high];
    assert_eq!(late(Order::Fixed, &all, &[Protocol::Inheritance]), None);
    assert_eq!(late(Order::Fixed, &all, &[Protocol::Ceiling]), None);
}
