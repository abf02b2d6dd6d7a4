// SPDX-License-Identifier: GPL-2.0-only
//! A task becomes runnable, or runnable no more.

use crate::cpu::{Comes, Resched};
use crate::sim::{Scheduler, Sim};
use crate::task::{Id, State};

/// How a task becomes runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is new.
    New,
    /// An interrupt of a timer or a device wakes it up.
    Interrupt,
    /// Another task does.
    Task,
    /// The same, and that one says that it sleeps soon.
    Sync,
}

impl Sim<'_> {
    /// The timer for which a task sleeps is due, on this CPU, since `at`.
    pub(crate) fn wake_by_timer(&mut self, id: Id, cpu: u32, at: u64) {
        let task = &mut self.tasks[id as usize];
        if task.state != State::Asleep || task.until_ns != at {
            return;
        }
        task.has_come = true;
        self.wake(id, cpu, at, How::Interrupt);
    }

    /// The task is runnable from now on: `by` is the CPU that says so. `since`: what it is measured
    /// from, because it was to run then.
    pub(crate) fn wake(&mut self, id: Id, by: u32, since: u64, how: How) {
        let task = &self.tasks[id as usize];
        if !matches!(task.state, State::Asleep | State::Unborn) {
            return;
        }
        let from = task.cpu;
        let cpu = self.select(id, by, how);
        let cost = self.setup.costs.wakeup.once() + self.lock(by, cpu);
        let now = self.now;
        self.cpus[by as usize].work(now, cost);
        self.touch(by);
        let task = &mut self.tasks[id as usize];
        task.state = State::Queued;
        task.had.waits_since_ns = since;
        task.had.wakes = how != How::New;
        if task.cpu != cpu {
            self.moves(id, from, cpu);
        }
        self.enqueue(id, by, how);
    }

    /// Locks the run queue of a CPU. The time for which this one waits.
    pub(crate) fn lock(&mut self, by: u32, cpu: u32) -> u64 {
        let held = self.setup.costs.lock.once();
        if held == 0 {
            return 0;
        }
        let at = self.cpus[by as usize].local(self.now);
        let other = &mut self.cpus[cpu as usize];
        let waits = other.locked_until.saturating_sub(at);
        other.locked_until = at + waits + held;
        waits
    }

    /// The CPU where a task that wakes up goes.
    fn select(&mut self, id: Id, by: u32, how: How) -> u32 {
        let task = &self.tasks[id as usize];
        if task.is_realtime() {
            return self.realtime_select(id);
        }
        if task.allowed_count == 1 && self.setup.scheduler != Scheduler::Artis {
            return task
                .allowed
                .first_of_both(&task.allowed)
                .unwrap_or(task.cpu);
        }
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_select(id, by, how),
            _ => self.fair_select(id, by, how),
        }
    }

    fn enqueue(&mut self, id: Id, by: u32, how: How) {
        if self.tasks[id as usize].is_realtime() {
            self.realtime_enqueue(id, by);
            return;
        }
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_enqueue_woken(id, by, how),
            _ => self.fair_enqueue_woken(id, by, how),
        }
    }

    /// The task is on another CPU from now on.
    pub(crate) fn moves(&mut self, id: Id, from: u32, to: u32) {
        self.tasks[id as usize].cpu = to;
        if self.ext.is_some() {
            self.ext_moved(id, to);
        }
        let layout = &self.setup.layout;
        let task = &mut self.tasks[id as usize];
        if task.had.switches == 0 {
            return;
        }
        task.had.migrations += 1;
        let mut cost = self.setup.costs.moving.once();
        if layout.cache_of(from) != layout.cache_of(to) {
            let bytes = self.scenario.tasks[task.kind as usize].working_set_bytes;
            cost += self.setup.costs.dirty_byte.times(bytes);
        }
        // It has to fetch what it works with.
        task.left_ns = task.left_ns.saturating_add(cost);
        task.had.work_ns = task.had.work_ns.saturating_sub(cost);
    }

    /// The current task of that CPU sleeps from now on.
    pub(crate) fn block(&mut self, cpu: u32, id: Id) {
        self.count(cpu);
        let task = &mut self.tasks[id as usize];
        task.state = State::Asleep;
        task.section_ns = 0;
        self.dequeue(cpu, id, true);
        self.cpus[cpu as usize].resched = Resched::Now;
        self.touch(cpu);
    }

    /// It sleeps until that time.
    pub(crate) fn sleep_until(&mut self, cpu: u32, id: Id, at: u64) {
        let task = &mut self.tasks[id as usize];
        task.until_ns = at;
        task.has_come = false;
        self.set_timer(cpu, at, Comes::Wakeup(id));
        self.block(cpu, id);
    }

    /// A task that runs is runnable no more, or not as it was.
    pub(crate) fn dequeue(&mut self, cpu: u32, id: Id, sleeps: bool) {
        if self.tasks[id as usize].is_realtime() {
            self.realtime_note(cpu);
            return;
        }
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_dequeue(cpu, id, sleeps),
            _ => self.fair_dequeue(cpu, id),
        }
    }
}
