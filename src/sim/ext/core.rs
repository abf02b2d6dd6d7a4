// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel's sched_ext does around a scheduler: when it asks, and what it does then.

use super::{Direct, EPOCH_NS, flags};
use crate::cpu::Resched;
use crate::sim::Sim;
use crate::sys;
use crate::task::{Id, State};
use crate::wake::How;

/// A function of the scheduler that is told of the current task.
type Hook = Option<unsafe extern "C" fn()>;

impl Sim<'_> {
    fn place(&mut self, id: Id) -> *mut sys::task_struct {
        self.ext().tasks.at(id)
    }

    /// A task wakes up: the scheduler says where it goes.
    pub(crate) fn ext_select(&mut self, id: Id, by: u32, how: How) -> u32 {
        let task = &self.tasks[id as usize];
        let from = task.cpu;
        self.ext().direct = None;
        let task = &self.tasks[id as usize];
        if task.allowed_count == 1 {
            return task.allowed.first_of_both(&task.allowed).unwrap_or(from);
        }
        let flags = if how == How::Sync {
            flags::WAKE_SYNC
        } else {
            0
        };
        let place = self.place(id);
        let cpu = self.ask(by, Some(id), |it| {
            // SAFETY: the task stays where it is.
            it.select_cpu
                .map_or(-1, |select| unsafe { select(place, from as i32, flags) })
        });
        self.note(by, id, || {
            format!("wakes up on CPU {by}, was on CPU {from}: CPU {cpu}")
        });
        let task = &self.tasks[id as usize];
        match u32::try_from(cpu) {
            Ok(cpu) if task.allowed.contains(cpu) => cpu,
            _ => task.allowed.first_of_both(&task.allowed).unwrap_or(from),
        }
    }

    pub(crate) fn ext_enqueue_woken(&mut self, id: Id, by: u32, how: How) {
        let cpu = self.tasks[id as usize].cpu;
        self.native(id).scx.flags |= flags::TASK_QUEUED;
        self.native(id).__state = 0;
        self.ext().cpus[cpu as usize].rq.scx.nr_running += 1;
        let wakes = if how == How::New { 0 } else { flags::WAKEUP };
        match self.ext().direct.take() {
            Some(direct) if direct.id == id => self.ext_insert(direct, by),
            _ => self.ext_ask_where(id, by, wakes),
        }
        self.ext_obey(by);
    }

    /// The scheduler says in which queue the task waits.
    fn ext_ask_where(&mut self, id: Id, by: u32, with: u64) {
        self.ext().direct = None;
        let place = self.place(id);
        self.ask(by, Some(id), |it| {
            if let Some(enqueue) = it.enqueue {
                // SAFETY: the task stays where it is.
                unsafe { enqueue(place, with) };
            }
        });
        if let Some(direct) = self.ext().direct.take() {
            self.ext_insert(direct, by);
        } else {
            self.note(by, id, || {
                "waits nowhere: the scheduler keeps it".to_owned()
            });
        }
    }

    /// Inserts the task as the scheduler said.
    fn ext_insert(&mut self, direct: Direct, by: u32) {
        let Direct {
            id,
            queue,
            slice,
            flags: with,
            vtime,
        } = direct;
        let native = self.native(id);
        native.scx.slice = if slice > 0 {
            slice
        } else {
            native.scx.slice.max(1)
        };
        if let Some(vtime) = vtime {
            native.scx.dsq_vtime = vtime;
        }
        let cpu = match queue {
            flags::LOCAL => self.tasks[id as usize].cpu,
            _ if queue & flags::LOCAL_ON == flags::LOCAL_ON => queue as u32,
            _ => {
                self.ext_put(id, queue, vtime, with & flags::HEAD != 0);
                self.note_place(by, id, queue, vtime);
                return;
            }
        };
        let from = self.tasks[id as usize].cpu;
        if from != cpu {
            self.moves(id, from, cpu);
        }
        let head = with & (flags::HEAD | flags::PREEMPT) != 0;
        self.ext_put_local(id, cpu, head);
        self.note(by, id, || match head {
            true => format!("waits first of all for CPU {cpu}"),
            false => format!("waits in front of CPU {cpu}, in turn"),
        });
        match self.cpus[cpu as usize].current {
            None => self.reschedule(cpu, by, Resched::Now),
            Some(current) if with & flags::PREEMPT != 0 => {
                let task = &self.tasks[current as usize];
                if !task.is_realtime() && current != id {
                    self.native(current).scx.slice = 0;
                    self.reschedule(cpu, by, Resched::Now);
                }
            }
            Some(_) => {}
        }
    }

    /// The next task of a CPU.
    pub(crate) fn ext_pick(&mut self, cpu: u32, goes_on: Option<Id>) -> Option<Id> {
        if let Some(id) = goes_on
            && self.native(id).scx.slice > 0
        {
            return Some(id);
        }
        if self.ext().local[cpu as usize].len() == 0 {
            let before = self.cpus[cpu as usize].current;
            let before = before.filter(|id| !self.tasks[*id as usize].is_realtime());
            let previous = before.map_or(std::ptr::null_mut(), |id| self.place(id));
            self.ask(cpu, None, |it| {
                if let Some(dispatch) = it.dispatch {
                    // SAFETY: the task, or none, stays where it is.
                    unsafe { dispatch(cpu as i32, previous) };
                }
            });
            self.ext_obey(cpu);
            if let Some(id) = goes_on
                && self.native(id).scx.slice > 0
            {
                self.note(cpu, id, || format!("goes on on CPU {cpu}"));
                return Some(id);
            }
        }
        let id = self.ext().local[cpu as usize].first()?;
        self.ext_take(id);
        Some(id)
    }

    /// The task makes way. With a rest of its slice it is the next; else the scheduler says.
    pub(crate) fn ext_put_back(&mut self, cpu: u32, id: Id, next: Option<Id>) {
        if self.native(id).scx.slice > 0 {
            self.ext_put_local(id, cpu, true);
            return;
        }
        let with = if next.is_none() { flags::LAST } else { 0 };
        self.ext_ask_where(id, cpu, with);
        self.ext_obey(cpu);
    }

    /// Another task runs there from now on.
    pub(crate) fn ext_switched(&mut self, cpu: u32, next: Option<Id>) {
        let local = self.cpus[cpu as usize].local(self.now) + EPOCH_NS;
        let idle = std::ptr::from_mut(&mut *self.ext().tasks.idle);
        let place = next.map_or(idle, |id| self.place(id));
        self.ext().cpus[cpu as usize].rq.curr = place;
        self.ext_note_realtime(cpu);
        let Some(id) = next else {
            return;
        };
        self.native(id).sched_info.last_arrival = local;
        if !self.tasks[id as usize].is_realtime() {
            self.ext_runs(cpu, id);
        }
    }

    /// The task yields: the scheduler hears of it, and the CPU looks for its next one.
    pub(crate) fn ext_yield(&mut self, cpu: u32, id: Id) {
        let place = self.place(id);
        self.ask(cpu, Some(id), |it| {
            if let Some(yields) = it.yields {
                // SAFETY: the task stays where it is.
                unsafe { yields(place) };
            }
        });
        self.ext_obey(cpu);
        self.cpus[cpu as usize].resched = Resched::Now;
    }

    /// The scheduler hears that the task runs.
    fn ext_runs(&mut self, cpu: u32, id: Id) {
        let place = self.place(id);
        self.ask(cpu, Some(id), |it| {
            if let Some(running) = it.running {
                // SAFETY: the task stays where it is.
                unsafe { running(place) };
            }
        });
        self.ext_obey(cpu);
    }

    /// The task has run for so long.
    pub(crate) fn ext_count(&mut self, id: Id, ran_ns: u64) {
        let is_realtime = self.tasks[id as usize].is_realtime();
        let native = self.native(id);
        native.se.sum_exec_runtime += ran_ns;
        if !is_realtime && native.scx.slice != u64::MAX {
            native.scx.slice = native.scx.slice.saturating_sub(ran_ns);
        }
    }

    /// A tick finds the task there.
    pub(crate) fn ext_tick(&mut self, cpu: u32, id: Id, is_realtime: bool) {
        self.ext_interrupt(Some(cpu));
        self.ask(cpu, None, |it| {
            if let Some(any) = it.any_tick {
                // SAFETY: the scheduler has begun.
                unsafe { any() };
            }
        });
        if !is_realtime && self.tasks[id as usize].state == State::Running {
            let place = self.place(id);
            self.ask(cpu, Some(id), |it| {
                if let Some(tick) = it.tick {
                    // SAFETY: the task stays where it is.
                    unsafe { tick(place) };
                }
            });
            if self.native(id).scx.slice == 0 {
                self.note(cpu, id, || {
                    format!("its slice on CPU {cpu} ends at this tick")
                });
                self.reschedule(cpu, cpu, Resched::Now);
            }
        }
        self.ext_interrupt(None);
        self.ext_obey(cpu);
    }

    /// The task sleeps, or leaves the class.
    pub(crate) fn ext_dequeue(&mut self, cpu: u32, id: Id, sleeps: bool) {
        let local = self.cpus[cpu as usize].local(self.now) + EPOCH_NS;
        let own = self.tasks[id as usize].cpu;
        let native = self.native(id);
        native.se.exec_start = local;
        native.__state = u32::from(sleeps);
        native.scx.flags &= !flags::TASK_QUEUED;
        let running = &mut self.ext().cpus[own as usize].rq.scx.nr_running;
        *running = running.saturating_sub(1);
        let with = if sleeps { flags::DEQ_SLEEP } else { 0 };
        let place = self.place(id);
        self.ask(cpu, Some(id), |it| {
            if let Some(quiescent) = it.quiescent {
                // SAFETY: the task stays where it is.
                unsafe { quiescent(place, with) };
            }
        });
        self.ext_obey(cpu);
    }

    /// It leaves the class while it waits or runs; and it comes to it.
    pub(crate) fn ext_leave(&mut self, cpu: u32, id: Id) {
        if self.tasks[id as usize].state == State::Queued {
            self.ext_take(id);
        }
        self.ext_dequeue(cpu, id, false);
    }

    pub(crate) fn ext_come(&mut self, cpu: u32, id: Id) {
        self.native(id).scx.flags |= flags::TASK_QUEUED;
        self.ext().cpus[cpu as usize].rq.scx.nr_running += 1;
        if self.tasks[id as usize].state == State::Running {
            self.ext_runs(cpu, id);
            return;
        }
        self.ext_ask_where(id, cpu, 0);
        self.ext_obey(cpu);
    }

    /// The current task enters the kernel: the scheduler is told where it watches.
    pub(crate) fn ext_enters(&mut self, cpu: u32, id: Id) {
        if self.setup.layout.is_rt[cpu as usize] {
            let cost = self.setup.costs.watched_call.once();
            let now = self.now;
            self.cpus[cpu as usize].work(now, cost);
        }
        self.ext_tell_entry(cpu, id, |it| it.enters);
    }

    /// It has a page fault.
    pub(crate) fn ext_faults(&mut self, cpu: u32, id: Id) {
        self.ext_tell_entry(cpu, id, |it| it.faults);
    }

    fn ext_tell_entry(&mut self, cpu: u32, id: Id, which: fn(&sys::sim_scheduler) -> Hook) {
        // Preemption is on: the section is in the body of the call.
        let section = std::mem::take(&mut self.tasks[id as usize].section_ns);
        self.ask(cpu, None, |it| {
            if let Some(tell) = which(it) {
                // SAFETY: the scheduler has begun.
                unsafe { tell() };
            }
        });
        self.ext_waited(cpu);
        self.ext_obey(cpu);
        if self.cpus[cpu as usize].resched == Resched::No {
            self.tasks[id as usize].section_ns = section;
        }
    }

    /// The scheduler waited in a loop: so long interrupts were off.
    fn ext_waited(&mut self, cpu: u32) {
        let spent = self.ext().shared.spent_ns;
        // A few looks at the clock are no wait.
        if spent > 4 * self.ext().shared.spin_ns {
            let now = self.now;
            self.cpus[cpu as usize].work(now, spent);
        }
    }

    /// A timer of the scheduler is due.
    pub(crate) fn ext_timer(&mut self, cpu: u32, address: usize) {
        let due = self.ext().timers.get(&address).copied();
        if due.is_none_or(|due| due > self.now) {
            return;
        }
        self.ext().timers.remove(&address);
        self.ask(cpu, None, |it| {
            if let Some(timer) = it.timer {
                // SAFETY: the scheduler set this timer, in a map that lives as long as it does.
                unsafe { timer(std::ptr::with_exposed_provenance_mut(address)) };
            }
        });
        self.ext_obey(cpu);
    }

    /// How many real-time tasks are runnable on a CPU.
    pub(crate) fn ext_note_realtime(&mut self, cpu: u32) {
        let it = &self.cpus[cpu as usize];
        let is_fixed = |id: &Id| {
            let policy = self.tasks[*id as usize].policy;
            !matches!(policy, artis_scenario::model::Policy::Deadline { .. })
        };
        let current = it.current.filter(|id| {
            let task = &self.tasks[*id as usize];
            task.is_realtime() && task.state == State::Running
        });
        let waiting = it.realtime.values().filter(|id| is_fixed(id)).count();
        let deadline = it.realtime.len() - waiting;
        let running = current.is_some_and(|id| is_fixed(&id));
        let fixed = waiting + usize::from(running);
        let moves = |id: &Id| self.tasks[*id as usize].allowed_count > 1;
        let overloaded = fixed > 1 && it.realtime.values().any(moves);
        let deadline = deadline + usize::from(current.is_some() && !running);
        let rq = &mut self.ext().cpus[cpu as usize].rq;
        rq.rt.rt_nr_running = fixed as u32;
        rq.rt.overloaded = overloaded;
        rq.dl.dl_nr_running = deadline as u32;
    }

    /// The task is on another CPU.
    pub(crate) fn ext_moved(&mut self, id: Id, to: u32) {
        let native = self.native(id);
        let from = native.thread_info.cpu;
        native.thread_info.cpu = to;
        if native.scx.flags & flags::TASK_QUEUED != 0 && from != to {
            let ext = self.ext();
            let left = &mut ext.cpus[from as usize].rq.scx.nr_running;
            *left = left.saturating_sub(1);
            ext.cpus[to as usize].rq.scx.nr_running += 1;
        }
    }

    /// Does what the scheduler asked for beside its answers.
    pub(crate) fn ext_obey(&mut self, by: u32) {
        loop {
            if let Some((cpu, with)) = self.ext().kicks.pop() {
                self.ext_kicked(cpu, by, with);
            } else if let Some(cpu) = self.ext().hand_backs.pop() {
                self.ext_hand_back(cpu);
            } else {
                return;
            }
        }
    }

    fn ext_kicked(&mut self, cpu: u32, by: u32, with: u64) {
        let current = self.cpus[cpu as usize].current;
        if with & flags::KICK_IDLE != 0 && current.is_some() {
            return;
        }
        if let Some(id) = current
            && with & flags::KICK_PREEMPT != 0
            && !self.tasks[id as usize].is_realtime()
        {
            self.count_if_now(cpu);
            self.native(id).scx.slice = 0;
            self.note(by, id, || {
                format!("is asked to leave CPU {cpu}, by CPU {by}")
            });
        }
        self.reschedule(cpu, by, Resched::Now);
    }

    fn count_if_now(&mut self, cpu: u32) {
        if self.cpus[cpu as usize].counted_to < self.now {
            self.count(cpu);
        }
    }

    /// The tasks that wait behind a real-time one are asked about again.
    fn ext_hand_back(&mut self, cpu: u32) {
        let all: Vec<Id> = self.ext().local[cpu as usize].iter().collect();
        for id in all {
            self.ext_take(id);
            self.ext_ask_where(id, cpu, flags::REENQ);
        }
    }
}
