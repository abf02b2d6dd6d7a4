// SPDX-License-Identifier: GPL-2.0-only
//! What changes a task's class or CPUs while it is there.

use crate::mask::Mask;
use crate::sim::{Scheduler, Sim};
use crate::task::{Id, State};
use std::rc::Rc;

impl Sim<'_> {
    /// A task that is not real-time leaves its class, while it waits or runs.
    pub(crate) fn leave_other(&mut self, cpu: u32, id: Id) {
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_leave(cpu, id),
            _ => self.fair_leave(cpu, id),
        }
    }

    /// ... and comes to it.
    pub(crate) fn join_other(&mut self, cpu: u32, id: Id) {
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_come(cpu, id),
            _ => self.fair_come(cpu, id),
        }
    }

    pub(crate) fn yield_other(&mut self, cpu: u32, id: Id) {
        match self.setup.scheduler {
            Scheduler::Artis => self.ext_yield(cpu, id),
            _ => self.fair_yield(cpu, id),
        }
    }

    /// The task that runs on `cpu` may use other CPUs from now on.
    pub(crate) fn set_mask(&mut self, cpu: u32, id: Id, mask: Rc<Mask>) {
        let task = &mut self.tasks[id as usize];
        task.allowed_count = mask.len();
        task.allowed = mask;
        let stays = task.allowed.contains(cpu);
        if self.ext.is_some() {
            self.ext_mask_changed(cpu, id);
        }
        if stays {
            return;
        }
        // As the kernel's stopper: off this CPU, and woken up where it may be.
        let at = self.cpus[cpu as usize].local(self.now);
        self.block(cpu, id);
        self.tasks[id as usize].state = State::Asleep;
        self.wake(id, cpu, at, crate::wake::How::New);
    }
}
