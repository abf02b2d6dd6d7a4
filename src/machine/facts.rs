// SPDX-License-Identifier: GPL-2.0-only
//! All facts of the machine, each with the files that it was read from.
//!
//! Reads everything once and does not decide what a fact means. A file that cannot be read or
//! understood affects only its own fact, which then has the reason.

use super::boot_arguments::{self, BootArguments, Isolcpus};
use super::build_config::BuildConfig;
use super::cgroup::{self, RtGroup};
use super::cpu_times::{self, CpuTimes};
use super::cpus::Cpus;
use super::interrupts::{self, Interrupt};
use super::irq_affinity;
use super::kernel::Kernel;
use super::managers::{self, Manager};
use super::memory::{self, Memory};
use super::privilege::{self, Privilege};
use super::tasks::{self, Status, Task};
use super::tick::Tick;
use super::topology::{self, Topology};
use super::virtualisation::{self, Hypervisor};
use super::watchdogs::{self, Watchdogs};
use super::workqueues::{self, Workqueues};
use super::{CpuList, Root, Unreadable};
use super::{
    clock_source, cpusets, deadline_servers, debugfs, frequency, idle, mitigations, mounts, rcu,
    scx, smi,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::error::Error;

/// One fact, or the reason why it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact<T> {
    /// None: this machine does not have it, or it could not be read.
    pub value: Option<T>,
    /// The files or calls it was read from.
    pub from: String,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl<T> Fact<T> {
    fn new<E: Error>(from: impl Into<String>, read: Result<Option<T>, E>) -> Self {
        let from = from.into();
        match read {
            Ok(value) => Self {
                value,
                from,
                problem: None,
            },
            Err(error) => Self {
                value: None,
                from,
                problem: Some(chain(&error)),
            },
        }
    }

    fn known(from: impl Into<String>, value: Option<T>) -> Self {
        Self::new(from, Ok::<_, Unreadable>(value))
    }

    /// The value, for callers that treat absent and unreadable alike.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    let words = std::iter::once(error.to_string()).chain(causes.map(ToString::to_string));
    words.collect::<Vec<_>>().join(": ")
}

/// What the build configuration says about latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Build {
    /// Options for finding bugs in the kernel, which make it slow.
    pub debugging: Vec<&'static str>,
    pub rt_group_sched: bool,
}

/// The clock source in use, and the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Clock {
    pub current: String,
    pub available: Vec<String>,
}

/// A thread of the kernel or of a real-time policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Thread {
    #[serde(flatten)]
    pub task: Task,
    #[serde(flatten)]
    pub status: Status,
}

/// System management interrupts of one CPU. Each of them stops all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Smis {
    pub count: u64,
    pub uptime_s: u64,
}

/// All facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    pub kernel: Fact<Kernel>,
    /// What the kernel offers to BPF schedulers.
    pub scx: Fact<scx::Interface>,
    pub build: Fact<Build>,
    pub tick: Fact<Tick>,
    pub cpus: Fact<Cpus>,
    pub isolcpus: Fact<Isolcpus>,
    pub rcu_nocbs: Fact<CpuList>,
    /// Whether RCU callbacks may wait for seconds where threads run them.
    pub rcu_may_wait: Fact<bool>,
    pub isolated_partitions: Fact<CpuList>,
    /// Control groups with CPUs of their own, without that of artis's shield.
    pub cpu_groups: Fact<Vec<cpusets::Group>>,
    /// The CPUs of artis's shield.
    pub shield: Fact<CpuList>,
    /// Why there can be no shield here.
    pub shield_obstacle: Fact<&'static str>,
    pub rt_group: Fact<RtGroup>,
    /// How the scheduler's files in debugfs can be used: deadline servers, the preemption model.
    pub scheduler_debugfs: Fact<debugfs::Access>,
    pub deadline_servers: Fact<BTreeMap<&'static str, CpuList>>,
    pub clock: Fact<Clock>,
    pub idle_states: Fact<Vec<idle::Allowed>>,
    pub governors: Fact<BTreeMap<String, CpuList>>,
    pub topology: Fact<Topology>,
    pub interrupts: Fact<Vec<Interrupt>>,
    pub default_irq_affinity: Fact<CpuList>,
    pub threads: Fact<Vec<Thread>>,
    pub workqueues: Fact<Workqueues>,
    pub timer_migration: Fact<u32>,
    /// Whether the kernel accounts how long tasks wait for CPU, memory and devices (PSI).
    pub pressure: Fact<bool>,
    pub memory: Fact<Memory>,
    pub watchdogs: Fact<Watchdogs>,
    pub mitigations: Fact<BTreeMap<String, String>>,
    /// Name of the hypervisor.
    pub virtualisation: Fact<String>,
    /// Since boot.
    pub cpu_times: Fact<BTreeMap<u32, CpuTimes>>,
    pub smis: Fact<Smis>,
    pub privilege: Fact<Privilege>,
    pub container: Fact<String>,
    /// Whether settings below `/sys` can be changed from here at all.
    pub sysfs_writable: Fact<bool>,
    pub managers: Fact<Vec<Manager>>,
}

const CPU_FOLDER: &str = "/sys/devices/system/cpu";
/// Whether an idle CPU's timers move to a CPU that is awake.
pub const TIMER_MIGRATION: &str = "/proc/sys/kernel/timer_migration";
/// Exists while the kernel accounts pressure.
pub const PRESSURE_FILE: &str = "/proc/pressure/cpu";

/// Options that make a kernel slow by design.
const DEBUGGING: [&str; 8] = [
    "CONFIG_DEBUG_ATOMIC_SLEEP",
    "CONFIG_DEBUG_KMEMLEAK",
    "CONFIG_DEBUG_LOCK_ALLOC",
    "CONFIG_DEBUG_PAGEALLOC",
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_PROVE_LOCKING",
    "CONFIG_SLUB_DEBUG_ON",
];

impl Facts {
    /// Looks at everything.
    pub fn read(root: &Root) -> Self {
        let kernel = Kernel::read(root);
        let config = kernel
            .as_ref()
            .ok()
            .and_then(|kernel| BuildConfig::read(root, &kernel.release));
        let cmdline = root.hint(boot_arguments::FILE).unwrap_or_default();
        let arguments = BootArguments::parse(&cmdline);
        let times = cpu_times::read(root);
        let cpus = Cpus::read(root);
        // Without sysfs, the kernel's statistics still list the CPUs that are online.
        let online = match (&cpus, &times) {
            (Ok(cpus), _) => cpus.online.clone(),
            (Err(_), Ok(times)) => times.keys().copied().collect(),
            (Err(_), Err(_)) => CpuList::new(),
        };
        let possible = cpus.as_ref().map_or(&online, |cpus| &cpus.possible);
        let nohz_full = cpus.as_ref().map(|cpus| cpus.nohz_full.clone());
        let tick = Tick::new(&arguments, config.as_ref(), &nohz_full.unwrap_or_default());
        let tasks = tasks::all(root);
        let no_tasks = Vec::new();
        let known_tasks = tasks.as_ref().unwrap_or(&no_tasks);
        let config_file = config
            .as_ref()
            .map_or("/proc/config.gz, /boot/config-*", |config| &config.file);
        Self {
            scx: Fact::new(scx::BTF_FILE, scx::Interface::read(root)),
            build: Fact::known(config_file, config.as_ref().map(build)),
            tick: Fact::known(
                format!("{}, {config_file}", boot_arguments::FILE),
                Some(tick),
            ),
            isolcpus: Fact::new(boot_arguments::FILE, arguments.isolcpus(possible)),
            rcu_nocbs: Fact::new(boot_arguments::FILE, rcu_nocbs(&arguments, possible)),
            rcu_may_wait: Fact::new(rcu::LAZY_FILE, rcu::may_wait(root).map(Some)),
            isolated_partitions: Fact::new(cgroup::ISOLATED_FILE, cgroup::isolated(root)),
            cpu_groups: Fact::new(cpusets::V2, cpusets::groups(root).map(Some)),
            shield: Fact::new(cpusets::SHIELD, cpusets::shield(root)),
            shield_obstacle: Fact::known(cpusets::V2, cpusets::shield_obstacle(root)),
            rt_group: Fact::known(
                "/proc/self/cgroup, cpu.rt_runtime_us",
                cgroup::rt_group(root, "self"),
            ),
            scheduler_debugfs: Fact::known(
                format!("{}/sched", debugfs::FOLDER),
                Some(debugfs::Access::of(root)),
            ),
            deadline_servers: Fact::new(
                format!("{}/sched/*_server/cpu*/runtime", deadline_servers::DEBUGFS),
                deadline_servers::on(root, &online),
            ),
            clock: Fact::new(clock_source::FILE, clock(root)),
            idle_states: Fact::new(
                format!("{CPU_FOLDER}/cpu*/cpuidle/state*"),
                idle::allowed(root, &online).map(|states| not_empty(states, Vec::is_empty)),
            ),
            governors: Fact::new(
                format!("{CPU_FOLDER}/cpu*/cpufreq/scaling_governor"),
                frequency::governors(root, &online).map(|all| not_empty(all, BTreeMap::is_empty)),
            ),
            topology: Fact::new(
                format!("{CPU_FOLDER}/cpu*/{{topology,cache}}, {}", topology::NODES),
                topology::read(root, &online).map(Some),
            ),
            interrupts: Fact::new(
                format!("{}, /proc/irq/*", interrupts::FILE),
                interrupts::all(root).map(Some),
            ),
            default_irq_affinity: Fact::new(
                irq_affinity::DEFAULT_FILE,
                irq_affinity::default(root),
            ),
            threads: Fact::known(
                "/proc/*/stat, /proc/*/status",
                Some(threads(root, known_tasks)),
            ),
            managers: Fact::new(
                "/proc/*/stat",
                tasks
                    .as_ref()
                    .map(|tasks| Some(managers::running(root, tasks))),
            ),
            workqueues: Fact::new(workqueues::file(None), workqueues::read(root)),
            timer_migration: Fact::new(TIMER_MIGRATION, root.number(TIMER_MIGRATION)),
            pressure: Fact::known(PRESSURE_FILE, Some(root.exists(PRESSURE_FILE))),
            memory: Fact::new(
                format!(
                    "{}, /proc/swaps, /proc/sys/vm, /sys/kernel/mm",
                    memory::FILE
                ),
                memory::read(root),
            ),
            watchdogs: Fact::new(watchdogs::CPUS_FILE, watchdogs::read(root)),
            mitigations: Fact::new(
                mitigations::FOLDER,
                mitigations::read(root).map(|all| not_empty(all, BTreeMap::is_empty)),
            ),
            virtualisation: virtualisation(root),
            smis: Fact::new(
                smi::file(online.first().unwrap_or(0)),
                smis(root, online.first().unwrap_or(0)),
            ),
            privilege: Fact::new(
                "/proc/self/status, /proc/self/limits",
                Privilege::of_self(root).map(Some),
            ),
            container: match privilege::container_and_file(root) {
                Some((name, file)) => Fact::known(file, Some(name)),
                None => Fact::known("/proc/self/cgroup", None),
            },
            sysfs_writable: Fact::new(mounts::FILE, mounts::writable(root, "/sys")),
            kernel: Fact::new("/proc/sys/kernel, /sys/kernel", kernel.map(Some)),
            cpus: Fact::new(CPU_FOLDER, cpus.map(Some)),
            cpu_times: Fact::new(cpu_times::FILE, times.map(Some)),
        }
    }

    /// The CPUs that run tasks now, as far as this machine shows them.
    pub fn online(&self) -> CpuList {
        if let Some(cpus) = self.cpus.get() {
            return cpus.online.clone();
        }
        let times = self.cpu_times.get();
        times.map_or_else(CpuList::new, |times| times.keys().copied().collect())
    }
}

fn build(config: &BuildConfig) -> Build {
    Build {
        debugging: DEBUGGING
            .into_iter()
            .filter(|option| config.is_set(option))
            .collect(),
        rt_group_sched: config.is_set("CONFIG_RT_GROUP_SCHED"),
    }
}

/// None when empty: the folder that was read does not exist then.
fn not_empty<T>(value: T, is_empty: impl Fn(&T) -> bool) -> Option<T> {
    (!is_empty(&value)).then_some(value)
}

/// `nohz_full=` moves RCU callbacks away from its CPUs too.
fn rcu_nocbs(
    arguments: &BootArguments,
    possible: &CpuList,
) -> Result<Option<CpuList>, super::cpulist::ParseError> {
    let own = arguments.cpus("rcu_nocbs", possible)?;
    let tickless = arguments.cpus("nohz_full", possible)?;
    Ok(Some(&own | &tickless))
}

fn clock(root: &Root) -> Result<Option<Clock>, Unreadable> {
    let Some(current) = clock_source::current(root)? else {
        return Ok(None);
    };
    Ok(Some(Clock {
        current,
        available: clock_source::available(root)?,
    }))
}

fn threads(root: &Root, tasks: &[Task]) -> Vec<Thread> {
    let concerned = tasks
        .iter()
        .filter(|task| task.is_kernel || task.policy.is_real_time());
    let with_status = |task: &Task| {
        Some(Thread {
            task: task.clone(),
            status: tasks::status(root, task)?,
        })
    };
    concerned.filter_map(with_status).collect()
}

fn virtualisation(root: &Root) -> Fact<String> {
    match virtualisation::hypervisor(root) {
        Some(Hypervisor { name, from }) => Fact::known(from, Some(name)),
        None => Fact::known(virtualisation::CPU_FILE, None),
    }
}

fn smis(root: &Root, cpu: u32) -> Result<Option<Smis>, Unreadable> {
    let Some(count) = smi::count(root, cpu)? else {
        return Ok(None);
    };
    let uptime = root.hint("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split('.').next().and_then(|text| text.parse().ok());
    Ok(Some(Smis {
        count,
        uptime_s: seconds.unwrap_or(0),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn an_empty_machine_has_facts_without_values_and_reasons() {
        let (_folder, root) = canned(&[]);
        let facts = Facts::read(&root);
        assert!(facts.online().is_empty());
        let problem = facts.cpus.problem.unwrap();
        assert!(problem.contains("is /sys mounted"), "{problem}");
        assert!(facts.kernel.problem.unwrap().contains("osrelease"));
        assert_eq!(facts.interrupts.value.unwrap(), []);
    }

    #[test]
    fn one_bad_file_affects_one_fact() {
        let (_folder, root) = canned(&[
            (
                "proc/stat",
                "cpu0 1 2 3 40 5 6 7 8 0 0\ncpu3 1 2 3 40 5 6 7 8 0 0\n",
            ),
            ("proc/sys/kernel/timer_migration", "yes\n"),
            ("proc/irq/default_smp_affinity", "8\n"),
        ]);
        let facts = Facts::read(&root);
        let problem = facts.timer_migration.problem.clone().unwrap();
        assert!(
            problem.contains("timer_migration") && problem.contains("yes"),
            "{problem}"
        );
        assert_eq!(facts.default_irq_affinity.get().unwrap().to_string(), "3");
        assert_eq!(facts.online().to_string(), "0,3");
    }

    #[test]
    fn this_machine_has_facts() {
        let facts = Facts::read(&Root::default());
        assert!(facts.kernel.get().is_some() && !facts.online().is_empty());
        let threads = facts.threads.get().unwrap();
        assert!(
            threads
                .iter()
                .all(|one| one.task.is_kernel || one.task.policy.is_real_time())
        );
    }
}
