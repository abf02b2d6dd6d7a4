// SPDX-License-Identifier: GPL-2.0-only
//! A simulation: all that it knows, and how it begins.

use crate::costs::Costs;
use crate::cpu::{Comes, Cpu, Timer};
use crate::ext::Ext;
use crate::fair::Fair;
use crate::layout::{BadLayout, Layout};
use crate::mask::Mask;
use crate::objects::Objects;
use crate::queue::{NEVER, Queue};
use crate::realtime::Balance;
use crate::result::Latencies;
use crate::task::{Had, Id, NO_RANK, Phase, State, Task};
use crate::trace::Trace;
use artis_scenario::Scenario;
use artis_scenario::model::{Class, Policy};
use std::cmp::Reverse;
use std::rc::Rc;

/// CPUs that a line about an event names.
const SHOWN_CPUS: usize = 16;

/// Which scheduler manages the tasks that no real-time class does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The kernel's fair class.
    Stock,
    /// The fair class, on CPUs of which the RT CPUs are for tasks bound there (`isolcpus=`).
    Isolcpus,
    /// artis, from the text that the kernel runs.
    Artis,
}

/// What is simulated beside the scenario.
#[derive(Clone, Debug)]
pub struct Setup {
    pub layout: Layout,
    pub costs: Costs,
    pub scheduler: Scheduler,
    /// In the place of the scenario's.
    pub seed: u64,
    /// The simulation ends there if the scenario does not before.
    pub end_ns: u64,
}

/// Why there is no simulation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Layout(#[from] BadLayout),
    #[error(
        "task {task} may use CPU {cpus} only, and the machine has {have} CPUs; give more --cpus"
    )]
    NoCpu {
        task: String,
        cpus: String,
        have: u32,
    },
    #[error("the scheduler could not start: it says {0}")]
    NoStart(i32),
    #[error("the scheduler needs {need} CPU cgroups at most, and the scenario has {have}")]
    Groups { need: usize, have: usize },
}

/// A simulation.
pub struct Sim<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) setup: Setup,
    pub(crate) now: u64,
    pub(crate) queue: Queue,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) tasks: Vec<Task<'s>>,
    pub(crate) objects: Objects<'s>,
    pub(crate) idle: Mask,
    pub(crate) balance: Balance,
    pub(crate) fair: Fair,
    pub(crate) ext: Option<Box<Ext>>,
    /// CPUs whose next moment may have changed.
    pub(crate) touched: Vec<u32>,
    pub(crate) is_touched: Vec<bool>,
    pub(crate) nth: u64,
    /// Tasks that have not ended, of each kind; and all of them.
    pub(crate) living: Vec<u32>,
    /// All tasks of each kind, in the order of their births.
    pub(crate) of_kind: Vec<Vec<Id>>,
    pub(crate) living_all: u64,
    pub(crate) foreground: u64,
    pub(crate) masks: Vec<Rc<Mask>>,
    pub(crate) trace: Option<Trace>,
    pub(crate) events: u64,
    pub(crate) last_cpu: u32,
    pub(crate) is_over: bool,
    /// Steps in this moment, and whether they were too many.
    pub(crate) at_once: u64,
    pub(crate) is_stuck: bool,
    pub(crate) latencies: Latencies,
}

impl<'s> Sim<'s> {
    /// A scenario at its beginning.
    ///
    /// # Errors
    /// Why it cannot be simulated on that machine.
    pub fn new(scenario: &'s Scenario, setup: Setup) -> Result<Self, Error> {
        let cpus = setup.layout.cpus;
        let kinds = scenario.tasks.len();
        let mut sim = Self {
            scenario,
            now: 0,
            queue: Queue::new(cpus),
            cpus: (0..cpus).map(|_| Cpu::default()).collect(),
            tasks: Vec::new(),
            objects: Objects::new(scenario, setup.seed),
            idle: Mask::full(cpus),
            balance: Balance::default(),
            fair: Fair::new(cpus),
            ext: None,
            touched: Vec::new(),
            is_touched: vec![false; cpus as usize],
            nth: 0,
            living: vec![0; kinds],
            of_kind: vec![Vec::new(); kinds],
            living_all: 0,
            foreground: 0,
            masks: Vec::new(),
            trace: None,
            events: 0,
            last_cpu: 0,
            is_over: false,
            at_once: 0,
            is_stuck: false,
            latencies: Latencies::default(),
            setup,
        };
        for kind in 0..kinds {
            let mask = sim.mask_of(kind)?;
            sim.masks.push(mask);
        }
        if sim.setup.scheduler == Scheduler::Artis {
            sim.ext = Some(Ext::new(&sim.setup, scenario)?);
            sim.ext_begin()?;
        }
        sim.balance.is_needed = sim.has_free_realtime();
        Ok(sim)
    }

    /// Writes down who runs where and when.
    pub fn trace(&mut self, trace: Trace) {
        self.trace = Some(trace);
    }

    /// What was written down.
    pub fn traced(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// The time, from the common start.
    pub fn now_ns(&self) -> u64 {
        self.now
    }

    /// Where the last event was, and who runs on each CPU.
    pub fn last_event(&self) -> String {
        let mut text = format!("CPU {}:", self.last_cpu);
        for (cpu, it) in self.cpus.iter().enumerate().take(SHOWN_CPUS) {
            let name = it
                .current
                .map_or_else(|| "idle".to_owned(), |id| self.name_of(id as usize));
            text += &format!("  {cpu} {name}");
        }
        text
    }

    /// The tasks that are there at the common start.
    pub(crate) fn populate(&mut self) {
        let cpus = self.setup.layout.cpus;
        for (kind, task) in (0_u32..).zip(&self.scenario.tasks) {
            for _ in 0..task.count {
                let id = self.create(kind);
                // Who sets all of them up is on one CPU after the other.
                let allowed = &self.tasks[id as usize].allowed;
                let at = (id % cpus..cpus).chain(0..id % cpus);
                let cpu = at.into_iter().find(|cpu| allowed.contains(*cpu));
                let cpu = cpu.unwrap_or(0);
                self.begins_on(id, cpu);
                self.set_timer(cpu, task.start_ns, Comes::Start(id));
            }
        }
    }

    /// The new task is to begin there, as far as it may.
    pub(crate) fn begins_on(&mut self, id: Id, cpu: u32) {
        self.tasks[id as usize].cpu = cpu;
        if self.ext.is_some() {
            self.ext_moved(id, cpu);
        }
    }

    /// A new task, which has not begun.
    pub(crate) fn create(&mut self, kind: u32) -> Id {
        let scenario = self.scenario;
        let spec = &scenario.tasks[kind as usize];
        let id = self.tasks.len() as Id;
        let allowed = Rc::clone(&self.masks[kind as usize]);
        let mut task = Task {
            kind,
            instance: self.objects.born(kind),
            policy: spec.policy,
            class: Class::of(spec.policy, spec.cpus.as_ref(), &self.machine()),
            state: State::Unborn,
            cpu: 0,
            allowed_count: allowed.len(),
            allowed,
            cursor: spec.program.start(),
            op: None,
            phase: Phase::Next,
            left_ns: 0,
            section_ns: 0,
            rest: 0,
            until_ns: 0,
            has_come: false,
            rank: NO_RANK,
            boost: None,
            place: (0, 0),
            fair: Default::default(),
            round_ns: 0,
            timers: Vec::new(),
            streams: Vec::new(),
            signals: 0,
            holds: Vec::new(),
            group: spec.group.map_or(0, |group| group as u32 + 1),
            had: Had::default(),
        };
        task.set_policy(spec.policy);
        task.had.deadline_ns = spec.deadline_ns.unwrap_or(0);
        self.tasks.push(task);
        self.of_kind[kind as usize].push(id);
        self.living[kind as usize] += 1;
        self.living_all += 1;
        self.foreground += u64::from(spec.is_foreground);
        if self.ext.is_some() {
            self.ext_create(id);
        }
        id
    }

    /// The machine, as the scenario's model has it.
    fn machine(&self) -> artis_scenario::model::Machine {
        artis_scenario::model::Machine {
            cpus: Some(self.setup.layout.cpus),
            rt_cpus: self.setup.layout.rt.clone(),
            cpus_per_cache: None,
            cpus_per_node: None,
        }
    }

    /// The CPUs that a kind of task may use.
    fn mask_of(&self, kind: usize) -> Result<Rc<Mask>, Error> {
        let task = &self.scenario.tasks[kind];
        let cpus = self.setup.layout.cpus;
        let of_group = task
            .group
            .and_then(|group| self.scenario.objects.groups[group].cpus.as_ref());
        let mut mask = self.usual_mask();
        if let Some(list) = task.cpus.as_ref().or(of_group) {
            mask = Mask::new(cpus);
            list.iter()
                .filter(|cpu| *cpu < cpus)
                .for_each(|cpu| mask.insert(cpu));
            if mask.is_empty() {
                return Err(Error::NoCpu {
                    task: task.name.clone(),
                    cpus: list.to_string(),
                    have: cpus,
                });
            }
        }
        // Most tasks may use all, and share the set.
        let same = self.masks.iter().find(|known| ***known == mask);
        Ok(same.map_or_else(|| Rc::new(mask), Rc::clone))
    }

    /// The CPUs of a task that names none.
    pub(crate) fn usual_mask(&self) -> Mask {
        let layout = &self.setup.layout;
        let mut mask = layout.all.clone();
        if self.setup.scheduler == Scheduler::Isolcpus {
            layout.rt.iter().for_each(|cpu| mask.remove(cpu));
        }
        mask
    }

    /// May a real-time task change its CPU?
    fn has_free_realtime(&self) -> bool {
        let is_realtime = |policy: &Policy| {
            matches!(
                policy,
                Policy::Fifo { .. } | Policy::RoundRobin { .. } | Policy::Deadline { .. }
            )
        };
        // What a program changes, and who inherits a priority, may be one.
        let changes = self
            .scenario
            .tasks
            .iter()
            .any(|task| task.program.ops().any(is_change));
        let free = self.scenario.tasks.iter().zip(&self.masks);
        let mut free = free.filter(|(task, mask)| is_realtime(&task.policy) && mask.len() > 1);
        changes || free.next().is_some() || self.objects.may_boost()
    }

    /// Something comes to a CPU at that time.
    pub(crate) fn set_timer(&mut self, cpu: u32, at: u64, what: Comes) {
        self.nth += 1;
        let nth = self.nth;
        self.cpus[cpu as usize]
            .timers
            .push(Reverse(Timer { at, nth, what }));
        self.touch(cpu);
    }

    /// The next moment of that CPU may be another one.
    pub(crate) fn touch(&mut self, cpu: u32) {
        if !self.is_touched[cpu as usize] {
            self.is_touched[cpu as usize] = true;
            self.touched.push(cpu);
        }
    }

    /// When something happens on that CPU that it does by itself.
    fn next_moment(&self, cpu: u32) -> u64 {
        let it = &self.cpus[cpu as usize];
        let mut at = it
            .next_timer()
            .min(it.ipi_at)
            .max(it.busy_until.max(self.now));
        if it.next_timer().min(it.ipi_at) == NEVER {
            at = NEVER;
        }
        if it.resched != crate::cpu::Resched::No && it.busy_until > self.now {
            at = at.min(it.busy_until);
        }
        if let Some(id) = it.current {
            let task = &self.tasks[id as usize];
            at = at.min(it.works_from.saturating_add(task.left_ns));
            if it.resched != crate::cpu::Resched::No && task.section_ns > 0 {
                at = at.min(it.works_from + task.section_ns);
            }
        }
        at
    }

    /// Writes the next moments of the CPUs that were touched into the queue.
    pub(crate) fn update_queue(&mut self) {
        while let Some(cpu) = self.touched.pop() {
            self.is_touched[cpu as usize] = false;
            let at = self.next_moment(cpu);
            self.queue.set(cpu, at);
        }
    }
}

fn is_change(op: &artis_scenario::model::Op) -> bool {
    matches!(op, artis_scenario::model::Op::Become(_))
}
