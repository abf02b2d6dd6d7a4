// SPDX-License-Identifier: GPL-2.0-only
//! The loop: the next moment of all, and what happens then on its CPU.

use crate::costs::Preemption;
use crate::cpu::{Comes, Resched};
use crate::queue::NEVER;
use crate::sim::{Scheduler, Sim};
use crate::task::{Id, Phase, State};
use artis_scenario::model::Policy;

/// So much happens in one moment at most: then the scheduler is taken to go round in circles, as
/// one may whose rules are wrong and where nothing costs anything.
const AT_ONCE_MAX: u64 = 20_000_000;

impl Sim<'_> {
    /// To its end.
    pub fn run(&mut self) {
        self.begin();
        while self.advance() {}
        self.finish();
    }

    /// The common start.
    pub fn begin(&mut self) {
        self.populate();
        self.start_limits();
        self.update_queue();
    }

    /// One event. False: that was the last.
    pub fn advance(&mut self) -> bool {
        let (at, cpu) = self.queue.first();
        if self.is_over || at == NEVER || at > self.setup.end_ns {
            return false;
        }
        if at > self.now {
            self.at_once = 0;
        }
        self.now = at;
        self.events += 1;
        self.last_cpu = cpu;
        self.happens(cpu);
        self.update_queue();
        true
    }

    /// Counts what is not counted yet.
    pub fn finish(&mut self) {
        if !self.is_over && self.living_all > 0 && self.setup.end_ns != NEVER {
            self.now = self.setup.end_ns;
        }
        let now = self.now;
        for task in self
            .tasks
            .iter_mut()
            .filter(|task| task.state == State::Queued)
        {
            task.had.waits(now);
        }
        for cpu in 0..self.cpus.len() as u32 {
            self.count(cpu);
            let it = &self.cpus[cpu as usize];
            if let Some(trace) = &mut self.trace {
                trace.end(cpu, it.current, self.now);
            }
        }
    }

    fn happens(&mut self, cpu: u32) {
        self.count(cpu);
        self.touch(cpu);
        let now = self.now;
        if self.cpus[cpu as usize].ipi_at <= now && self.cpus[cpu as usize].busy_until <= now {
            self.cpus[cpu as usize].ipi_at = NEVER;
            let cost = self.setup.costs.interrupt.once();
            // An idle CPU waits for nothing but that.
            if self.cpus[cpu as usize].current.is_some() {
                self.cpus[cpu as usize].work(now, cost);
            }
        }
        // A task that has just done its work does not see what comes in the same moment.
        self.settle(cpu);
        while self.cpus[cpu as usize].next_timer() <= now
            && self.cpus[cpu as usize].busy_until <= now
        {
            self.fires(cpu);
            self.settle(cpu);
        }
    }

    /// The first timer of that CPU is due.
    fn fires(&mut self, cpu: u32) {
        let now = self.now;
        let it = &mut self.cpus[cpu as usize];
        let first = it.timers.peek().map_or(NEVER, |first| first.0.at);
        it.work(now, self.setup.costs.interrupt.once());
        let is_tick = it.tick_at < first;
        self.touch(cpu);
        if is_tick {
            self.tick(cpu);
            return;
        }
        let Some(timer) = self.cpus[cpu as usize].timers.pop().map(|first| first.0) else {
            return;
        };
        match timer.what {
            Comes::Wakeup(id) => {
                self.ext_interrupt(Some(cpu));
                self.wake_by_timer(id, cpu, timer.at);
                self.ext_interrupt(None);
            }
            Comes::Start(id) => self.start(id, cpu, timer.at),
            Comes::Scheduler(address) => self.ext_timer(cpu, address),
            Comes::LetOn => self.ext_let_on(cpu),
            Comes::Refill(group) => self.fair_refill(cpu, group),
        }
    }

    /// Does what can be done on that CPU at once: it takes another task, or its task goes on.
    pub(crate) fn settle(&mut self, cpu: u32) {
        loop {
            self.at_once += 1;
            if self.at_once > AT_ONCE_MAX {
                self.is_stuck = true;
                self.is_over = true;
            }
            let it = &self.cpus[cpu as usize];
            if it.busy_until > self.now || self.is_over {
                return;
            }
            if self.may_reschedule(cpu) {
                self.schedule(cpu);
                continue;
            }
            let Some(id) = it.current else {
                return;
            };
            if it.works_from > self.now || self.tasks[id as usize].left_ns > 0 {
                return;
            }
            self.progress(cpu, id);
        }
    }

    /// Does the CPU look for its next task now?
    fn may_reschedule(&self, cpu: u32) -> bool {
        let it = &self.cpus[cpu as usize];
        let Some(id) = it.current else {
            return it.resched != Resched::No;
        };
        let task = &self.tasks[id as usize];
        match it.resched {
            Resched::No => false,
            _ if task.state != State::Running => true,
            _ if task.is_in_user_mode() => true,
            Resched::Lazy => false,
            Resched::Now => task.section_ns == 0 && self.setup.costs.preemption != Preemption::None,
        }
    }

    /// Counts the time of the task that runs there, up to now.
    pub(crate) fn count(&mut self, cpu: u32) {
        let now = self.now;
        let it = &mut self.cpus[cpu as usize];
        let Some(id) = it.current else {
            it.idle_ns += now.saturating_sub(it.counted_to);
            it.counted_to = it.counted_to.max(now);
            return;
        };
        let task = &mut self.tasks[id as usize];
        if now > it.works_from {
            let done = now - it.works_from;
            it.works_from = now;
            task.had.work_ns += done.min(task.left_ns);
            task.left_ns = task.left_ns.saturating_sub(done);
            task.section_ns = task.section_ns.saturating_sub(done);
        }
        if now <= it.counted_to {
            return;
        }
        let ran = now - it.counted_to;
        it.counted_to = now;
        task.had
            .run(cpu, self.setup.layout.is_rt[cpu as usize], ran);
        if matches!(task.policy, Policy::RoundRobin { .. }) {
            task.round_ns = task.round_ns.saturating_sub(ran);
        }
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_count(id, ran),
            _ if !self.tasks[id as usize].is_realtime() => self.fair_count(cpu, id, ran),
            _ => {}
        }
    }

    /// A tick: time slices end, and the scheduler looks at what runs.
    fn tick(&mut self, cpu: u32) {
        let (now, period) = (self.now, self.setup.costs.tick_ns);
        let cost = self.setup.costs.tick.once();
        let it = &mut self.cpus[cpu as usize];
        it.tick_at = (now / period + 1) * period;
        it.work(now, cost);
        let Some(id) = it.current else {
            it.tick_at = NEVER;
            return;
        };
        let is_realtime = self.tasks[id as usize].is_realtime();
        it.realtime_load.note(now, is_realtime);
        // What waited for a tick waits no longer.
        if it.resched == Resched::Lazy {
            it.resched = Resched::Now;
        }
        if is_realtime {
            self.realtime_tick(cpu, id);
        }
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_tick(cpu, id, is_realtime),
            _ => self.fair_tick(cpu, id, is_realtime),
        }
    }

    /// The CPU is to look for its next task; another CPU says so.
    pub(crate) fn reschedule(&mut self, cpu: u32, by: u32, how: Resched) {
        let it = &mut self.cpus[cpu as usize];
        it.resched = it.resched.max(how);
        if by != cpu && (how == Resched::Now || it.current.is_none()) {
            let at = self.cpus[by as usize].local(self.now) + self.setup.costs.ipi.once();
            let it = &mut self.cpus[cpu as usize];
            it.ipi_at = it.ipi_at.min(at);
        }
        self.touch(cpu);
    }

    /// A task begins.
    fn start(&mut self, id: Id, cpu: u32, at: u64) {
        let task = &mut self.tasks[id as usize];
        task.phase = Phase::Next;
        task.had.started_ns = at;
        task.had.activated_ns = Some(at);
        task.activate(at);
        if task.had.deadline_ns == 0
            && let Policy::Deadline { deadline_ns, .. } = task.policy
        {
            task.had.deadline_ns = deadline_ns;
        }
        self.wake(id, cpu, at, crate::wake::How::New);
    }
}
