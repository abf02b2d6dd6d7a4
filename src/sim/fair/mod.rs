// SPDX-License-Identifier: GPL-2.0-only
//! Stock's fair class, simplified: of the tasks that wait for a CPU and are owed time, the one with
//! the earliest virtual deadline comes next.
//!
//! As in kernel/sched/fair.c: weights, lag that a task keeps while it sleeps, slices, the
//! protection of who runs against who wakes up, wakeups on an idle CPU of the cache, a pull before
//! a CPU idles and at ticks, by what real-time tasks leave of each CPU. Left out: `DELAY_DEQUEUE`,
//! autogroups, utilisation (`schedutil`), SMT, the hierarchy of groups below the first (a group's
//! weight is divided among its runnable tasks), and buddies. CPUs to pull from are looked for among
//! 16 of the cache and 16 others, in turn.
//!
//! Source: Stoica, Abdel-Wahab, "Earliest Eligible Virtual Deadline First", 1995; Linux 7.3.

mod groups;

use crate::cpu::Resched;
use crate::sim::Sim;
use crate::task::{Id, State};
use crate::wake::How;
use artis_scenario::model::Policy;
use groups::Group;
use std::collections::BTreeMap;

/// The weight of nice 0.
const NICE_0: u64 = 1024;
/// Each nice value is worth this much, as the kernel's table has it: sched_prio_to_weight.
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];
/// Of `SCHED_IDLE`.
const IDLE_WEIGHT: u64 = 3;
/// A CPU that real-time tasks take completely counts with so much, as in the kernel.
const CAPACITY_MIN: u64 = 1;
/// A task is pulled when the other CPU's load is so many per cent of this one's with it.
const IMBALANCE: u64 = 117;
/// So many CPUs of the cache are looked at, and so many of all.
const LOOKS: u32 = 16;
/// The kernel's base slice, on one CPU; and how long who runs is protected.
const BASE_SLICE_NS: u64 = 700_000;

/// A task as the fair class knows it.
#[derive(Clone, Debug, Default)]
pub struct Entity {
    pub vruntime: i64,
    deadline: i64,
    lag: i64,
    weight: u64,
    /// Up to there nobody who wakes up displaces it.
    protected: i64,
    is_in: bool,
    is_old: bool,
}

/// The run queue of a CPU.
#[derive(Debug, Default)]
struct Run {
    waiting: BTreeMap<(i64, Id), i64>,
    weight: u64,
    /// Of weight times virtual time above `base`.
    sum: i128,
    base: i64,
    count: u32,
    balanced_ns: u64,
    looked: u32,
}

/// The fair class.
#[derive(Debug)]
pub struct Fair {
    runs: Vec<Run>,
    /// How many wait for each CPU: what others look at, side by side.
    waiting: Vec<u32>,
    /// What real-time tasks leave of each CPU, of 1,024, as its last tick saw it.
    capacity: Vec<u64>,
    groups: Vec<Group>,
    slice_ns: u64,
}

impl Fair {
    pub fn new(cpus: u32) -> Self {
        Self {
            runs: (0..cpus).map(|_| Run::default()).collect(),
            waiting: vec![0; cpus as usize],
            capacity: vec![1024; cpus as usize],
            groups: Vec::new(),
            // As the kernel scales it: by the logarithm of the CPUs, of eight at most.
            slice_ns: BASE_SLICE_NS * u64::from(1 + cpus.min(8).ilog2()),
        }
    }
}

impl Run {
    /// The mean of all that are runnable here, by weight.
    fn mean(&self) -> i64 {
        match self.weight {
            0 => self.base,
            weight => self.base + (self.sum / i128::from(weight)) as i64,
        }
    }

    fn add(&mut self, vruntime: i64, weight: u64) {
        if self.weight == 0 {
            self.base = vruntime;
            self.sum = 0;
        }
        self.sum += i128::from(vruntime - self.base) * i128::from(weight);
        self.weight += weight;
        self.count += 1;
    }

    fn take(&mut self, vruntime: i64, weight: u64) {
        self.sum -= i128::from(vruntime - self.base) * i128::from(weight);
        self.weight -= weight;
        self.count -= 1;
        if self.weight == 0 {
            self.base = self.base.max(vruntime);
            self.sum = 0;
        }
    }

    /// The first that is owed time; if, by rounding, none is, the first of all.
    fn first(&self) -> Option<(i64, Id)> {
        let mean = self.mean();
        let owed = self.waiting.iter().find(|(_, vruntime)| **vruntime <= mean);
        owed.or_else(|| self.waiting.first_key_value())
            .map(|(key, _)| *key)
    }
}

/// The kernel's weight of a nice value.
pub fn weight(nice: i8) -> u64 {
    WEIGHTS[(i32::from(nice) + 20).clamp(0, 39) as usize]
}

fn virtual_ns(ns: u64, weight: u64) -> i64 {
    (ns * NICE_0 / weight.max(1)) as i64
}

impl Sim<'_> {
    fn fair_weight(&self, id: Id) -> u64 {
        let task = &self.tasks[id as usize];
        let own = match task.policy {
            Policy::Idle => IDLE_WEIGHT,
            _ => weight(task.nice()),
        };
        match self.fair.groups.get((task.group as usize).wrapping_sub(1)) {
            Some(group) => (own * group.weight / 100 / group.runnable.max(1)).max(2),
            None => own,
        }
    }

    /// The task is one of its CPU's runnable tasks from now on.
    fn fair_join(&mut self, id: Id) {
        let group = self.tasks[id as usize].group as usize;
        if let Some(group) = self.fair.groups.get_mut(group.wrapping_sub(1)) {
            group.runnable += 1;
        }
        let weight = self.fair_weight(id);
        let slice = self.fair.slice_ns;
        let task = &mut self.tasks[id as usize];
        let run = &mut self.fair.runs[task.cpu as usize];
        let own = &mut task.fair;
        own.weight = weight;
        own.is_in = true;
        // So that its lag is what it was once it is one of them.
        let lag = match run.weight {
            0 => 0,
            others => own.lag * (others + weight) as i64 / others as i64,
        };
        own.vruntime = run.mean() - lag;
        let asks = virtual_ns(slice, weight);
        own.deadline = own.vruntime + if own.is_old { asks } else { asks / 2 };
        own.is_old = true;
        run.add(own.vruntime, weight);
    }

    fn fair_quit(&mut self, cpu: u32, id: Id) {
        let slice = self.fair.slice_ns;
        let task = &mut self.tasks[id as usize];
        if !std::mem::take(&mut task.fair.is_in) {
            return;
        }
        let run = &mut self.fair.runs[cpu as usize];
        let most = 2 * virtual_ns(slice, task.fair.weight);
        task.fair.lag = (run.mean() - task.fair.vruntime).clamp(-most, most);
        run.take(task.fair.vruntime, task.fair.weight);
        let group = task.group as usize;
        if let Some(group) = self.fair.groups.get_mut(group.wrapping_sub(1)) {
            group.runnable -= 1;
        }
    }

    fn fair_wait(&mut self, id: Id) {
        let task = &self.tasks[id as usize];
        let run = &mut self.fair.runs[task.cpu as usize];
        let key = (task.fair.deadline, id);
        run.waiting.insert(key, task.fair.vruntime);
        self.fair.waiting[task.cpu as usize] += 1;
    }

    fn fair_wait_no_more(&mut self, id: Id) {
        let task = &self.tasks[id as usize];
        let run = &mut self.fair.runs[task.cpu as usize];
        if run.waiting.remove(&(task.fair.deadline, id)).is_some() {
            self.fair.waiting[task.cpu as usize] -= 1;
        }
    }

    /// A task that wakes up: where it goes.
    pub(crate) fn fair_select(&mut self, id: Id, by: u32, how: How) -> u32 {
        let task = &self.tasks[id as usize];
        let (layout, allowed) = (&self.setup.layout, &task.allowed);
        let stays = allowed.contains(task.cpu);
        if how == How::New {
            return self.fair_select_new(id);
        }
        if stays && self.idle.contains(task.cpu) {
            return task.cpu;
        }
        // Who says that it sleeps soon leaves its CPU to the one that it wakes up.
        if how == How::Sync && allowed.contains(by) && self.fair.runs[by as usize].count == 1 {
            return by;
        }
        let (first, end) = layout.cache(layout.cache_of(if stays { task.cpu } else { by }));
        if let Some(cpu) = self.idle.first_within(allowed, first, end) {
            return cpu;
        }
        match stays {
            true => task.cpu,
            false => allowed.first_of_both(allowed).unwrap_or(task.cpu),
        }
    }

    fn fair_select_new(&mut self, id: Id) -> u32 {
        let task = &self.tasks[id as usize];
        let layout = &self.setup.layout;
        let (first, end) = layout.cache(layout.cache_of(task.cpu));
        let idle = self.idle.first_within(&task.allowed, first, end);
        if let Some(cpu) = idle.or_else(|| self.idle.first_of_both(&task.allowed)) {
            return cpu;
        }
        let (cpu, allowed) = (task.cpu, std::rc::Rc::clone(&task.allowed));
        let waiting = &self.fair.waiting;
        let seen = self.fair_looks(cpu).chain([cpu]);
        let seen = seen.filter(|cpu| allowed.contains(*cpu));
        let least = seen.min_by_key(|cpu| (waiting[*cpu as usize], *cpu));
        let least = least.or_else(|| allowed.first_of_both(&allowed));
        self.fair_looked(cpu);
        least.unwrap_or(cpu)
    }

    /// CPUs that a CPU looks at this time: some of its cache, some of all.
    fn fair_looks(&self, cpu: u32) -> impl Iterator<Item = u32> + use<> {
        let layout = &self.setup.layout;
        let (first, end) = layout.cache(layout.cache_of(cpu));
        let (turn, cpus) = (self.fair.runs[cpu as usize].looked, layout.cpus);
        let of_cache = end - first;
        let near = (0..LOOKS.min(of_cache)).map(move |nth| first + (turn + nth) % of_cache);
        let far = (0..LOOKS.min(cpus)).map(move |nth| (turn + nth) % cpus);
        near.chain(far).filter(move |other| *other != cpu)
    }

    /// The next time it looks at the next ones.
    fn fair_looked(&mut self, cpu: u32) {
        let run = &mut self.fair.runs[cpu as usize];
        run.looked = (run.looked + LOOKS) % (1 << 30);
    }

    /// The task, which woke up, waits for its CPU; if it comes before who runs, it displaces that.
    pub(crate) fn fair_enqueue_woken(&mut self, id: Id, by: u32, _how: How) {
        if self.fair_is_stopped(id) {
            return;
        }
        self.fair_join(id);
        self.fair_wait(id);
        let cpu = self.tasks[id as usize].cpu;
        let Some(current) = self.cpus[cpu as usize].current else {
            self.reschedule(cpu, by, Resched::Now);
            return;
        };
        let task = &self.tasks[current as usize];
        if task.is_realtime() || task.state != State::Running {
            return;
        }
        self.count(cpu);
        let task = &self.tasks[current as usize];
        let is_idle = matches!(task.policy, Policy::Idle);
        let woken = &self.tasks[id as usize];
        if is_idle && !matches!(woken.policy, Policy::Idle) {
            self.reschedule(cpu, by, Resched::Now);
            return;
        }
        if matches!(woken.policy, Policy::Batch { .. } | Policy::Idle) {
            return;
        }
        let run = &self.fair.runs[cpu as usize];
        let is_first = run.first().is_some_and(|(_, first)| first == id)
            && woken.fair.deadline < task.fair.deadline
            && woken.fair.vruntime <= run.mean();
        if is_first && task.fair.vruntime >= task.fair.protected {
            self.reschedule(cpu, by, self.fair_how());
        }
    }

    fn fair_how(&self) -> Resched {
        match self.setup.costs.preemption {
            crate::costs::Preemption::Full => Resched::Now,
            _ => Resched::Lazy,
        }
    }

    /// The task that runs there has run for so long.
    pub(crate) fn fair_count(&mut self, cpu: u32, id: Id, ran_ns: u64) {
        let own = &mut self.tasks[id as usize].fair;
        if !own.is_in {
            return;
        }
        let more = virtual_ns(ran_ns, own.weight);
        own.vruntime += more;
        self.fair.runs[cpu as usize].sum += i128::from(more) * i128::from(own.weight);
        self.fair_charge_limit(id, ran_ns);
    }

    /// A tick: a slice that is over begins anew, and others have their turn.
    pub(crate) fn fair_tick(&mut self, cpu: u32, id: Id, is_realtime: bool) {
        if !is_realtime && self.tasks[id as usize].state == State::Running {
            self.count(cpu);
            let slice = self.fair.slice_ns;
            let others = self.fair.runs[cpu as usize].count > 1;
            let how = self.fair_how();
            let own = &mut self.tasks[id as usize].fair;
            if own.is_in && own.vruntime >= own.deadline {
                own.deadline = own.vruntime + virtual_ns(slice, own.weight);
                if others {
                    self.reschedule(cpu, cpu, how);
                }
            }
            if self.fair_is_out(id) {
                self.reschedule(cpu, cpu, Resched::Now);
            }
        }
        let taken = self.cpus[cpu as usize].realtime_load.share();
        self.fair.capacity[cpu as usize] = 1024_u64.saturating_sub(taken).max(CAPACITY_MIN);
        let now = self.now;
        let run = &mut self.fair.runs[cpu as usize];
        if now - run.balanced_ns >= 4 * self.setup.costs.tick_ns {
            run.balanced_ns = now;
            self.fair_pull(cpu, false);
        }
    }

    /// The next task of the CPU.
    pub(crate) fn fair_pick(&mut self, cpu: u32, goes_on: Option<Id>) -> Option<Id> {
        let mut goes_on = goes_on;
        if let Some(id) = goes_on
            && self.fair_is_out(id)
        {
            goes_on = None;
        }
        let run = &self.fair.runs[cpu as usize];
        let mut first = run.first();
        if let Some(id) = goes_on {
            let own = &self.tasks[id as usize].fair;
            let stays = own.vruntime <= run.mean()
                && first.is_none_or(|(deadline, _)| own.deadline <= deadline);
            if stays || first.is_none() {
                return Some(id);
            }
        } else if first.is_none() {
            self.fair_pull(cpu, true);
            first = self.fair.runs[cpu as usize].first();
        }
        let (_, id) = first?;
        self.fair_wait_no_more(id);
        let own = &mut self.tasks[id as usize].fair;
        let protected = own.vruntime + virtual_ns(BASE_SLICE_NS, own.weight);
        own.protected = protected.min(own.deadline);
        Some(id)
    }

    pub(crate) fn fair_put_back(&mut self, cpu: u32, id: Id) {
        if self.fair_is_out(id) {
            self.fair_quit(cpu, id);
            self.fair_stop(id);
            return;
        }
        if self.tasks[id as usize].fair.is_in {
            self.fair_wait(id);
        }
    }

    pub(crate) fn fair_dequeue(&mut self, cpu: u32, id: Id) {
        self.fair_quit(cpu, id);
    }

    /// Takes a task from the CPU with the most, if that has so many more than this one.
    /// An idle CPU takes any.
    fn fair_pull(&mut self, cpu: u32, is_idle: bool) {
        let Fair {
            waiting, capacity, ..
        } = &self.fair;
        let busiest = self.fair_looks(cpu).max_by_key(|other| {
            let at = *other as usize;
            let load = u64::from(waiting[at]) * 1024 / capacity[at];
            (load, std::cmp::Reverse(*other))
        });
        self.fair_looked(cpu);
        let Some(from) = busiest else {
            return;
        };
        let capacity = |cpu: u32| self.fair.capacity[cpu as usize];
        let run = &self.fair.runs[from as usize];
        let there = u64::from(run.count) * capacity(cpu);
        let here = u64::from(self.fair.runs[cpu as usize].count + 1) * capacity(from);
        let is_worth_it = is_idle || there * 100 > here * IMBALANCE;
        if run.waiting.is_empty() || !is_worth_it {
            return;
        }
        let may_use = |id: &Id| self.tasks[*id as usize].allowed.contains(cpu);
        // The last by deadline: it would wait longest.
        let found = run.waiting.keys().rev().map(|(_, id)| *id).find(may_use);
        let Some(id) = found else {
            return;
        };
        let cost = self.lock(cpu, from);
        let now = self.now;
        self.cpus[cpu as usize].work(now, cost);
        self.fair_wait_no_more(id);
        self.fair_quit(from, id);
        self.moves(id, from, cpu);
        self.fair_join(id);
        self.fair_wait(id);
    }

    pub(crate) fn fair_yield(&mut self, cpu: u32, id: Id) {
        let slice = self.fair.slice_ns;
        let own = &mut self.tasks[id as usize].fair;
        own.deadline += virtual_ns(slice, own.weight);
        if self.fair.runs[cpu as usize].count > 1 {
            self.cpus[cpu as usize].resched = Resched::Now;
        }
    }

    /// The task leaves the class, or comes to it: while it waits, or while it runs.
    pub(crate) fn fair_leave(&mut self, cpu: u32, id: Id) {
        if self.tasks[id as usize].state == State::Queued {
            self.fair_wait_no_more(id);
        }
        self.fair_quit(cpu, id);
    }

    pub(crate) fn fair_come(&mut self, cpu: u32, id: Id) {
        self.fair_join(id);
        if self.tasks[id as usize].state == State::Queued {
            self.fair_wait(id);
            if self.cpus[cpu as usize].current.is_none() {
                self.reschedule(cpu, cpu, Resched::Now);
            }
        }
    }
}
