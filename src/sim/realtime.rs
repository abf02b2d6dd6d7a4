// SPDX-License-Identifier: GPL-2.0-only
//! The classes above sched_ext: `SCHED_DEADLINE` by deadline, then FIFO and RR by priority.
//!
//! Tasks that may use several CPUs are pushed and pulled as the kernel does: of all that are
//! runnable the first run. What the kernel does beside that is left out: budgets of deadline tasks,
//! and the share that it keeps for others (`sched_rt_runtime_us`, deadline servers).

use crate::cpu::Resched;
use crate::sim::Sim;
use crate::task::{Id, NO_RANK};
use artis_scenario::model::Policy;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A round of `SCHED_RR`.
const ROUND_NS: u64 = 100_000_000;

/// A CPU that idles, behind all that have a task.
const IDLE: (u64, bool) = (NO_RANK, true);

/// Who may be moved, and where to.
#[derive(Debug, Default)]
pub struct Balance {
    /// Can a real-time task change its CPU at all?
    pub is_needed: bool,
    /// Those that wait and may use several CPUs.
    waiting: BTreeMap<(u64, u64), Id>,
    /// CPUs by what they run, the least urgent first.
    runs: BTreeSet<(Reverse<(u64, bool)>, u32)>,
    rank: Vec<(u64, bool)>,
    nth: u64,
    place: Vec<Option<(u64, u64)>>,
    /// The last answer of `bpf_cpumask_any_and_distribute()`.
    last: u32,
}

impl Balance {
    /// The CPU runs a task of this rank, or none.
    pub fn now_runs(&mut self, cpu: u32, rank: Option<u64>) {
        if !self.is_needed {
            return;
        }
        let cpu_at = cpu as usize;
        if self.rank.len() <= cpu_at {
            for new in self.rank.len()..=cpu_at {
                self.rank.push(IDLE);
                self.runs.insert((Reverse(IDLE), new as u32));
            }
        }
        let new = rank.map_or(IDLE, |rank| (rank, false));
        let old = std::mem::replace(&mut self.rank[cpu_at], new);
        if old != new {
            self.runs.remove(&(Reverse(old), cpu));
            self.runs.insert((Reverse(new), cpu));
        }
    }

    /// Where the next search begins of who takes one CPU after the other.
    pub fn distribute(&self, cpus: u32) -> u32 {
        (self.last + 1) % cpus
    }

    pub fn distributed(&mut self, cpu: u32) {
        self.last = cpu;
    }

    fn waits(&mut self, id: Id, rank: u64, head: bool) {
        if self.place.len() <= id as usize {
            self.place.resize(id as usize + 1, None);
        }
        self.nth += 1;
        let nth = (1 << 32) + self.nth;
        let key = (rank, if head { (1 << 32) - self.nth } else { nth });
        self.waiting.insert(key, id);
        self.place[id as usize] = Some(key);
    }

    fn waits_no_more(&mut self, id: Id) {
        if let Some(key) = self.place.get_mut(id as usize).and_then(Option::take) {
            self.waiting.remove(&key);
        }
    }
}

impl Sim<'_> {
    /// How urgent what a CPU runs is.
    fn rank_on(&self, cpu: u32) -> u64 {
        let current = self.cpus[cpu as usize].current;
        current.map_or(NO_RANK, |id| self.tasks[id as usize].rank())
    }

    /// Where a real-time task that wakes up goes: its CPU, unless one that is as urgent runs there.
    pub(crate) fn realtime_select(&mut self, id: Id) -> u32 {
        let task = &self.tasks[id as usize];
        let here = task.cpu;
        let stays = task.allowed.contains(here);
        if stays && (task.allowed_count == 1 || self.rank_on(here) > task.rank()) {
            return here;
        }
        self.lowest_for(id).unwrap_or_else(|| match stays {
            true => here,
            false => task.allowed.first_of_both(&task.allowed).unwrap_or(here),
        })
    }

    /// The CPU with the least urgent work that the task would displace.
    fn lowest_for(&self, id: Id) -> Option<u32> {
        let task = &self.tasks[id as usize];
        let (rank, here) = (task.rank(), task.cpu);
        if self.balance.rank.len() < self.cpus.len() {
            // Not all have run something.
            let new = self.balance.rank.len() as u32..self.cpus.len() as u32;
            let mut new = new.filter(|cpu| task.allowed.contains(*cpu));
            if let Some(cpu) = new.next() {
                return Some(cpu);
            }
        }
        let mut found = None;
        for (Reverse(runs), cpu) in &self.balance.runs {
            if runs.0 <= rank || found.is_some_and(|(best, _)| best != *runs) {
                break;
            }
            if task.allowed.contains(*cpu) {
                if *cpu == here {
                    return Some(here);
                }
                found = found.or(Some((*runs, *cpu)));
            }
        }
        found.map(|(_, cpu)| cpu)
    }

    /// The task waits for its CPU from now on.
    pub(crate) fn realtime_enqueue(&mut self, id: Id, by: u32) {
        let task = &mut self.tasks[id as usize];
        task.round_ns = ROUND_NS;
        let cpu = task.cpu;
        self.realtime_insert(id, false);
        if self.rank_on(cpu) > self.tasks[id as usize].rank() {
            self.reschedule(cpu, by, Resched::Now);
        } else {
            self.push(by);
        }
    }

    fn realtime_insert(&mut self, id: Id, head: bool) {
        let task = &self.tasks[id as usize];
        let (rank, cpu, is_free) = (task.rank(), task.cpu, task.allowed_count > 1);
        let it = &mut self.cpus[cpu as usize];
        it.turn += 1;
        let place = (rank, if head { -it.turn } else { it.turn });
        it.realtime.insert(place, id);
        self.tasks[id as usize].place = place;
        if is_free && self.balance.is_needed {
            self.balance.waits(id, rank, head);
        }
        self.realtime_note(cpu);
    }

    fn realtime_remove(&mut self, id: Id) {
        let task = &self.tasks[id as usize];
        let (place, cpu) = (task.place, task.cpu);
        self.cpus[cpu as usize].realtime.remove(&place);
        self.balance.waits_no_more(id);
        self.realtime_note(cpu);
    }

    /// The next real-time task of the CPU, taken from the queue where it waits.
    pub(crate) fn realtime_pick(&mut self, cpu: u32, goes_on: Option<Id>) -> Option<Id> {
        let own = goes_on.filter(|id| self.tasks[*id as usize].is_realtime());
        let first = self.cpus[cpu as usize].realtime.first_key_value();
        let mut best = first.map(|(place, id)| (place.0, *id));
        if let Some(id) = own {
            let task = &self.tasks[id as usize];
            // After its round those of its rank come first.
            let (rank, is_over) = (task.rank(), task.round_ns == 0);
            if best.is_none_or(|(other, _)| rank < other || rank == other && !is_over) {
                best = Some((rank, id));
            }
        }
        // One that waits elsewhere is pulled.
        if self.balance.is_needed {
            let limit = best.map_or(NO_RANK, |(rank, _)| rank);
            let may_use = |id: &Id| self.tasks[*id as usize].allowed.contains(cpu);
            let urgent = self.balance.waiting.range(..(limit, 0));
            let pulled = urgent.map(|(_, id)| *id).find(may_use);
            if let Some(id) = pulled {
                best = Some((self.tasks[id as usize].rank(), id));
            }
        }
        let (_, id) = best?;
        if Some(id) != own {
            self.realtime_remove(id);
            let from = self.tasks[id as usize].cpu;
            if from != cpu {
                let cost = self.lock(cpu, from);
                let now = self.now;
                self.cpus[cpu as usize].work(now, cost);
                self.moves(id, from, cpu);
                self.realtime_note(from);
            }
        }
        Some(id)
    }

    /// It was displaced: it is the next of its rank. After its round it is the last.
    pub(crate) fn realtime_put_back(&mut self, cpu: u32, id: Id) {
        let task = &mut self.tasks[id as usize];
        // With FIFO, only who yields has none left.
        let is_over = task.round_ns == 0;
        if is_over {
            task.round_ns = ROUND_NS;
        }
        task.cpu = cpu;
        self.realtime_insert(id, !is_over);
    }

    /// Others of its rank run before it.
    pub(crate) fn realtime_yield(&mut self, cpu: u32, id: Id) {
        let rank = self.tasks[id as usize].rank();
        let first = self.cpus[cpu as usize].realtime.first_key_value();
        if first.is_some_and(|(place, _)| place.0 == rank) {
            self.tasks[id as usize].round_ns = 0;
            let it = &mut self.cpus[cpu as usize];
            it.resched = Resched::Now;
        }
    }

    /// A tick while a real-time task runs.
    pub(crate) fn realtime_tick(&mut self, cpu: u32, id: Id) {
        let task = &self.tasks[id as usize];
        if !matches!(task.policy, Policy::RoundRobin { .. }) || task.round_ns > 0 {
            return;
        }
        let rank = task.rank();
        let first = self.cpus[cpu as usize].realtime.first_key_value();
        match first {
            Some((place, _)) if place.0 == rank => self.reschedule(cpu, cpu, Resched::Now),
            _ => self.tasks[id as usize].round_ns = ROUND_NS,
        }
    }

    /// The most urgent one that waits displaces the least urgent work, if there is some.
    fn push(&mut self, by: u32) {
        if !self.balance.is_needed {
            return;
        }
        let Some((_, id)) = self.balance.waiting.first_key_value() else {
            return;
        };
        if let Some(cpu) = self.lowest_for(*id)
            && self.cpus[cpu as usize].resched != Resched::Now
        {
            self.reschedule(cpu, by, Resched::Now);
        }
    }

    /// The CPU has taken a task: who waits now, with a CPU to displace somebody on?
    pub(crate) fn balance_realtime(&mut self, cpu: u32) {
        if !self.balance.waiting.is_empty() {
            self.push(cpu);
        }
    }

    /// The scheduler sees how many are runnable there.
    pub(crate) fn realtime_note(&mut self, cpu: u32) {
        if self.ext.is_some() {
            self.ext_note_realtime(cpu);
        }
    }

    /// The rank of a task changed while it waits.
    pub(crate) fn rank_changed(&mut self, id: Id) {
        self.realtime_remove(id);
        let cpu = self.tasks[id as usize].cpu;
        self.realtime_enqueue(id, cpu);
    }

    /// It is real-time no more.
    pub(crate) fn realtime_leave(&mut self, id: Id) {
        self.realtime_remove(id);
    }
}
