// SPDX-License-Identifier: GPL-2.0-only
//! The facts for people: name, value, and where it was read.

use artis_machine::CpuList;
use artis_machine::facts::{Fact, Facts};
use artis_machine::interrupts::Interrupt;
use artis_machine::kernel::{CgroupVersion, Kernel, SchedExt};
use artis_machine::memory::Memory;
use artis_machine::privilege::{Capability, Privilege};
use artis_machine::topology::Topology;
use std::collections::BTreeMap;

/// A line for each fact.
pub(super) fn in_words(facts: &Facts) -> Vec<(&'static str, String, &str)> {
    let mut lines = Lines(Vec::new());
    if let Some(kernel) = facts.kernel.get() {
        lines.of_kernel(kernel);
    }
    lines.of_cpus(facts);
    lines.of_hardware(facts);
    lines.of_settings(facts);
    lines.of_machine(facts);
    lines.0
}

struct Lines<'a>(Vec<(&'static str, String, &'a str)>);

impl<'a> Lines<'a> {
    /// Nothing for a fact whose source this machine does not have.
    fn add<T>(&mut self, name: &'static str, fact: &'a Fact<T>, words: impl FnOnce(&T) -> String) {
        if fact.value.is_some() || fact.problem.is_some() {
            self.add_or_none(name, fact, words);
        }
    }

    /// For facts whose source is always there.
    fn add_or_none<T>(
        &mut self,
        name: &'static str,
        fact: &'a Fact<T>,
        words: impl FnOnce(&T) -> String,
    ) {
        let value = match (&fact.value, &fact.problem) {
            (Some(value), _) => words(value),
            (None, Some(problem)) => format!("could not be read: {problem}"),
            (None, None) => "none".to_owned(),
        };
        self.0.push((name, value, &fact.from));
    }

    /// How the kernel was built, and which CPUs are whose.
    fn of_cpus(&mut self, facts: &'a Facts) {
        self.add("build", &facts.build, |build| match build.debugging.len() {
            0 => "without debugging options".to_owned(),
            _ => build.debugging.join(", "),
        });
        self.add("tick", &facts.tick, |tick| {
            let hz = tick.hz.map_or_else(String::new, |hz| format!(", {hz} Hz"));
            let timers = if tick.high_resolution {
                "high-resolution timers"
            } else {
                "timers of the tick's resolution"
            };
            format!("{}{hz}, {timers}", tick.mode)
        });
        self.add("CPUs", &facts.cpus, |cpus| {
            format!(
                "online {}, possible {}, isolated {}, nohz_full {}",
                cpus.online,
                cpus.possible,
                or_none(&cpus.isolated),
                or_none(&cpus.nohz_full)
            )
        });
        self.add_or_none("isolcpus", &facts.isolcpus, |isolcpus| {
            format!("{} {}", isolcpus.flags.join(","), isolcpus.cpus)
        });
        self.add("rcu_nocbs", &facts.rcu_nocbs, or_none);
        if facts.rcu_may_wait.get() == Some(&true) {
            let words = |_: &bool| "may wait where threads run them".to_owned();
            self.add("RCU callbacks", &facts.rcu_may_wait, words);
        }
        self.add("cpuset partitions", &facts.isolated_partitions, or_none);
    }

    fn of_hardware(&mut self, facts: &'a Facts) {
        self.add("topology", &facts.topology, topology);
        self.add_or_none("virtual machine", &facts.virtualisation, String::clone);
        self.add("steal since boot", &facts.cpu_times, |times| {
            let ticks: u64 = times.values().map(|times| times.steal).sum();
            format!("{:.2} s of all CPUs", ticks as f64 / 100.0)
        });
        self.add("clock source", &facts.clock, |clock| {
            format!("{} (of {})", clock.current, clock.available.join(", "))
        });
        self.add("governors", &facts.governors, by_cpus);
        self.add("idle states", &facts.idle_states, |states| {
            let words = states.iter().map(|state| {
                let (name, us) = (&state.name, state.exit_latency_us);
                format!("{name} ({us} us, {})", state.cpus.in_words())
            });
            or_nothing(words.collect())
        });
        self.add("SMIs", &facts.smis, |smis| {
            format!("{} in {} s", smis.count, smis.uptime_s)
        });
        self.add("mitigations", &facts.mitigations, |holes| {
            or_nothing(
                holes
                    .iter()
                    .map(|(name, state)| format!("{name}: {state}"))
                    .collect(),
            )
        });
    }

    /// What can be set, and who runs where.
    fn of_settings(&mut self, facts: &'a Facts) {
        self.add("RT groups", &facts.rt_group, |group| {
            let budget = if group.has_budget() { "a" } else { "no" };
            format!("on, {budget} budget for this one")
        });
        self.add("deadline servers", &facts.deadline_servers, by_cpus);
        self.add("interrupts", &facts.interrupts, |interrupts| {
            interrupts_in_words(interrupts)
        });
        self.add(
            "default affinity",
            &facts.default_irq_affinity,
            CpuList::in_words,
        );
        self.add("kernel threads", &facts.threads, |threads| {
            let kernel = threads.iter().filter(|one| one.task.is_kernel);
            let bound = kernel.clone().filter(|one| one.task.is_bound).count();
            let real_time = kernel.clone().filter(|one| one.task.policy.is_real_time());
            format!(
                "{}, {bound} bound to CPUs, {} real-time",
                kernel.count(),
                real_time.count()
            )
        });
        self.add("real-time tasks", &facts.threads, |threads| {
            let user = threads.iter().filter(|one| !one.task.is_kernel);
            format!("{} besides the kernel's", user.count())
        });
        self.add("workqueues", &facts.workqueues, |workqueues| {
            let mut all = BTreeMap::from([("unbound".to_owned(), workqueues.cpus.clone())]);
            all.extend(workqueues.own.clone());
            by_cpus(&all)
        });
        self.add("timer migration", &facts.timer_migration, |number| {
            on_or_off(*number != 0).to_owned()
        });
        if facts.pressure.get() == Some(&true) {
            self.add("pressure accounts", &facts.pressure, |_| "on".to_owned());
        }
        self.add("watchdogs", &facts.watchdogs, |watchdogs| {
            format!(
                "soft {}, NMI {}, {}",
                on_or_off(watchdogs.soft),
                on_or_off(watchdogs.nmi),
                watchdogs.cpus.in_words()
            )
        });
    }

    fn of_machine(&mut self, facts: &'a Facts) {
        self.add("memory", &facts.memory, memory);
        self.add("rights", &facts.privilege, rights);
        self.add("container", &facts.container, String::clone);
        self.add("/sys", &facts.sysfs_writable, |writable| {
            if *writable { "writable" } else { "read-only" }.to_owned()
        });
        self.add("managers", &facts.managers, |managers| {
            or_nothing(
                managers
                    .iter()
                    .map(|one| format!("{} ({})", one.name, one.pid))
                    .collect(),
            )
        });
    }

    fn of_kernel(&mut self, kernel: &'a Kernel) {
        let release = format!("{} {}", kernel.release, kernel.version);
        self.0.extend([
            ("kernel", release, "/proc/sys/kernel/osrelease, version"),
            ("boot arguments", kernel.cmdline.clone(), "/proc/cmdline"),
            (
                "preemption model",
                kernel.preemption.to_string(),
                kernel.preemption_from.as_str(),
            ),
        ]);
        if let Some(SchedExt { state, ops }) = &kernel.sched_ext {
            let words = format!("{state} {}", ops.as_deref().unwrap_or_default());
            self.0.push(("sched_ext", words, "/sys/kernel/sched_ext"));
        }
        if kernel.btf {
            let file = "/sys/kernel/btf/vmlinux";
            self.0.push(("BTF", "yes".to_owned(), file));
        }
        let cgroup = match kernel.cgroup {
            Some(CgroupVersion::V1) => "version 1",
            Some(CgroupVersion::V2) => "version 2",
            None => "none with a cpu controller",
        };
        self.0
            .push(("cgroups", cgroup.to_owned(), "/proc/self/cgroup"));
        if let Some(limit) = kernel.rt_throttling {
            let words = limit.runtime_us.map_or_else(
                || "off".to_owned(),
                |runtime_us| format!("{runtime_us} us of each {} us", limit.period_us),
            );
            let file = "/proc/sys/kernel/sched_rt_runtime_us";
            self.0.push(("RT throttling", words, file));
        }
    }
}

fn or_none(cpus: &CpuList) -> String {
    if cpus.is_empty() {
        "none".to_owned()
    } else {
        cpus.to_string()
    }
}

fn or_nothing(words: Vec<String>) -> String {
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}

fn by_cpus<K: std::fmt::Display>(groups: &BTreeMap<K, CpuList>) -> String {
    let words = groups
        .iter()
        .map(|(name, cpus)| format!("{name} on {}", cpus.in_words()));
    or_nothing(words.collect())
}

fn topology(topology: &Topology) -> String {
    let count = |groups: &[CpuList], one: &str, many: &str| match groups.len() {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    };
    let threads = topology.cores.iter().any(|core| core.len() > 1);
    let nodes: Vec<CpuList> = topology.nodes.values().cloned().collect();
    let mut words = vec![
        count(&topology.packages, "package", "packages"),
        count(&topology.cores, "core", "cores"),
        if threads { "SMT" } else { "no SMT" }.to_owned(),
        count(&topology.l2, "L2", "L2"),
        count(&topology.l3, "L3", "L3"),
        count(&nodes, "memory node", "memory nodes"),
    ];
    words.extend(
        topology
            .kinds
            .iter()
            .map(|(name, cpus)| format!("{name} cores {cpus}")),
    );
    words.join(", ")
}

fn interrupts_in_words(interrupts: &[Interrupt]) -> String {
    let fixed = interrupts.iter().filter(|one| !one.movable).count();
    let targets = interrupts
        .iter()
        .fold(CpuList::new(), |all, one| &all | &one.target());
    match (interrupts.len(), fixed) {
        (0, _) => "none visible".to_owned(),
        (all, 0) => format!("{all} of devices, on {}", targets.in_words()),
        (all, fixed) => format!(
            "{all} of devices, on {}; {fixed} of them cannot be moved",
            targets.in_words()
        ),
    }
}

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn memory(memory: &Memory) -> String {
    let mib = |kib: u64| kib >> 10;
    let swap = or_nothing(memory.swaps.clone());
    format!(
        "{} MiB, {} available, {} promised; swap {swap}; huge pages {}; compaction {}; counted {}; \
         merging {}; NUMA balancing {}",
        mib(memory.total_kib),
        mib(memory.available_kib),
        mib(memory.committed_kib),
        memory.thp.as_deref().unwrap_or("none"),
        memory
            .compaction_proactiveness
            .map_or_else(|| "none".to_owned(), |number| number.to_string()),
        memory.stat_interval_s.map_or_else(
            || "not visible".to_owned(),
            |seconds| format!("every {seconds} s")
        ),
        on_or_off(memory.merges_pages),
        on_or_off(memory.numa_balancing),
    )
}

fn rights(privilege: &Privilege) -> String {
    let known = [
        (Capability::SysNice, "CAP_SYS_NICE"),
        (Capability::IpcLock, "CAP_IPC_LOCK"),
        (Capability::SysAdmin, "CAP_SYS_ADMIN"),
        (Capability::Bpf, "CAP_BPF"),
        (Capability::Perfmon, "CAP_PERFMON"),
    ];
    let held = known
        .iter()
        .filter(|(capability, _)| privilege.has(*capability));
    let held = or_nothing(held.map(|(_, name)| (*name).to_owned()).collect());
    format!(
        "user {}; {held}; RTPRIO {}; MEMLOCK {}",
        privilege.euid, privilege.rtprio, privilege.memlock
    )
}
