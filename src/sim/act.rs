// SPDX-License-Identifier: GPL-2.0-only
//! What each step does once its task is in the kernel, or without a call.

use crate::cpu::Comes;
use crate::objects::waits_at;
use crate::sim::Sim;
use crate::step::Done;
use crate::task::Id;
use artis_scenario::model::{Change, Op, Policy, Source};
use std::rc::Rc;

impl Sim<'_> {
    /// Does a step that needs no call at the moment, if it is one.
    pub(crate) fn without_call(&mut self, cpu: u32, id: Id, op: &Op) -> bool {
        match op {
            Op::Lock(mutex) => {
                self.objects.mutexes[*mutex].holder.is_none() && self.take(id, *mutex)
            }
            Op::Unlock(mutex) => {
                if !self.objects.mutexes[*mutex].waiters.is_empty() {
                    return false;
                }
                self.give_back(cpu, id, *mutex);
                true
            }
            Op::Signal(it) | Op::Broadcast(it) => self.objects.conditions[*it].is_empty(),
            Op::Post(it) => {
                let (value, waiters) = &mut self.objects.semaphores[*it];
                let is_free = waiters.is_empty();
                *value += u32::from(is_free);
                is_free
            }
            Op::Acquire(it) => {
                let (value, _) = &mut self.objects.semaphores[*it];
                let has = *value > 0;
                *value -= u32::from(has);
                has
            }
            Op::Barrier(it) => self.scenario.objects.barriers[*it].parties <= 1,
            _ => false,
        }
    }

    /// In the kernel.
    pub(crate) fn act(&mut self, cpu: u32, id: Id, op: &Op) -> Done {
        let now = self.now;
        match op {
            Op::Sleep { ns } => {
                if self.slept(id) {
                    return Done::Yes;
                }
                self.sleep_until(cpu, id, now + ns);
                Done::Waits
            }
            Op::Timer { timer, period_ns } => self.wait_for_timer(cpu, id, *timer, *period_ns),
            Op::Arrival { arrivals } => self.wait_for_arrival(cpu, id, *arrivals),
            Op::Faults { .. } | Op::File { .. } => self.go_on(id, op),
            Op::Fork { task } => {
                let child = self.create(*task as u32);
                self.begins_on(child, cpu);
                self.set_timer(cpu, now, Comes::Start(child));
                Done::Yes
            }
            Op::Become(change) => {
                self.change(cpu, id, change);
                Done::Yes
            }
            Op::Yield => {
                match self.tasks[id as usize].is_realtime() {
                    true => self.realtime_yield(cpu, id),
                    false => self.yield_other(cpu, id),
                }
                Done::Yes
            }
            _ => self.synchronize(cpu, id, op),
        }
    }

    fn synchronize(&mut self, cpu: u32, id: Id, op: &Op) -> Done {
        match op {
            Op::Lock(mutex) => match self.take(id, *mutex) {
                true => Done::Yes,
                false => Done::Waits,
            },
            Op::Unlock(mutex) => {
                self.give_back(cpu, id, *mutex);
                Done::Yes
            }
            Op::Wait { condition, mutex } => self.wait_for_condition(cpu, id, *condition, *mutex),
            Op::Signal(it) => {
                if let Some(other) = self.objects.conditions[*it].pop() {
                    self.tasks[other as usize].has_come = true;
                    self.wake_by(cpu, other, false);
                }
                Done::Yes
            }
            Op::Broadcast(it) => {
                let all = self.objects.conditions[*it].take_all();
                for other in &all {
                    self.tasks[*other as usize].has_come = true;
                }
                self.wake_all(cpu, all);
                Done::Yes
            }
            Op::Post(it) => {
                self.objects.semaphores[*it].0 += 1;
                if let Some(other) = self.objects.semaphores[*it].1.pop() {
                    self.wake_by(cpu, other, false);
                }
                Done::Yes
            }
            Op::Acquire(it) => {
                let value = &mut self.objects.semaphores[*it].0;
                if *value > 0 {
                    *value -= 1;
                    return Done::Yes;
                }
                waits_at!(self, id, self.objects.semaphores[*it].1);
                Done::Waits
            }
            Op::Barrier(it) => {
                let barrier = &mut self.objects.barriers[*it];
                barrier.here += 1;
                if barrier.here < self.scenario.objects.barriers[*it].parties {
                    waits_at!(self, id, self.objects.barriers[*it].waiters);
                    return Done::WaitsOnce;
                }
                barrier.here = 0;
                let all = barrier.waiters.take_all();
                self.wake_all(cpu, all);
                Done::Yes
            }
            _ => self.communicate(cpu, id, op),
        }
    }

    fn communicate(&mut self, cpu: u32, id: Id, op: &Op) -> Done {
        match op {
            Op::Send { channel, bytes } => {
                let capacity = self.scenario.objects.channels[*channel].capacity_bytes;
                let it = &mut self.objects.channels[*channel];
                if it.bytes + bytes > capacity {
                    waits_at!(self, id, self.objects.channels[*channel].writers);
                    return Done::Waits;
                }
                it.bytes += bytes;
                if let Some(reader) = it.readers.pop() {
                    // Writers of pipes and sockets say that they may sleep soon.
                    self.wake_by(cpu, reader, true);
                }
                Done::Yes
            }
            Op::Receive { channel, bytes } => match self.receive(cpu, *channel, *bytes) {
                true => Done::Yes,
                false => {
                    waits_at!(self, id, self.objects.channels[*channel].readers);
                    Done::Waits
                }
            },
            Op::Raise { task } => {
                self.raise(cpu, *task);
                Done::Yes
            }
            Op::AwaitSignal { .. } => match self.take_signal(id) {
                true => Done::Yes,
                false => Done::Waits,
            },
            Op::Poll(sources) => self.poll(cpu, id, sources),
            Op::Join { task } => {
                if self.living[*task] == 0 {
                    return Done::Yes;
                }
                waits_at!(self, id, self.objects.joiners[*task]);
                Done::Waits
            }
            // The call itself was all.
            _ => Done::Yes,
        }
    }

    /// A signal for each living task of a kind.
    fn raise(&mut self, cpu: u32, kind: usize) {
        for nth in 0..self.of_kind[kind].len() {
            let id = self.of_kind[kind][nth];
            let task = &mut self.tasks[id as usize];
            if task.had.ended_ns.is_some() {
                continue;
            }
            task.signals += 1;
            if matches!(task.op, Some(Op::AwaitSignal { .. } | Op::Poll(_))) {
                self.wake_by(cpu, id, false);
            }
        }
    }

    /// Has the time come for which it slept?
    fn slept(&mut self, id: Id) -> bool {
        std::mem::take(&mut self.tasks[id as usize].has_come)
    }

    fn take_signal(&mut self, id: Id) -> bool {
        let signals = &mut self.tasks[id as usize].signals;
        let has = *signals > 0;
        *signals -= u32::from(has);
        has
    }

    /// Takes a message, and lets a writer go on.
    fn receive(&mut self, cpu: u32, channel: usize, bytes: u32) -> bool {
        let it = &mut self.objects.channels[channel];
        if it.bytes < bytes {
            return false;
        }
        it.bytes -= bytes;
        let more = (it.bytes > 0).then(|| it.readers.pop()).flatten();
        if let Some(writer) = it.writers.pop() {
            self.wake_by(cpu, writer, false);
        }
        if let Some(reader) = more {
            self.wake_by(cpu, reader, false);
        }
        true
    }

    /// More pages, or more of a file.
    fn go_on(&mut self, id: Id, op: &Op) -> Done {
        let costs = &self.setup.costs;
        let task = &mut self.tasks[id as usize];
        if task.rest == 0 {
            return Done::Yes;
        }
        if matches!(op, Op::Faults { .. }) {
            task.rest -= 1;
            return Done::More(costs.fault.once());
        }
        let now = task.rest.min(64 * 1024);
        task.rest -= now;
        Done::More(costs.call.once() + costs.file_byte.times(now))
    }

    fn wait_for_condition(&mut self, cpu: u32, id: Id, condition: usize, mutex: usize) -> Done {
        if self.slept(id) {
            // The signal came: now the mutex. Until it has it, it looks again as for a lock.
            self.tasks[id as usize].rest = 1;
        }
        if self.tasks[id as usize].rest == 1 {
            return match self.take(id, mutex) {
                true => Done::Yes,
                false => Done::Waits,
            };
        }
        waits_at!(self, id, self.objects.conditions[condition]);
        self.give_back(cpu, id, mutex);
        Done::Waits
    }

    /// The timer's next time, and what is noted of the activations that end and begin.
    fn wait_for_timer(&mut self, cpu: u32, id: Id, timer: usize, period_ns: u64) -> Done {
        let now = self.now;
        if self.slept(id) {
            return Done::Yes;
        }
        let is_own = !self.scenario.objects.timers[timer].is_shared;
        let started = self.tasks[id as usize].had.started_ns;
        let last = match is_own {
            true => {
                let timers = &self.tasks[id as usize].timers;
                let known = timers.iter().find(|(it, _)| *it == timer as u32);
                known.map(|(_, at)| *at)
            }
            false => self.objects.timers[timer],
        };
        let mut at = last.unwrap_or(started) + period_ns;
        self.end_activation(id, period_ns);
        let is_late = at <= now && period_ns > 0;
        let due = at;
        if at < now && self.scenario.objects.timers[timer].is_relative {
            at = now;
        }
        match is_own {
            true => {
                let timers = &mut self.tasks[id as usize].timers;
                match timers.iter_mut().find(|(it, _)| *it == timer as u32) {
                    Some((_, known)) => *known = at,
                    None => timers.push((timer as u32, at)),
                }
            }
            false => self.objects.timers[timer] = Some(at),
        }
        self.activate(id, due);
        if is_late || at <= now {
            return Done::Yes;
        }
        self.sleep_until(cpu, id, at);
        Done::Waits
    }

    fn wait_for_arrival(&mut self, cpu: u32, id: Id, stream: usize) -> Done {
        let now = self.now;
        if self.slept(id) {
            return Done::Yes;
        }
        self.end_activation(id, 0);
        let streams = &mut self.tasks[id as usize].streams;
        let nth = match streams.iter_mut().find(|(it, _)| *it == stream as u32) {
            Some((_, count)) => {
                *count += 1;
                *count - 1
            }
            None => {
                streams.push((stream as u32, 1));
                0
            }
        };
        match self.objects.arrival(stream, nth as usize) {
            // No more: it waits for ever.
            None => Done::Waits,
            Some(at) => {
                self.activate(id, at);
                if at <= now {
                    return Done::Yes;
                }
                self.sleep_until(cpu, id, at);
                Done::Waits
            }
        }
    }

    fn end_activation(&mut self, id: Id, period_ns: u64) {
        let now = self.now;
        let task = &mut self.tasks[id as usize];
        if task.had.deadline_ns == 0 {
            task.had.deadline_ns = period_ns;
        }
        task.had.finish(now);
    }

    fn activate(&mut self, id: Id, at: u64) {
        self.tasks[id as usize].had.activated_ns = Some(at);
        if matches!(self.tasks[id as usize].policy, Policy::Deadline { .. }) {
            self.set_rank(id, |task| task.activate(at));
        }
    }

    /// What is ready is taken; else the task waits for all of the sources.
    fn poll(&mut self, cpu: u32, id: Id, sources: &[Source]) -> Done {
        let came = self.slept(id);
        let mut is_ready = false;
        for source in sources {
            is_ready |= match source {
                Source::Channel { channel, bytes } => {
                    self.objects.channels[*channel].readers.remove(id);
                    self.receive(cpu, *channel, *bytes)
                }
                Source::Signal => self.take_signal(id),
                Source::Timer { .. } => came,
            };
        }
        let was_armed = std::mem::take(&mut self.tasks[id as usize].rest) == 1;
        if is_ready {
            self.tasks[id as usize].until_ns = 0;
            if was_armed && !came {
                self.disarm(id, sources);
            }
            return Done::Yes;
        }
        for source in sources {
            match source {
                Source::Channel { channel, .. } => {
                    waits_at!(self, id, self.objects.channels[*channel].readers);
                }
                Source::Timer { timer, period_ns } => {
                    if let Done::Yes = self.wait_for_timer(cpu, id, *timer, *period_ns) {
                        return Done::Yes;
                    }
                    self.tasks[id as usize].rest = 1;
                }
                Source::Signal => {}
            }
        }
        Done::Waits
    }

    /// Another source was ready: the timer's time is still to come.
    fn disarm(&mut self, id: Id, sources: &[Source]) {
        for source in sources {
            let Source::Timer { timer, period_ns } = source else {
                continue;
            };
            if let Some(at) = &mut self.objects.timers[*timer] {
                *at -= period_ns;
            }
            let timers = &mut self.tasks[id as usize].timers;
            if let Some((_, at)) = timers.iter_mut().find(|(it, _)| *it == *timer as u32) {
                *at -= period_ns;
            }
        }
    }

    fn change(&mut self, cpu: u32, id: Id, change: &Change) {
        if let Some(list) = &change.cpus {
            let cpus = self.setup.layout.cpus;
            let mut mask = crate::mask::Mask::new(cpus);
            list.iter()
                .filter(|cpu| *cpu < cpus)
                .for_each(|cpu| mask.insert(cpu));
            if !mask.is_empty() {
                self.set_mask(cpu, id, Rc::new(mask));
            }
        }
        if let Some(group) = change.group {
            self.tasks[id as usize].group = group as u32 + 1;
        }
        if let Some(policy) = change.policy {
            self.set_rank(id, |task| task.set_policy(policy));
        }
    }
}
