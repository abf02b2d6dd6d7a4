// SPDX-License-Identifier: GPL-2.0-only
//! A CPU takes its next task: classes in their order, as the kernel's `__schedule()` does.

use crate::cpu::Resched;
use crate::queue::NEVER;
use crate::sim::{Scheduler, Sim};
use crate::task::{Id, Phase, State};
use artis_scenario::model::Op;

impl Sim<'_> {
    /// The CPU's next task, be it the one that runs.
    pub(crate) fn schedule(&mut self, cpu: u32) {
        self.count(cpu);
        self.touch(cpu);
        let previous = self.cpus[cpu as usize].current;
        self.cpus[cpu as usize].resched = Resched::No;
        let goes_on = previous.filter(|id| self.tasks[*id as usize].state == State::Running);
        let next = match self.realtime_pick(cpu, goes_on) {
            Some(id) => Some(id),
            None => self.pick_other(cpu, goes_on),
        };
        if next.is_some() && next == goes_on {
            self.balance_realtime(cpu);
            return;
        }
        if let Some(id) = goes_on {
            self.put_back(cpu, id, next);
        }
        self.switch(cpu, previous, next);
        self.balance_realtime(cpu);
    }

    /// The next of the tasks that are not real-time.
    fn pick_other(&mut self, cpu: u32, goes_on: Option<Id>) -> Option<Id> {
        let other = goes_on.filter(|id| !self.tasks[*id as usize].is_realtime());
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_pick(cpu, other),
            _ => self.fair_pick(cpu, other),
        }
    }

    /// The task makes way, and waits.
    fn put_back(&mut self, cpu: u32, id: Id, next: Option<Id>) {
        let now = self.now;
        let displaces = next.is_some_and(|next| self.tasks[next as usize].is_realtime());
        let task = &mut self.tasks[id as usize];
        task.state = State::Queued;
        task.had.waits_since_ns = now;
        task.had.displaced += u64::from(displaces && !task.is_realtime());
        if task.is_realtime() {
            self.realtime_put_back(cpu, id);
            return;
        }
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_put_back(cpu, id, next),
            _ => self.fair_put_back(cpu, id),
        }
    }

    fn switch(&mut self, cpu: u32, previous: Option<Id>, next: Option<Id>) {
        let now = self.now;
        let costs = &self.setup.costs;
        let is_artis = self.setup.scheduler == Scheduler::Artis;
        let mut cost = 0;
        if next != previous {
            cost = costs.switch.once();
            let other = next.is_some_and(|id| !self.tasks[id as usize].is_realtime());
            if is_artis && other {
                cost += costs.switch_of_artis.once();
            }
        }
        let cost = cost + self.lock(cpu, cpu);
        let it = &mut self.cpus[cpu as usize];
        let was_realtime = previous.is_some_and(|id| self.tasks[id as usize].is_realtime());
        it.realtime_load.note(now, was_realtime);
        it.work(now, cost);
        it.current = next;
        it.counted_to = it.counted_to.max(now);
        match next {
            Some(id) => {
                if it.tick_at == NEVER {
                    let period = self.setup.costs.tick_ns;
                    it.tick_at = (now / period + 1) * period;
                }
                it.switches += u64::from(next != previous);
                self.idle.remove(cpu);
                let local = self.cpus[cpu as usize].local(now);
                let task = &mut self.tasks[id as usize];
                task.state = State::Running;
                let latency = task.had.begin(now, local);
                if let Some(latency) = latency {
                    self.latencies.note(task.class, latency);
                }
                // The clock has gone on while it waited.
                if task.phase == Phase::User && matches!(task.op, Some(Op::Busy { .. })) {
                    task.left_ns = task.until_ns.saturating_sub(local);
                }
            }
            None => {
                it.tick_at = NEVER;
                self.idle.insert(cpu);
            }
        }
        if let Some(trace) = &mut self.trace {
            trace.switch(cpu, previous, next, now);
        }
        self.balance
            .now_runs(cpu, next.map(|id| self.tasks[id as usize].rank()));
        if is_artis {
            self.ext_switched(cpu, next);
        }
    }
}
