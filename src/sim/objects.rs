// SPDX-License-Identifier: GPL-2.0-only
//! What tasks share: locks, conditions, channels, timers and streams, and who waits for them.

use crate::sim::Sim;
use crate::task::{Id, NO_RANK, State, fixed_rank};
use crate::wake::How;
use artis_scenario::Scenario;
use artis_scenario::model::Protocol;
use std::collections::VecDeque;

/// The state of all objects of a scenario.
#[derive(Debug)]
pub struct Objects<'s> {
    scenario: &'s Scenario,
    pub mutexes: Vec<Mutex>,
    pub conditions: Vec<Waiters>,
    pub semaphores: Vec<(u32, Waiters)>,
    pub barriers: Vec<Barrier>,
    pub channels: Vec<Channel>,
    /// The next time of shared timers; none: nobody has used it yet.
    pub timers: Vec<Option<u64>>,
    streams: Vec<Stream>,
    /// Who waits until all of a kind have ended.
    pub joiners: Vec<Waiters>,
    born: Vec<u32>,
    seed: u64,
}

/// The times of a stream of arrivals, as far as they were asked for.
#[derive(Debug, Default)]
struct Stream {
    times: Vec<u64>,
    is_done: bool,
}

#[derive(Debug, Default)]
pub struct Mutex {
    pub holder: Option<Id>,
    pub waiters: Waiters,
}

#[derive(Debug, Default)]
pub struct Barrier {
    pub here: u32,
    pub waiters: Waiters,
}

#[derive(Debug, Default)]
pub struct Channel {
    pub bytes: u32,
    pub readers: Waiters,
    pub writers: Waiters,
}

/// Tasks that wait: real-time ones by priority, the others in turn.
#[derive(Debug, Default)]
pub struct Waiters(VecDeque<Id>);

impl<'s> Objects<'s> {
    pub fn new(scenario: &'s Scenario, seed: u64) -> Self {
        let objects = &scenario.objects;
        fn many<T: Default>(count: usize) -> Vec<T> {
            (0..count).map(|_| T::default()).collect()
        }
        Self {
            mutexes: many(objects.mutexes.len()),
            conditions: many(objects.conditions.len()),
            semaphores: {
                let values = objects.semaphores.iter();
                values.map(|it| (it.value, Waiters::default())).collect()
            },
            barriers: many(objects.barriers.len()),
            channels: many(objects.channels.len()),
            timers: many(objects.timers.len()),
            streams: many(objects.arrivals.len()),
            joiners: many(scenario.tasks.len()),
            born: vec![0; scenario.tasks.len()],
            scenario,
            seed,
        }
    }

    /// The number of a new task among its kind.
    pub fn born(&mut self, kind: u32) -> u32 {
        let count = &mut self.born[kind as usize];
        *count += 1;
        *count - 1
    }

    /// The time of a stream's arrival; none: it has no more.
    pub fn arrival(&mut self, stream: usize, nth: usize) -> Option<u64> {
        let at = &mut self.streams[stream];
        if at.times.len() <= nth && !at.is_done {
            // Once more from the beginning, twice as many: a stream of a seed is always the same.
            let want = (nth + 1).max(2 * at.times.len()).max(64);
            let arrivals = &self.scenario.objects.arrivals[stream];
            at.times = arrivals.times(self.seed, stream).take(want).collect();
            at.is_done = at.times.len() < want;
        }
        at.times.get(nth).copied()
    }

    /// Does a mutex give its holder a priority?
    pub fn may_boost(&self) -> bool {
        let mut mutexes = self.scenario.objects.mutexes.iter();
        mutexes.any(|mutex| mutex.protocol != Protocol::None)
    }
}

impl Waiters {
    /// One more waits.
    pub fn push(&mut self, id: Id, rank: u64, rank_of: impl Fn(Id) -> u64) {
        let at = match rank {
            NO_RANK => self.0.len(),
            _ => {
                let before = self.0.iter().position(|other| rank_of(*other) > rank);
                before.unwrap_or(self.0.len())
            }
        };
        self.0.insert(at, id);
    }

    /// The first, which waits no more.
    pub fn pop(&mut self) -> Option<Id> {
        self.0.pop_front()
    }

    pub fn remove(&mut self, id: Id) {
        self.0.retain(|other| *other != id);
    }

    pub fn first(&self) -> Option<Id> {
        self.0.front().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take_all(&mut self) -> Vec<Id> {
        self.0.drain(..).collect()
    }
}

/// Lists of waiters, for what a task waits at.
macro_rules! waits_at {
    ($sim:expr, $id:expr, $list:expr) => {{
        let tasks = &$sim.tasks;
        let rank = tasks[$id as usize].rank();
        $list.push($id, rank, |other| tasks[other as usize].rank());
    }};
}
pub(crate) use waits_at;

impl Sim<'_> {
    /// The task goes on because of what the task on `cpu` did.
    pub(crate) fn wake_by(&mut self, cpu: u32, id: Id, sync: bool) {
        let at = self.cpus[cpu as usize].local(self.now);
        self.wake(id, cpu, at, if sync { How::Sync } else { How::Task });
    }

    pub(crate) fn wake_all(&mut self, cpu: u32, ids: Vec<Id>) {
        for id in ids {
            self.wake_by(cpu, id, false);
        }
    }

    /// Takes the mutex, or waits for it. True: it has it.
    pub(crate) fn take(&mut self, id: Id, mutex: usize) -> bool {
        let it = &mut self.objects.mutexes[mutex];
        match it.holder {
            None => {
                it.holder = Some(id);
                self.tasks[id as usize].holds.push(mutex as u32);
                self.update_boost(id);
                true
            }
            Some(holder) if holder == id => true,
            Some(holder) => {
                it.waiters.remove(id);
                waits_at!(self, id, self.objects.mutexes[mutex].waiters);
                self.update_boost(holder);
                false
            }
        }
    }

    /// Gives the mutex back. With inheritance the first that waits has it then; else it is free,
    /// and whoever comes first takes it.
    pub(crate) fn give_back(&mut self, cpu: u32, id: Id, mutex: usize) {
        let it = &mut self.objects.mutexes[mutex];
        if it.holder != Some(id) {
            return;
        }
        it.holder = None;
        let next = it.waiters.pop();
        self.tasks[id as usize]
            .holds
            .retain(|held| *held != mutex as u32);
        self.update_boost(id);
        let Some(next) = next else {
            return;
        };
        let protocol = self.scenario.objects.mutexes[mutex].protocol;
        if protocol == Protocol::Inheritance {
            self.objects.mutexes[mutex].holder = Some(next);
            self.tasks[next as usize].holds.push(mutex as u32);
            self.update_boost(next);
        }
        self.wake_by(cpu, next, false);
    }

    /// The priority that the mutexes it holds give a task.
    fn update_boost(&mut self, id: Id) {
        let task = &self.tasks[id as usize];
        let mut boost = NO_RANK;
        for mutex in &task.holds {
            match self.scenario.objects.mutexes[*mutex as usize].protocol {
                Protocol::None => {}
                Protocol::Ceiling(priority) => boost = boost.min(fixed_rank(priority)),
                Protocol::Inheritance => {
                    let first = self.objects.mutexes[*mutex as usize].waiters.first();
                    let rank = first.map_or(NO_RANK, |id| self.tasks[id as usize].rank());
                    boost = boost.min(rank);
                }
            }
        }
        let boost = (boost != NO_RANK).then_some(boost);
        if task.boost != boost {
            self.set_rank(id, |task| task.boost = boost);
        }
    }

    /// Changes what a task's rank depends on: its class may be another one then.
    pub(crate) fn set_rank(&mut self, id: Id, change: impl FnOnce(&mut crate::task::Task<'_>)) {
        let task = &self.tasks[id as usize];
        let (before, state, cpu) = (task.rank(), task.state, task.cpu);
        let was_realtime = task.is_realtime();
        if state == State::Running {
            self.count(cpu);
        }
        // As the kernel's sched_change: out of its class, changed, and in again.
        if !was_realtime && matches!(state, State::Queued | State::Running) {
            self.leave_other(cpu, id);
        }
        change(&mut self.tasks[id as usize]);
        let is_realtime = self.tasks[id as usize].is_realtime();
        if self.ext.is_some() {
            self.ext_policy_changed(id);
        }
        match state {
            State::Queued if was_realtime && is_realtime => self.rank_changed(id),
            State::Queued if was_realtime => {
                self.realtime_leave(id);
                self.join_other(cpu, id);
            }
            State::Queued if is_realtime => self.realtime_enqueue(id, cpu),
            State::Queued => self.join_other(cpu, id),
            State::Running => {
                if !is_realtime {
                    self.join_other(cpu, id);
                }
                let rank = self.tasks[id as usize].rank();
                self.balance.now_runs(cpu, Some(rank));
                self.realtime_note(cpu);
                if rank > before {
                    self.reschedule(cpu, cpu, crate::cpu::Resched::Now);
                }
            }
            _ => {}
        }
    }
}
