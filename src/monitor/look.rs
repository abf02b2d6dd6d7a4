// SPDX-License-Identifier: GPL-2.0-only
//! Gathers what is known now. What changes over time is compared with the look before.

use crate::now::{
    Admitted, Cpu, Culprit, Holder, Now, Partition, Role, Rt0, Rt1, SCHEMA, Wakeups, Watch,
};
use artis_admitted::{OfCpu, Register, register};
use artis_machine::cpu_times::{self, CpuTimes};
use artis_machine::tasks::{self, Task};
use artis_machine::{CpuList, Root};
use artis_partition::host::Host;
use artis_partition::transaction::State;
use artis_partition::transaction::in_force;
use artis_sched::control;
use artis_sched::runtime::Runtime;
use artis_sched::status::Details;
use artis_task::kind::Kind;
use artis_watch::Thread;
use std::collections::BTreeMap;
use std::time::Instant;

/// Of the kernel's ticks in `/proc`, a second.
const TICKS: f64 = 100.0;
/// The files that name CPUs.
const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
const PRESENT: &str = "/sys/devices/system/cpu/present";
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// What the light watch knows, for who has one.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    pub watch: Watch,
    pub threads: Vec<Thread>,
    pub culprits: Vec<Culprit>,
    /// What cannot be seen, a sentence each.
    pub unknown: Vec<String>,
}

/// What the last look saw.
struct Before {
    at: Instant,
    cpus: BTreeMap<u32, CpuTimes>,
    ticks: BTreeMap<i32, u64>,
    wakeups: BTreeMap<(u32, u64), u64>,
}

/// Looks again and again.
pub struct Looker {
    root: Root,
    began: Instant,
    before: Option<Before>,
    /// The register and its bounds by thread: analysed once, until it changes.
    bounds: (Register, BTreeMap<i32, Admitted>),
}

impl Looker {
    pub fn new(root: Root) -> Self {
        Self {
            root,
            began: Instant::now(),
            before: None,
            bounds: (Register::default(), BTreeMap::new()),
        }
    }

    /// What is known now.
    pub fn look(&mut self, watched: Watched) -> Now {
        let mut unknown = watched.unknown;
        let scheduler = scheduler(&mut unknown);
        let now = Instant::now();
        let times = cpu_times::read(&self.root).unwrap_or_default();
        let all = tasks::with_times(&self.root).unwrap_or_else(|error| {
            unknown.push(format!("tasks are unknown: {error}"));
            Vec::new()
        });
        self.admit(&mut unknown);
        let after = Before {
            at: now,
            ticks: all.iter().map(|(task, ticks)| (task.tid, *ticks)).collect(),
            wakeups: (watched.threads.iter())
                .map(|one| ((one.tid, one.started_ns), one.wakeups()))
                .collect(),
            cpus: times,
        };
        let shares = shares(&all, self.before.as_ref(), now);
        let cpus = self.cpus(&after, scheduler.as_ref(), &all, &shares);
        let rt0 = self.rt0(&all, &watched.threads, watched.watch.bound_ns, now);
        let rt1 = all
            .iter()
            .filter(|(task, _)| task.policy == tasks::Policy::Ext);
        let rt1 = rt1.map(|(task, _)| Rt1 {
            tid: task.tid,
            pid: task.pid,
            name: task.name.clone(),
            level: task.nice + 21,
            cpu: task.cpu,
            share: self.before.as_ref().and(shares.get(&task.tid).copied()),
        });
        let rt1 = rt1.collect();
        let partition = partition(&self.root, &mut unknown);
        self.before = Some(after);
        let kernel = self.root.hint("/proc/sys/kernel/osrelease");
        Now {
            schema: SCHEMA,
            tool: env!("CARGO_PKG_VERSION"),
            kernel: kernel.unwrap_or_default().trim().to_owned(),
            watched_s: self.began.elapsed().as_secs_f64(),
            scheduler,
            watch: watched.watch,
            cpus,
            rt0,
            rt1,
            partition,
            culprits: watched.culprits,
            unknown,
        }
    }

    /// Reads the register, and analyses it when it has changed.
    fn admit(&mut self, unknown: &mut Vec<String>) {
        match register::read(&self.root) {
            Ok(register) if register == self.bounds.0 => {}
            Ok(register) => {
                let bounds = register.cpus.iter().flat_map(bounds).collect();
                self.bounds = (register, bounds);
            }
            Err(error) => unknown.push(format!("admitted tasks are unknown: {error}")),
        }
    }

    fn cpus(
        &self,
        after: &Before,
        scheduler: Option<&Details>,
        all: &[(Task, u64)],
        shares: &BTreeMap<i32, f64>,
    ) -> Vec<Cpu> {
        let list = |file| self.root.cpus(file).ok().flatten().unwrap_or_default();
        let (present, online, isolated) = (list(PRESENT), list(ONLINE), list(ISOLATED));
        let numbers: CpuList = present.iter().chain(after.cpus.keys().copied()).collect();
        let role = |cpu| match scheduler {
            _ if !online.contains(cpu) && !online.is_empty() => Role::Offline,
            Some(details) if details.rt_cpus.contains(cpu) => Role::Rt,
            Some(details) if details.nrt_cpus.contains(cpu) => Role::Nrt,
            _ if isolated.contains(cpu) => Role::Isolated,
            _ => Role::Any,
        };
        let mut holders: BTreeMap<u32, (&Task, f64)> = BTreeMap::new();
        for (task, _) in all {
            let share = shares.get(&task.tid).copied().unwrap_or(0.0);
            let best = holders.get(&task.cpu).map_or(0.0, |(_, share)| *share);
            if share > best {
                holders.insert(task.cpu, (task, share));
            }
        }
        let of = |cpu: u32| {
            let before = self.before.as_ref().and_then(|it| it.cpus.get(&cpu));
            let since = before.and_then(|before| Some(after.cpus.get(&cpu)?.since(*before)));
            let since = since.filter(|it| it.total() > 0);
            let part = |ticks: u64, all: u64| ticks as f64 / all as f64;
            Cpu {
                cpu,
                role: role(cpu),
                busy: since.map(|it| part(it.busy, it.total())),
                stolen: since.map(|it| part(it.steal, it.total())),
                holder: holders.get(&cpu).map(|(task, share)| Holder {
                    tid: task.tid,
                    name: task.name.clone(),
                    class: self.kind(task),
                    share: share.min(1.0),
                }),
            }
        };
        numbers.iter().map(of).collect()
    }

    fn kind(&self, task: &Task) -> Kind {
        let status = tasks::status(&self.root, task);
        Kind::of(task, &status.map(|it| it.allowed).unwrap_or_default())
    }

    fn rt0(
        &self,
        all: &[(Task, u64)],
        threads: &[Thread],
        bound_ns: Option<u64>,
        now: Instant,
    ) -> Vec<Rt0> {
        let is_rt0 = |task: &Task| task.policy.is_real_time() && !task.is_kernel;
        let watched = |tid: i32| {
            threads
                .iter()
                .find(|one| i64::from(one.tid) == i64::from(tid))
        };
        let rate = |thread: &Thread| {
            let before = self.before.as_ref()?;
            let seconds = now.duration_since(before.at).as_secs_f64();
            let earlier = before.wakeups.get(&(thread.tid, thread.started_ns))?;
            (seconds > 0.0).then(|| thread.wakeups().saturating_sub(*earlier) as f64 / seconds)
        };
        let tasks = all.iter().map(|(task, _)| task);
        let is_shown = |task: &&Task| is_rt0(task) || watched(task.tid).is_some();
        tasks
            .filter(is_shown)
            .map(|task| Rt0 {
                tid: task.tid,
                pid: task.pid,
                name: task.name.clone(),
                class: self.kind(task),
                policy: task.policy,
                priority: task.priority,
                cpu: task.cpu,
                wakeups: watched(task.tid).map(|one| Wakeups::of(one, rate(one), bound_ns)),
                admitted: self.bounds.1.get(&task.tid).cloned(),
            })
            .collect()
    }
}

/// Whom the scheduler's process says it is; a sentence where it cannot be asked.
fn scheduler(unknown: &mut Vec<String>) -> Option<Details> {
    match control::ask_status(&Runtime::default().socket()) {
        Ok(status) => status.and_then(|status| status.details),
        Err(error) => {
            unknown.push(format!("whether artis schedules is unknown: {error}"));
            None
        }
    }
}

/// Of one CPU's time since the look before; none without one.
fn shares(all: &[(Task, u64)], before: Option<&Before>, now: Instant) -> BTreeMap<i32, f64> {
    let Some(before) = before else {
        return BTreeMap::new();
    };
    let ticks = now.duration_since(before.at).as_secs_f64() * TICKS;
    let share = |(task, used): &(Task, u64)| {
        let used = used.saturating_sub(*before.ticks.get(&task.tid)?);
        (ticks > 0.0).then(|| (task.tid, used as f64 / ticks))
    };
    all.iter().filter_map(share).collect()
}

/// The bounds of one CPU's admitted tasks, by their threads.
fn bounds(of_cpu: &OfCpu) -> Vec<(i32, Admitted)> {
    let set = of_cpu.set();
    let answer = artis_admit::admit(&set);
    let found = answer.cpus.iter().flat_map(|cpu| &cpu.tasks);
    let found: BTreeMap<&str, Option<u64>> =
        found.map(|one| (one.name.as_str(), one.bound_ns)).collect();
    let tasks = set.tasks.iter().zip(&of_cpu.tasks);
    let each = tasks.map(|(task, admitted)| {
        let bound_ns = found.get(task.name.as_str()).copied().flatten();
        let numbers = &admitted.numbers;
        let with = Admitted {
            bound_ns,
            deadline_ns: numbers.deadline_ns,
            period_ns: numbers.period_ns,
            is_forced: admitted.is_forced,
        };
        (admitted.tid, with)
    });
    each.collect()
}

fn partition(root: &Root, unknown: &mut Vec<String>) -> Partition {
    match in_force(&Host::at(root.clone())) {
        Ok(all) => {
            let changes = all.iter().flat_map(|one| &one.changes);
            let is_drifted = |state: &State| matches!(state, State::Changed(_));
            Partition {
                changes: Some(changes.clone().count() as u64),
                drifted: changes
                    .filter(|one| is_drifted(&one.state))
                    .map(|one| one.change.target.place())
                    .collect(),
            }
        }
        Err(error) => {
            unknown.push(format!("the partition is unknown: {error}"));
            Partition::default()
        }
    }
}
