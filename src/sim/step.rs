// SPDX-License-Identifier: GPL-2.0-only
//! A task goes on in its program: what each step costs, does and waits for.
//!
//! What a step means stands at `artis_scenario::model::Op`; live runs do the same. Locks,
//! conditions and semaphores take a call only where somebody waits, as futexes do. A task that was
//! woken looks again whether it may go on.

use crate::queue::NEVER;
use crate::sim::Sim;
use crate::task::{Id, Phase, State};
use artis_scenario::model::{Access, Op, Work};

/// Calls move so many bytes of a file at most.
const FILE_CALL: u64 = 64 * 1024;

/// Steps that take no time, in a row: then the task is taken to be in an endless loop.
const FREE_STEPS_MAX: u32 = 100_000;

/// What a step did.
pub(crate) enum Done {
    /// It is over.
    Yes,
    /// The task sleeps now, and looks again when it was woken.
    Waits,
    /// The task sleeps now, and the step is over when it was woken.
    WaitsOnce,
    /// The step goes on: so much work in the kernel, as a new call or fault.
    More(u64),
}

impl Sim<'_> {
    /// The task, which runs on `cpu`, has done all that was left of its phase.
    pub(crate) fn progress(&mut self, cpu: u32, id: Id) {
        match self.tasks[id as usize].phase {
            Phase::Next => self.next_step(cpu, id),
            Phase::User => {
                self.tasks[id as usize].phase = Phase::Next;
            }
            Phase::Kernel => self.effect(cpu, id),
        }
        self.touch(cpu);
    }

    /// Takes steps up to one that takes time.
    fn next_step(&mut self, cpu: u32, id: Id) {
        for _ in 0..FREE_STEPS_MAX {
            let task = &mut self.tasks[id as usize];
            task.phase = Phase::Next;
            let program = &self.scenario.tasks[task.kind as usize].program;
            let Some(op) = task.cursor.advance(program) else {
                task.op = None;
                let cost = self.setup.costs.exit.once();
                self.enter(cpu, id, cost);
                return;
            };
            task.op = Some(op);
            task.rest = 0;
            if let Some(ns) = self.user_work(op) {
                if ns > 0 {
                    let task = &mut self.tasks[id as usize];
                    task.phase = Phase::User;
                    task.left_ns = ns;
                    task.until_ns = self.now.saturating_add(ns);
                    return;
                }
                continue;
            }
            if self.without_call(cpu, id, op) {
                continue;
            }
            let cost = self.call_cost(id, op);
            self.enter(cpu, id, cost);
            return;
        }
        // Others may go on; the check of scenarios refuses such loops without a step that can wait.
        self.tasks[id as usize].left_ns = 1;
    }

    /// How long a step computes in user mode; none: it is another kind of step.
    fn user_work(&self, op: &Op) -> Option<u64> {
        let costs = &self.setup.costs;
        Some(match op {
            Op::Compute(Work::Ns(ns)) => *ns,
            Op::Compute(Work::Instructions(count)) => costs.instruction.times(*count),
            Op::Busy { ns } => *ns,
            Op::Memory(memory) => match memory.access {
                Access::Read | Access::Write => costs.memory_byte.times(memory.amount),
                Access::Chase { .. } => costs.chase.times(memory.amount),
            },
            _ => return None,
        })
    }

    /// What the call of a step costs before it does what it is for.
    fn call_cost(&mut self, id: Id, op: &Op) -> u64 {
        let costs = &self.setup.costs;
        let call = costs.call.once();
        match op {
            Op::Kernel { ns } => call + ns,
            Op::Faults { pages } => {
                self.tasks[id as usize].rest = u64::from(*pages);
                call
            }
            Op::File { bytes, .. } => {
                let now = (*bytes).min(FILE_CALL);
                self.tasks[id as usize].rest = bytes - now;
                call + costs.file_byte.times(now)
            }
            Op::Send { .. } | Op::Receive { .. } => call + costs.message.once(),
            Op::Fork { .. } => call + costs.fork.once(),
            _ => call,
        }
    }

    /// The task enters the kernel for so much work.
    fn enter(&mut self, cpu: u32, id: Id, cost: u64) {
        let section = self.setup.costs.section.once().min(cost);
        let task = &mut self.tasks[id as usize];
        task.phase = Phase::Kernel;
        task.left_ns = cost;
        task.section_ns = section;
        if self.ext.is_some() {
            self.ext_enters(cpu, id);
        }
    }

    /// The work in the kernel is done: the step does what it is for.
    fn effect(&mut self, cpu: u32, id: Id) {
        let Some(op) = self.tasks[id as usize].op else {
            self.end_task(cpu, id);
            return;
        };
        match self.act(cpu, id, op) {
            Done::Yes => self.leave(id),
            Done::Waits => {
                if self.tasks[id as usize].state == State::Running {
                    self.block(cpu, id);
                }
            }
            Done::WaitsOnce => {
                self.leave(id);
                if self.tasks[id as usize].state == State::Running {
                    self.block(cpu, id);
                }
            }
            Done::More(cost) => {
                let is_fault = matches!(op, Op::Faults { .. });
                if !is_fault {
                    self.enter(cpu, id, cost);
                    return;
                }
                let section = self.setup.costs.section.once().min(cost);
                let task = &mut self.tasks[id as usize];
                task.left_ns = cost;
                task.section_ns = section;
                if self.ext.is_some() {
                    self.ext_faults(cpu, id);
                }
            }
        }
    }

    /// It goes back to user mode.
    fn leave(&mut self, id: Id) {
        let task = &mut self.tasks[id as usize];
        task.phase = Phase::Next;
        task.section_ns = 0;
        task.left_ns = 0;
    }

    /// The task has ended.
    fn end_task(&mut self, cpu: u32, id: Id) {
        let now = self.now;
        for mutex in std::mem::take(&mut self.tasks[id as usize].holds) {
            self.give_back(cpu, id, mutex as usize);
        }
        let task = &mut self.tasks[id as usize];
        task.had.finish(now);
        task.had.ended_ns = Some(now);
        let kind = task.kind as usize;
        self.block(cpu, id);
        self.tasks[id as usize].state = State::Ended;
        self.tasks[id as usize].left_ns = NEVER;
        self.living[kind] -= 1;
        self.living_all -= 1;
        if self.living[kind] == 0 {
            let joiners = self.objects.joiners[kind].take_all();
            self.wake_all(cpu, joiners);
        }
        if self.scenario.tasks[kind].is_foreground {
            self.foreground -= 1;
        }
        let with_foreground = self.scenario.end.with_foreground && self.foreground == 0;
        self.is_over |= with_foreground || self.living_all == 0;
    }
}
