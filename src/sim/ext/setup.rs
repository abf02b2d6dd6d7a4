// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler begins: as the process `artis` sets it up, for the machine that is simulated.

use super::dsq::Dsq;
use super::{ASKING, EPOCH_NS, Ext, Tasks, kernel};
use crate::cpu::Comes;
use crate::sim::{Error, Setup, Sim};
use crate::sys;
use crate::task::Id;
use artis_scenario::Scenario;
use artis_scenario::model::Policy;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A control group as the scheduler sees it.
pub struct Cgroup {
    seen: Box<sys::cgroup>,
    _node: Box<sys::kernfs_node>,
}

/// The scheduler's variables are there once.
static ALONE: Mutex<()> = Mutex::new(());

#[cfg(test)]
thread_local! {
    /// The scheduler in the place of the one that is linked, for who tests what has no rules.
    static OTHER: std::cell::Cell<Option<&'static sys::sim_scheduler>> =
        const { std::cell::Cell::new(None) };
}

/// Simulations that are begun in `what` have this scheduler.
///
/// # Safety
/// It is a `struct sim_scheduler` of native/sim.h that stays where it is.
#[cfg(test)]
pub unsafe fn with_scheduler<R>(other: *const std::ffi::c_void, what: impl FnOnce() -> R) -> R {
    // SAFETY: the caller says so.
    OTHER.set(unsafe { other.cast::<sys::sim_scheduler>().as_ref() });
    let answer = what();
    OTHER.set(None);
    answer
}

/// The scheduler that is simulated.
fn scheduler() -> &'static sys::sim_scheduler {
    #[cfg(test)]
    if let Some(other) = OTHER.get() {
        return other;
    }
    // SAFETY: it is never written.
    unsafe { &*std::ptr::addr_of!(sys::artis_sim_scheduler) }
}

/// The numbers of the kernel's policies.
fn policy_number(policy: Policy) -> u32 {
    match policy {
        Policy::Other { .. } => 0,
        Policy::Fifo { .. } => 1,
        Policy::RoundRobin { .. } => 2,
        Policy::Batch { .. } => 3,
        Policy::Idle => 5,
        Policy::Deadline { .. } => 6,
        Policy::Ext { .. } => 7,
    }
}

impl Ext {
    /// The scheduler on that machine; it waits until no other simulation has it.
    pub fn new(setup: &Setup, scenario: &Scenario) -> Result<Box<Self>, Error> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let scheduler = scheduler();
        let cpus = setup.layout.cpus;
        let mut ext = Box::new(Self {
            scheduler,
            shared: Box::default(),
            cpus: vec![sys::sim_cpu::default(); cpus as usize],
            tasks: Tasks::new(scheduler.task_bytes),
            queues: Vec::new(),
            queue_at: HashMap::default(),
            local: (0..cpus).map(|_| Dsq::new(super::flags::LOCAL)).collect(),
            masks: Vec::new(),
            arrays: Vec::new(),
            hashes: HashMap::new(),
            groups: Vec::new(),
            timers: HashMap::new(),
            direct: None,
            kicks: Vec::new(),
            hand_backs: Vec::new(),
            interrupt: None,
            ended: None,
            notes: None,
            _alone: alone,
        });
        ext.shared.cpus = ext.cpus.as_mut_ptr();
        ext.shared.nr_cpus = cpus;
        ext.shared.now_ns = EPOCH_NS;
        ext.shared.spin_ns = setup.costs.spin.once();
        let idle = std::ptr::from_mut(&mut *ext.tasks.idle);
        for cpu in &mut ext.cpus {
            cpu.rq.curr = idle;
            cpu.timers.next_timer = &cpu.next;
        }
        ext.configure(setup);
        ext.create_groups(scenario);
        Ok(ext)
    }

    /// As `artis sched` writes the settings before it loads the program.
    fn configure(&mut self, setup: &Setup) {
        let layout = &setup.layout;
        let near = |part: &crate::layout::Part| -> Vec<u8> {
            part.near.iter().map(|it| *it as u8).collect()
        };
        let near: Vec<Vec<u8>> = layout.parts.iter().map(near).collect();
        let (mut llcs, mut order, mut rt) = (Vec::new(), Vec::new(), Vec::new());
        let mut llc_of = vec![0_u8; layout.cpus as usize];
        for (number, part) in layout.parts.iter().enumerate() {
            let (first, rt_first) = (order.len() as u32, rt.len() as u32);
            for cpu in part.cpus.iter() {
                llc_of[cpu as usize] = number as u8;
                order.push(cpu);
                if layout.rt.contains(cpu) {
                    rt.push(cpu);
                }
            }
            llcs.push(sys::sim_llc {
                first,
                end: order.len() as u32,
                rt_first,
                near: near[number].as_ptr(),
            });
        }
        let is_rt: Vec<u8> = layout.is_rt.iter().map(|rt| u8::from(*rt)).collect();
        let config = sys::sim_config {
            nr_cpus: layout.cpus,
            nr_rt: rt.len() as u32,
            nr_llcs: llcs.len() as u32,
            rt_list: rt.as_ptr(),
            llc_cpus: order.as_ptr(),
            llcs: llcs.as_ptr(),
            llc_of: llc_of.as_ptr(),
            is_rt: is_rt.as_ptr(),
        };
        let table = kernel::table(&mut self.shared);
        if let Some(reset) = self.scheduler.reset {
            // SAFETY: both are whole, and are read before it returns.
            unsafe { reset(&table, &config) };
        }
    }

    fn create_groups(&mut self, scenario: &Scenario) {
        // The root, which the scheduler does not know, has no number.
        let count = scenario.objects.groups.len() as u64;
        for id in 1..=count + 1 {
            let mut node: Box<sys::kernfs_node> = Box::default();
            node.id = id;
            let mut seen: Box<sys::cgroup> = Box::default();
            seen.kn = &mut *node;
            self.groups.push(Cgroup { seen, _node: node });
        }
    }
}

impl Sim<'_> {
    /// The scheduler's own beginning, and that of its control groups.
    pub(crate) fn ext_begin(&mut self) -> Result<(), Error> {
        // SAFETY: the scheduler was set up for this machine.
        let code = self.ask(0, None, |it| it.init.map_or(0, |init| unsafe { init() }));
        if code != 0 {
            return Err(Error::NoStart(code));
        }
        let groups = &self.scenario.objects.groups;
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|place| (groups[*place].name.matches('/').count(), *place));
        for place in order {
            self.ext_create_group(place);
        }
        self.ask(0, None, |it| {
            if let Some(on) = it.turn_on {
                // SAFETY: it has begun.
                unsafe { on() };
            }
        });
        Ok(())
    }

    fn ext_create_group(&mut self, place: usize) {
        let groups = &self.scenario.objects.groups;
        let group = &groups[place];
        // The nearest that is above it, or the root.
        let above = groups.iter().enumerate().filter(|(_, other)| {
            let rest = group.name.strip_prefix(&other.name);
            rest.is_some_and(|rest| rest.starts_with('/'))
        });
        let above = above.max_by_key(|(_, other)| other.name.len());
        let above = above.map_or(0, |(place, _)| place + 1);
        let quota = group.quota;
        let what = sys::sim_group {
            id: place as u64 + 2,
            weight: group.weight.unwrap_or(100),
            period_us: quota.map_or(100_000, |quota| quota.period_ns / 1000),
            quota_us: quota.map_or(u64::MAX, |quota| quota.quota_ns / 1000),
            burst_us: 0,
        };
        let ext = self.ext();
        let parent = std::ptr::from_mut(&mut ext.groups[above].seen.self_);
        let parent_group = std::ptr::from_mut(&mut *ext.groups[above].seen);
        ext.groups[above].seen.self_.cgroup = parent_group;
        let seen = &mut ext.groups[place + 1].seen;
        seen.self_.parent = parent;
        let seen = std::ptr::from_mut(&mut **seen);
        self.ask(0, None, |it| {
            if let Some(create) = it.group {
                // SAFETY: the group stays where it is, and so does the one above it.
                unsafe { create(seen, &what) };
            }
        });
    }

    /// Tasks that limits stopped are let on from time to time; who waited for too long is served.
    pub(crate) fn start_limits(&mut self) {
        if self.ext.is_none() {
            self.fair_start_limits();
            return;
        }
        self.ext_let_on(0);
    }

    /// artis, the process, looks for such tasks.
    pub(crate) fn ext_let_on(&mut self, cpu: u32) {
        let next_ns = self.ask(cpu, None, |it| {
            // SAFETY: the scheduler has begun.
            let stopped = it.let_on.is_some_and(|let_on| unsafe { let_on() });
            it.look_ns.map_or(u64::MAX, |look| unsafe { look(stopped) })
        });
        self.ext_obey(cpu);
        // A policy without rules has no pause.
        let at = self.now + next_ns.max(1_000_000);
        self.set_timer(cpu, at, Comes::LetOn);
    }

    /// A new task.
    pub(crate) fn ext_create(&mut self, id: Id) {
        let task = &self.tasks[id as usize];
        let group = task.group as usize;
        let mask = std::rc::Rc::as_ptr(&task.allowed);
        let count = task.allowed_count;
        let signal = std::ptr::from_ref(&*self.ext().tasks.signal);
        let native = self.native(id);
        native.pid = id as i32 + 1;
        native.tgid = native.pid;
        native.nr_cpus_allowed = count as i32;
        native.cpus_ptr = mask.cast();
        native.signal = signal;
        self.ext_policy_changed(id);
        let ext = self.ext();
        let group = std::ptr::from_mut(&mut *ext.groups[group].seen);
        let place = ext.tasks.at(id);
        self.ask(0, None, |it| {
            if let Some(create) = it.init_task {
                // SAFETY: both stay where they are for as long as the simulation lasts.
                unsafe { create(place, group) };
            }
        });
    }

    /// Its policy, nice value or boost is another one.
    pub(crate) fn ext_policy_changed(&mut self, id: Id) {
        let task = &self.tasks[id as usize];
        let (policy, nice, cpu) = (task.policy, task.nice(), task.cpu);
        let native = self.native(id);
        native.policy = policy_number(policy);
        native.static_prio = 120 + i32::from(nice);
        native.thread_info.cpu = cpu;
    }

    /// The CPUs that it may use are others.
    pub(crate) fn ext_mask_changed(&mut self, cpu: u32, id: Id) {
        let task = &self.tasks[id as usize];
        let mask = std::rc::Rc::as_ptr(&task.allowed);
        let count = task.allowed_count;
        let native = self.native(id);
        native.cpus_ptr = mask.cast();
        native.nr_cpus_allowed = count as i32;
        let place = self.ext().tasks.at(id);
        self.ask(cpu, Some(id), |it| {
            if let Some(changed) = it.set_cpumask {
                // SAFETY: the task and its mask stay where they are.
                unsafe { changed(place, mask.cast_mut().cast()) };
            }
        });
        self.ext_obey(cpu);
    }

    /// Writes down what the scheduler says of each task, or no more.
    pub fn notes(&mut self, on: bool) {
        if let Some(ext) = &mut self.ext {
            ext.notes = on.then(Vec::new);
        }
    }
}

impl Drop for Ext {
    fn drop(&mut self) {
        ASKING.set(std::ptr::null_mut());
    }
}
