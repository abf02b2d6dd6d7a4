// SPDX-License-Identifier: GPL-2.0-only
//! What the register knows of each task, and the set that an analysis takes.

use crate::jobs::Limits;
pub use artis_admit::model::OnOverrun;
use artis_admit::model::{Execution, Held, Lock, Platform, Policy, Protocol, Set, Task};
use serde::{Deserialize, Serialize};

/// A lock that a task takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedLock {
    pub name: String,
    pub protocol: Protocol,
    /// The longest time it is held at a stretch.
    pub time_ns: u64,
}

/// What a task asks for; times in nanoseconds, as [`artis_admit::model::Task`] has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    pub period_ns: u64,
    pub is_periodic: bool,
    pub deadline_ns: u64,
    pub execution_ns: u64,
    pub jitter_ns: u64,
    pub section_ns: u64,
    /// Of the policy `given`.
    pub priority: Option<u8>,
    pub locks: Vec<NamedLock>,
}

impl Numbers {
    /// Those of a task of a set.
    pub fn of(set: &Set, task: &Task) -> Self {
        let named = |held: &Held| NamedLock {
            name: set.locks[held.lock].name.clone(),
            protocol: set.locks[held.lock].protocol,
            time_ns: held.time_ns,
        };
        Self {
            period_ns: task.period_ns,
            is_periodic: task.is_periodic,
            deadline_ns: task.deadline_ns,
            execution_ns: task.execution_ns(),
            jitter_ns: task.jitter_ns,
            section_ns: task.section_ns,
            priority: task.priority,
            locks: task.locks.iter().map(named).collect(),
        }
    }

    /// The task with this name, and its locks among those of the set.
    fn task(&self, name: String, cpu: u32, locks: &mut Vec<Lock>) -> Task {
        let held = self.locks.iter().map(|one| {
            let found = locks.iter().position(|lock| lock.name == one.name);
            let lock = found.unwrap_or_else(|| {
                locks.push(Lock {
                    name: one.name.clone(),
                    protocol: one.protocol,
                });
                locks.len() - 1
            });
            // Of two opinions on a lock the weaker one is safe.
            if one.protocol == Protocol::None {
                locks[lock].protocol = Protocol::None;
            }
            Held {
                lock,
                time_ns: one.time_ns,
            }
        });
        Task {
            locks: held.collect(),
            is_periodic: self.is_periodic,
            deadline_ns: self.deadline_ns,
            execution: Execution::Ns(self.execution_ns),
            jitter_ns: self.jitter_ns,
            priority: self.priority,
            cpu: Some(cpu),
            section_ns: self.section_ns,
            ..Task::new(&name, self.execution_ns, self.period_ns)
        }
    }
}

/// An admitted task: one thread of a running process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admitted {
    pub pid: i32,
    pub tid: i32,
    /// When the thread started, ticks of `USER_HZ` after boot: the kernel reuses numbers.
    pub start_ticks: u64,
    pub name: String,
    #[serde(flatten)]
    pub numbers: Numbers,
    /// It was let in although the set did not fit.
    pub is_forced: bool,
    pub on_overrun: Option<OnOverrun>,
}

/// The admitted tasks of one RT CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfCpu {
    pub cpu: u32,
    pub policy: Policy,
    /// What the machine takes, as the last one that joined said it.
    pub platform: Platform,
    pub tasks: Vec<Admitted>,
}

impl OfCpu {
    /// A CPU without tasks.
    pub fn new(cpu: u32, policy: Policy) -> Self {
        Self {
            cpu,
            policy,
            platform: Platform::default(),
            tasks: Vec::new(),
        }
    }

    /// What the jobs of one of its tasks are held against.
    pub fn limits(&self, task: &Admitted) -> Limits {
        let numbers = &task.numbers;
        Limits {
            budget_ns: self.platform.charged_ns(numbers.execution_ns, self.cpu),
            period_ns: numbers.period_ns,
            jitter_ns: numbers.jitter_ns + self.platform.jitter_ns,
        }
    }

    /// The tasks as a set, in their order; names that are there twice have their thread's number.
    pub fn set(&self) -> Set {
        let mut set = Set::new(self.policy, Vec::new());
        set.name = format!("tasks of CPU {}", self.cpu);
        set.cpus = vec![self.cpu];
        set.platform = self.platform.clone();
        for (at, one) in self.tasks.iter().enumerate() {
            let before = &self.tasks[..at];
            let name = match before.iter().any(|other| other.name == one.name) {
                true => format!("{} ({})", one.name, one.tid),
                false => one.name.clone(),
            };
            let task = one.numbers.task(name, self.cpu, &mut set.locks);
            set.tasks.push(task);
        }
        set
    }
}

/// All admitted tasks. This is also the format on disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Register {
    /// The boot that they run in, as the kernel names it.
    pub boot_id: String,
    /// Ascending; none without tasks.
    pub cpus: Vec<OfCpu>,
}

impl Register {
    /// The tasks of a CPU, if it has any.
    pub fn of_cpu(&self, cpu: u32) -> Option<&OfCpu> {
        self.cpus.iter().find(|one| one.cpu == cpu)
    }

    /// Every task with its CPU's number.
    pub fn tasks(&self) -> impl Iterator<Item = (u32, &Admitted)> {
        let of = |one: &'_ OfCpu| one.cpu;
        self.cpus
            .iter()
            .flat_map(move |one| one.tasks.iter().map(move |task| (of(one), task)))
    }

    /// Keeps the tasks that `keep` says; CPUs without tasks go.
    pub fn retain(&mut self, keep: impl Fn(&Admitted) -> bool) {
        for one in &mut self.cpus {
            one.tasks.retain(&keep);
        }
        self.cpus.retain(|one| !one.tasks.is_empty());
    }

    /// Replaces the tasks of a CPU.
    pub fn put(&mut self, of_cpu: OfCpu) {
        self.cpus.retain(|one| one.cpu != of_cpu.cpu);
        self.cpus.push(of_cpu);
        self.cpus.retain(|one| !one.tasks.is_empty());
        self.cpus.sort_by_key(|one| one.cpu);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A task of this thread number.
    pub(crate) fn task(tid: i32, execution_ns: u64, period_ns: u64) -> Admitted {
        Admitted {
            pid: tid,
            tid,
            start_ticks: 5,
            name: format!("t{tid}"),
            numbers: Numbers {
                period_ns,
                is_periodic: true,
                deadline_ns: period_ns,
                execution_ns,
                jitter_ns: 0,
                section_ns: 0,
                priority: None,
                locks: Vec::new(),
            },
            is_forced: false,
            on_overrun: None,
        }
    }

    #[test]
    fn locks_of_one_name_are_one_lock_and_the_weaker_protocol_counts() {
        let mut of_cpu = OfCpu::new(1, Policy::Rm);
        let lock = |protocol| NamedLock {
            name: "map".to_owned(),
            protocol,
            time_ns: 7,
        };
        for (tid, protocol) in [(1, Protocol::Inheritance), (2, Protocol::None)] {
            let mut one = task(tid, 10, 100);
            one.numbers.locks.push(lock(protocol));
            of_cpu.tasks.push(one);
        }
        let set = of_cpu.set();
        assert_eq!(set.locks.len(), 1);
        assert_eq!(set.locks[0].protocol, Protocol::None);
        assert_eq!(set.tasks[0].locks, set.tasks[1].locks);
    }

    #[test]
    fn a_set_survives_the_register() {
        let text = artis_admit::example::EXAMPLE;
        let set = Set::parse(text).unwrap();
        let mut of_cpu = OfCpu::new(1, set.policy);
        of_cpu.platform = set.platform.clone();
        for (at, one) in set.tasks.iter().enumerate() {
            let mut admitted = task(at as i32, 1, 1);
            admitted.name = one.name.clone();
            admitted.numbers = Numbers::of(&set, one);
            of_cpu.tasks.push(admitted);
        }
        let text = serde_json::to_string(&of_cpu).unwrap();
        let back: OfCpu = serde_json::from_str(&text).unwrap();
        assert_eq!(back, of_cpu);
        let (ours, theirs) = (artis_admit::admit(&back.set()), artis_admit::admit(&set));
        let bounds = |answer: &artis_admit::Admission| -> Vec<Option<u64>> {
            let tasks = answer.cpus.iter().flat_map(|cpu| &cpu.tasks);
            tasks.map(|task| task.bound_ns).collect()
        };
        assert_eq!(bounds(&ours), bounds(&theirs));
        assert_eq!(ours.verdict, theirs.verdict);
    }

    #[test]
    fn two_tasks_of_one_name_are_told_apart() {
        let mut of_cpu = OfCpu::new(1, Policy::Edf);
        for tid in [8, 9] {
            of_cpu.tasks.push(Admitted {
                name: "sleep".to_owned(),
                ..task(tid, 10, 100)
            });
        }
        let names: Vec<String> = of_cpu.set().tasks.into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["sleep", "sleep (9)"]);
    }
}
