// SPDX-License-Identifier: GPL-2.0-only
//! Which CPU each task runs on.
//!
//! Tasks that share a lock stay together, since waiting for a lock of another CPU is not analysed.
//! First fit, the largest utilisation first; where that finds no place and few tasks are left to
//! place, all ways are tried.

use super::priorities;
use crate::analysis::cpu::{Cpu, Order};
use crate::analysis::stream::Meter;
use crate::analysis::{Fits, fits};
use crate::model::Set;
use std::collections::{HashMap, HashSet};

/// So many groups are placed in all ways.
pub const ALL_WAYS_MAX: usize = 12;

/// How the CPUs were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// There is one CPU, or the file says where.
    Said,
    FirstFit,
    AllWays,
    /// None of all ways fits.
    NoWay,
    /// First fit found none, and there are too many tasks to try all ways.
    NotFound,
}

/// The CPU of each task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    pub cpus: Vec<u32>,
    pub how: How,
    /// Tasks for which first fit found no place.
    pub homeless: Vec<usize>,
    /// Tasks with a common lock that the file puts on different CPUs.
    pub apart: Option<(usize, usize)>,
}

/// Tasks that stay together, and where the file wants them.
struct Group {
    tasks: Vec<usize>,
    cpu: Option<u32>,
    utilisation: f64,
}

/// Places all tasks of the set.
pub fn place(set: &Set, meter: &Meter) -> Placement {
    let (groups, apart) = groups(set);
    let mut placement = Placement {
        cpus: vec![set.cpus[0]; set.tasks.len()],
        how: How::Said,
        homeless: Vec::new(),
        apart,
    };
    let mut on: HashMap<u32, Vec<usize>> = set.cpus.iter().map(|cpu| (*cpu, vec![])).collect();
    for group in &groups {
        if let Some(cpu) = group.cpu {
            on.entry(cpu).or_default().extend(&group.tasks);
        }
    }
    let mut free: Vec<&Group> = groups.iter().filter(|group| group.cpu.is_none()).collect();
    free.sort_by(|one, other| other.utilisation.total_cmp(&one.utilisation));
    if set.cpus.len() == 1 {
        return placement;
    }
    let fixed = on.clone();
    if !free.is_empty() {
        placement.how = How::FirstFit;
    }
    for group in &free {
        let fit = set.cpus.iter().find(|cpu| {
            let all = [on[cpu].as_slice(), &group.tasks].concat();
            meter.left() > 0 && fit_on(set, **cpu, &all, meter) == Fits::Yes
        });
        match fit {
            Some(cpu) => on.entry(*cpu).or_default().extend(&group.tasks),
            None => placement.homeless.extend(&group.tasks),
        }
    }
    if !placement.homeless.is_empty() {
        placement.how = How::NotFound;
        if free.len() <= ALL_WAYS_MAX {
            let mut ways = Ways::new(set, &free, &fixed, meter);
            match ways.search(0, (1 << free.len()) - 1) {
                Some(found) => {
                    placement.how = How::AllWays;
                    placement.homeless.clear();
                    on = found;
                }
                None if ways.is_sure => placement.how = How::NoWay,
                None => {}
            }
        }
    }
    spread(set, &mut on, &placement.homeless);
    for (cpu, tasks) in on {
        for at in tasks {
            placement.cpus[at] = cpu;
        }
    }
    placement
}

/// What has no place goes where most is left, so that it can be said what is missing there.
fn spread(set: &Set, on: &mut HashMap<u32, Vec<usize>>, homeless: &[usize]) {
    let part = |at: &usize| {
        let task = &set.tasks[*at];
        task.execution_ns() as f64 / task.period_ns as f64
    };
    let mut used: Vec<(f64, u32)> = set
        .cpus
        .iter()
        .map(|cpu| (on[cpu].iter().map(part).sum(), *cpu))
        .collect();
    for at in homeless {
        used.sort_by(|one, other| one.0.total_cmp(&other.0));
        used[0].0 += part(at);
        on.entry(used[0].1).or_default().push(*at);
    }
}

fn fit_on(set: &Set, cpu: u32, tasks: &[usize], meter: &Meter) -> Fits {
    let mut priorities = vec![0; set.tasks.len()];
    if Order::of(set.policy) == Order::Fixed {
        priorities::assign(set, cpu, tasks, &mut priorities, meter);
    }
    meter.take(set.tasks.len() as u64);
    fits(&Cpu::new(set, cpu, tasks, &priorities), meter)
}

/// The groups, and two tasks of one that the file puts on different CPUs.
fn groups(set: &Set) -> (Vec<Group>, Option<(usize, usize)>) {
    // Each task points to an earlier one of its group, or to itself.
    let mut leader: Vec<usize> = (0..set.tasks.len()).collect();
    let find = |leader: &[usize], mut at: usize| {
        while leader[at] != at {
            at = leader[at];
        }
        at
    };
    let mut first: HashMap<usize, usize> = HashMap::new();
    for (at, task) in set.tasks.iter().enumerate() {
        for held in &task.locks {
            let other = *first.entry(held.lock).or_insert(at);
            let (one, other) = (find(&leader, at), find(&leader, other));
            leader[one.max(other)] = one.min(other);
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut place: HashMap<usize, usize> = HashMap::new();
    let mut apart = None;
    for (at, task) in set.tasks.iter().enumerate() {
        let which = *place.entry(find(&leader, at)).or_insert(groups.len());
        if which == groups.len() {
            groups.push(Group {
                tasks: vec![],
                cpu: None,
                utilisation: 0.0,
            });
        }
        let group = &mut groups[which];
        if let (Some(one), Some(other)) = (group.cpu, task.cpu)
            && one != other
        {
            apart = Some((group.tasks[0], at));
        }
        group.tasks.push(at);
        group.cpu = group.cpu.or(task.cpu);
        group.utilisation += task.execution_ns() as f64 / task.period_ns as f64;
    }
    (groups, apart)
}

/// All ways to place a few groups.
struct Ways<'a> {
    set: &'a Set,
    free: &'a [&'a Group],
    fixed: &'a HashMap<u32, Vec<usize>>,
    meter: &'a Meter,
    known: HashMap<(usize, u32), Fits>,
    /// Groups that have no place on CPUs from this one on.
    dead: HashSet<(usize, u32)>,
    /// Every "no" was a proved one.
    is_sure: bool,
}

impl<'a> Ways<'a> {
    fn new(
        set: &'a Set,
        free: &'a [&'a Group],
        fixed: &'a HashMap<u32, Vec<usize>>,
        meter: &'a Meter,
    ) -> Self {
        Self {
            set,
            free,
            fixed,
            meter,
            known: HashMap::new(),
            dead: HashSet::new(),
            is_sure: true,
        }
    }

    fn tasks(&self, cpu: usize, mask: u32) -> Vec<usize> {
        let mut tasks = self.fixed[&self.set.cpus[cpu]].clone();
        let chosen = self.free.iter().enumerate();
        let chosen = chosen.filter(|(bit, _)| mask & (1 << bit) != 0);
        tasks.extend(chosen.flat_map(|(_, group)| &group.tasks));
        tasks
    }

    fn fits(&mut self, cpu: usize, mask: u32) -> bool {
        let answer = match self.known.get(&(cpu, mask)) {
            Some(answer) => *answer,
            None => {
                let tasks = self.tasks(cpu, mask);
                let answer = match self.meter.left() {
                    0 => Fits::Unknown,
                    _ => fit_on(self.set, self.set.cpus[cpu], &tasks, self.meter),
                };
                self.known.insert((cpu, mask), answer);
                answer
            }
        };
        self.is_sure &= answer != Fits::Unknown;
        answer == Fits::Yes
    }

    /// Places the groups of `mask` on the CPUs from this one on.
    fn search(&mut self, cpu: usize, mask: u32) -> Option<HashMap<u32, Vec<usize>>> {
        if cpu == self.set.cpus.len() {
            let none = || self.set.cpus.iter().map(|cpu| (*cpu, vec![])).collect();
            return (mask == 0).then(none);
        }
        if self.dead.contains(&(cpu, mask)) {
            return None;
        }
        // All parts of the mask, the largest number first, down to none.
        let mut part = mask;
        loop {
            if self.fits(cpu, part)
                && let Some(mut found) = self.search(cpu + 1, mask & !part)
            {
                found.insert(self.set.cpus[cpu], self.tasks(cpu, part));
                return Some(found);
            }
            if part == 0 {
                break;
            }
            part = (part - 1) & mask;
        }
        self.dead.insert((cpu, mask));
        None
    }
}
