// SPDX-License-Identifier: GPL-2.0-only
//! The BPF program in the kernel: loads it, attaches it, reads its counters, detaches it.

use super::bpf::types::{artis_besieged, artis_displaced, artis_waiting, sched_ext_ops};
use super::bpf::{ArtisSkel, ArtisSkelBuilder, COUNTERS};
use super::caches::Caches;
use super::calls::Calls;
use super::detector::Detector;
use super::ending::Ending;
use super::records::Records;
use super::require::{SET_LIMIT, has_operation, has_servers};
use super::watch::{self, Watch, Way};
use artis_machine::Root;
use artis_machine::cpulist::CpuList;
use artis_machine::{arch, local_timer, rcu};
use libbpf_rs::btf::types::{Func, Int, Var};
use libbpf_rs::btf::{Btf, HasSize};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, OpenObject, ProgramInput, ProgramType};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// CPUs a machine may have.
pub const CPUS_MAX: u32 = super::bpf::CPUS_MAX;

/// Settings of the scheduler, written before it is loaded.
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of the machine's last possible CPU, plus one.
    pub nr_cpus: u32,
    pub rt: CpuList,
    pub online: CpuList,
    /// All possible CPUs.
    pub caches: Caches,
    /// CPUs whose tick stops (`nohz_full`): no tick hands a displaced task back there.
    pub tickless: CpuList,
    pub detector: Detector,
    /// May BPF programs have timers? Not where the kernel is PREEMPT_RT.
    pub has_timers: bool,
    /// The kernel's count of CPUs going on- and offline; it refuses to attach when this is old.
    pub hotplug_seq: u64,
}

/// Time an RT CPU gave to each class of tasks since the scheduler was loaded, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    pub linux_ns: u64,
    pub rt1_ns: u64,
    pub kthread_ns: u64,
}

/// What the program has counted.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// By the counter's name.
    pub counters: BTreeMap<&'static str, u64>,
    /// Of each RT CPU.
    pub ran: BTreeMap<u32, Ran>,
    /// Longest wait of a runnable Linux task, in ns.
    pub linux_wait_ns_max: u64,
    /// Longest time from a kernel entry on an RT CPU to leaving it, in ns.
    pub leave_ns_max: u64,
    /// RT CPUs that are offline.
    pub rt_offline: CpuList,
}

/// RT CPUs that cannot be used at the moment.
#[derive(Clone, Debug, Default)]
pub struct Absent {
    /// Offline, or not watched yet.
    pub offline: CpuList,
    /// They came back, and their system calls are not watched yet.
    pub unwatched: CpuList,
}

/// Memory the loaded object lives in; see [`Program::load`].
#[derive(Default)]
pub struct Storage(Option<Box<MaybeUninit<OpenObject>>>);

/// Why the scheduler could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the kernel refused the scheduler")]
    Refused(#[from] libbpf_rs::Error),
    #[error(transparent)]
    Watch(#[from] watch::Error),
    #[error("{}", .0.in_words())]
    Ended(Ending),
}

/// The kernel's function that a grace period of RCU begins with, after it was prepared.
const GRACE_PERIOD: &str = "rcu_gp_fqs_loop";

/// The attached scheduler. Detaches when dropped.
pub struct Program<'storage> {
    // Fields drop in this order: the scheduler goes before the hooks that feed it.
    scheduler: Option<Link>,
    _hooks: Vec<Link>,
    /// `None` with a detector that needs no perf events.
    watch: Option<Watch>,
    skel: ArtisSkel<'storage>,
    rt: CpuList,
    nr_cpus: u32,
    hands_back_late: bool,
    has_servers: bool,
}

impl<'storage> Program<'storage> {
    /// Loads and attaches the scheduler.
    ///
    /// # Errors
    /// What libbpf and the kernel's verifier report. Ask [`super::require::missing`] first: it
    /// says in plain words what a kernel lacks.
    pub fn load(storage: &'storage mut Storage, config: &Config) -> Result<Self, Error> {
        let object = storage.0.insert(Box::new(MaybeUninit::uninit()));
        let mut open = ArtisSkelBuilder::default().open(object)?;

        let settings = open
            .maps
            .rodata_data
            .as_deref_mut()
            .ok_or_else(|| missing_section(".rodata"))?;
        let calls = Calls::find(config.detector, &Root::default())?;
        let btf = Btf::from_vmlinux()?;
        // As of hands_back_late() in scx_compat.h.
        let hands_back_late = btf.type_by_name::<Func<'_>>("scx_bpf_dsq_reenq").is_none();
        if let Calls::Tracepoint(id) = calls {
            settings.sys_enter_id = id;
        }
        settings.has_breakpoints = matches!(calls, Calls::Functions(_));
        settings.preempt_count_bytes = preempt_count_bytes(&btf)?;
        settings.timers_are_exact = local_timer::is_exact(&Root::default());
        settings.has_timers = config.has_timers;
        let held = rcu::normal_thread(&Root::default())
            .filter(|_| config.has_timers && btf.type_by_name::<Func<'_>>(GRACE_PERIOD).is_some());
        settings.rcu_pid = held.as_ref().map_or(0, |thread| thread.tid);
        settings.nr_cpus = config.nr_cpus;
        settings.nr_rt = config.rt.len() as u32;
        let caches = config.caches.cpus();
        settings.nr_llcs = caches.len() as u32;
        let mut rt_cpus = settings.rt_list.iter_mut();
        let mut all_cpus = settings.llc_cpus.iter_mut();
        let (mut rt_first, mut first) = (0, 0);
        for (number, (cpus, llc)) in caches.iter().zip(&mut settings.llcs).enumerate() {
            llc.first = first;
            for (cpu, slot) in cpus.iter().zip(&mut all_cpus) {
                *slot = cpu;
                first += 1;
            }
            llc.end = first;
            llc.rt_first = rt_first;
            let rt = cpus & &config.rt;
            for (cpu, slot) in rt.iter().zip(&mut rt_cpus) {
                *slot = cpu;
                rt_first += 1;
            }
            for (slot, other) in llc.near.iter_mut().zip(config.caches.near(number)) {
                *slot = other as u8;
            }
        }
        let state = open
            .maps
            .bss_data
            .as_deref_mut()
            .ok_or_else(|| missing_section(".bss"))?;
        for (cpu, record) in (0..config.nr_cpus).zip(state.cpus.iter_mut()) {
            record.rt = config.rt.contains(cpu).into();
            record.rt_immed =
                (config.rt.contains(cpu) && config.tickless.contains(cpu) && !hands_back_late)
                    .into();
            record.offline = (!config.online.contains(cpu)).into();
            let llc = caches.iter().position(|cpus| cpus.contains(cpu));
            record.llc = llc.unwrap_or(0) as u8;
        }
        let operations = open.struct_ops.artis_ops_mut();
        operations.hotplug_seq = config.hotplug_seq;
        without_absent(operations, &btf);

        let (by_breakpoint, by_tracepoint, by_tracking) = (
            ["breakpoint_entry", "breakpoint_left"],
            ["syscall_entry"],
            ["user_exit_entry", "user_enter_body"],
        );
        let mut unused = match config.detector {
            Detector::Breakpoint => [&by_tracepoint[..], &by_tracking].concat(),
            Detector::Syscall => [&by_breakpoint[..], &by_tracking].concat(),
            Detector::Entry => [&by_breakpoint[..], &by_tracepoint].concat(),
        };
        if !hands_back_late {
            unused.push("find_displaced");
        }
        if !has_operation(&btf, SET_LIMIT) {
            unused.push("let_on");
        }
        if held.is_none() {
            unused.push("grace_period_began");
        }
        for mut program in open.open_object_mut().progs_mut() {
            let name = program.name().to_string_lossy().into_owned();
            if unused.contains(&name.as_str()) {
                program.set_autoload(false);
            }
        }

        let mut skel = open.load()?;
        for know in [&skel.progs.know_artis, &skel.progs.know_kernel] {
            know.test_run(ProgramInput::default())?;
        }
        // The hooks first and the scheduler last. The other way round, the calls that attach
        // the hooks would be counted as the first leaks.
        let mut hooks = Vec::new();
        for program in skel.object_mut().progs_mut() {
            // Those of perf events are attached by the events.
            let others = [
                ProgramType::StructOps,
                ProgramType::Syscall,
                ProgramType::PerfEvent,
            ];
            let is_hook = !others.contains(&program.prog_type());
            if is_hook && program.autoload() {
                hooks.push(program.attach()?);
            }
        }
        let way = match calls {
            Calls::Tracepoint(id) => Some(Way::Tracepoint(id)),
            Calls::Functions(functions) => Some(Way::Breakpoints {
                functions,
                program: skel
                    .progs
                    .breakpoint_entry
                    .as_fd()
                    .try_clone_to_owned()
                    .map_err(libbpf_rs::Error::from)?,
            }),
            Calls::Tracked => None,
        };
        let watch = way.map(|way| Watch::open(way, &config.rt)).transpose()?;
        let scheduler = skel.maps.artis_ops.attach_struct_ops()?;
        let mut program = Self {
            scheduler: Some(scheduler),
            _hooks: hooks,
            watch,
            skel,
            rt: config.rt.clone(),
            nr_cpus: config.nr_cpus,
            hands_back_late,
            has_servers: has_servers(&btf),
        };
        // The kernel attaches a scheduler whose start failed, and detaches it a moment later.
        if let Some(ending) = program.ending() {
            return Err(Error::Ended(ending));
        }
        program.switch(true);
        Ok(program)
    }

    /// Switches the hooks on and off: they may act only while artis schedules every task.
    fn switch(&mut self, on: bool) {
        if let Some(state) = self.skel.maps.bss_data.as_deref_mut() {
            // SAFETY: a plain write to a mapped page that the BPF program reads.
            unsafe { std::ptr::write_volatile(&mut state.on, on) };
        }
    }

    /// Watches the system calls of an RT CPU that came back. Then it is an RT CPU again.
    ///
    /// # Errors
    /// When the kernel refuses. The CPU may be offline again; then nothing there has to be
    /// watched.
    pub fn watch_again(&mut self, cpu: u32) -> Result<(), Error> {
        if let Some(watch) = &mut self.watch {
            watch.renew(cpu)?;
        }
        let mut argument = cpu.to_ne_bytes();
        let input = ProgramInput {
            context_in: Some(&mut argument),
            ..Default::default()
        };
        self.skel.progs.cpu_watched.test_run(input)?;
        Ok(())
    }

    /// Is [`Program::displaced`] to be asked, again and again? Newer kernels need it not.
    pub fn hands_back_late(&self) -> bool {
        self.hands_back_late
    }

    /// On each RT CPU where RT0 has run for long, the thread that waits behind it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn displaced(&mut self) -> Result<Vec<i32>, Error> {
        let mut found = Vec::new();
        for cpu in self.rt.iter() {
            let mut argument = artis_displaced {
                cpu: cpu as i32,
                pid: 0,
            };
            self.skel
                .progs
                .find_displaced
                .test_run(asking(&mut argument))?;
            if argument.pid > 0 {
                found.push(argument.pid);
            }
        }
        Ok(found)
    }

    /// Has a CPU cgroup a limit? Then [`Program::let_on`] is to be called, again and again.
    pub fn has_limits(&self) -> bool {
        self.skel.maps.bss_data.as_deref().is_some_and(|state| {
            // SAFETY: a plain read of a mapped page that the BPF program writes.
            unsafe { std::ptr::read_volatile(&state.limited_groups) != 0 }
        })
    }

    /// Lets tasks on that the limits of their CPU cgroups stopped. Returns whether some are stopped
    /// still.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn let_on(&mut self) -> Result<bool, Error> {
        let output = self.skel.progs.let_on.test_run(ProgramInput::default())?;
        Ok(output.return_value != 0)
    }

    /// Has the kernel deadline servers for tasks of a BPF scheduler?
    pub fn has_servers(&self) -> bool {
        self.has_servers
    }

    /// An NRT CPU that real-time tasks have kept from others for long: returns how many tasks of
    /// ours are on its run queue. With `gives`, one that waits elsewhere is put there if none is.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn serve_beset(&self, cpu: u32, gives: bool) -> Result<u32, Error> {
        let mut argument = artis_besieged {
            cpu: cpu as i32,
            gives: gives.into(),
            runnable: 0,
        };
        self.skel
            .progs
            .serve_beset
            .test_run(asking(&mut argument))?;
        Ok(argument.runnable)
    }

    /// How long the Linux task has waited so far, ns, that has waited longest and still does.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn waiting_ns(&self) -> Result<u64, Error> {
        let mut argument = artis_waiting { longest_ns: 0 };
        self.skel
            .progs
            .find_waiting
            .test_run(asking(&mut argument))?;
        Ok(argument.longest_ns)
    }

    /// Detaches the scheduler and waits until the kernel's own scheduler has every task. Gives the
    /// breakpoints back, too: the next artis may want them at once.
    pub fn detach(&mut self) {
        self.switch(false);
        self.scheduler.take();
        self.watch.take();
    }

    /// How the scheduler ended; `None` while it is on.
    pub fn ending(&self) -> Option<Ending> {
        let state = self.skel.maps.bss_data.as_deref()?;
        // SAFETY: a plain read of a mapped page that the BPF program writes.
        let ended = unsafe { std::ptr::read_volatile(&state.ended) };
        (ended.kind != 0).then(|| Ending {
            kind: ended.kind,
            code: ended.code,
            reason: text(&ended.reason),
            message: text(&ended.message),
        })
    }

    /// What the program has counted so far.
    pub fn readings(&self) -> Readings {
        let mut readings = Readings::default();
        let mut counts = [0; COUNTERS.len()];
        let records = self.records();
        for cpu in 0..self.nr_cpus {
            let Some(record) = records.of(cpu) else {
                break;
            };
            let record = record.whole();
            for (sum, value) in counts.iter_mut().zip(record.count) {
                *sum += value;
            }
            readings.linux_wait_ns_max = readings.linux_wait_ns_max.max(record.linux_wait_ns_max);
            if self.rt.contains(cpu) {
                readings.leave_ns_max = readings.leave_ns_max.max(record.leave_ns_max);
                let [linux_ns, rt1_ns, kthread_ns] = record.ran_ns;
                let ran = Ran {
                    linux_ns,
                    rt1_ns,
                    kthread_ns,
                };
                readings.ran.insert(cpu, ran);
            }
        }
        for ((name, _), count) in COUNTERS.iter().zip(counts) {
            readings.counters.insert(name, count);
        }
        // A kernel that refuses has said so where it matters.
        let waiting_ns = self.waiting_ns().unwrap_or(0);
        readings.linux_wait_ns_max = readings.linux_wait_ns_max.max(waiting_ns);
        readings.rt_offline = self.absent().offline;
        readings
    }

    /// The RT CPUs that cannot be used at the moment. Called often, so it must be cheap.
    pub fn absent(&self) -> Absent {
        let mut absent = Absent::default();
        let records = self.records();
        for cpu in self.rt.iter() {
            let Some(record) = records.of(cpu) else {
                continue;
            };
            let record = record.whole();
            if record.offline != 0 {
                absent.offline.insert(cpu);
            }
            if record.unwatched != 0 {
                absent.unwatched.insert(cpu);
            }
        }
        absent
    }

    /// The records of all CPUs.
    pub fn records(&self) -> Records {
        let state = self.skel.maps.bss_data.as_deref();
        state.map_or(Records::NONE, |state| Records {
            first: state.cpus.as_ptr(),
            count: self.nr_cpus.min(CPUS_MAX),
        })
    }
}

/// The input of a program that reads a struct of the border, and writes its answer there.
fn asking<T: Copy>(argument: &mut T) -> ProgramInput<'_> {
    // SAFETY: integers of C, without padding between them, and the program keeps no pointer.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut(std::ptr::from_mut(argument).cast::<u8>(), size_of::<T>())
    };
    ProgramInput {
        context_in: Some(bytes),
        ..Default::default()
    }
}

/// The text in a C array, up to its terminating zero.
fn text(bytes: &[i8]) -> String {
    let bytes: Vec<u8> = bytes
        .iter()
        .map(|&byte| byte as u8)
        .take_while(|&byte| byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Takes out what the kernel's sched_ext has no member for: CPU cgroups need
/// CONFIG_EXT_GROUP_SCHED, `cgroup_set_bandwidth` 6.17, and `cgroup_set_idle` is newer than 6.18.
fn without_absent(operations: &mut sched_ext_ops, btf: &Btf<'_>) {
    for (name, program) in [
        ("cgroup_init", &mut operations.cgroup_init),
        ("cgroup_exit", &mut operations.cgroup_exit),
        ("cgroup_move", &mut operations.cgroup_move),
        ("cgroup_set_weight", &mut operations.cgroup_set_weight),
        (SET_LIMIT, &mut operations.cgroup_set_bandwidth),
        ("cgroup_set_idle", &mut operations.cgroup_set_idle),
    ] {
        if !has_operation(btf, name) {
            *program = std::ptr::null_mut();
        }
    }
}

/// Width of the kernel's `__preempt_count`: 4 bytes, and 8 where interrupts are counted apart.
fn preempt_count_bytes(btf: &Btf<'_>) -> Result<u32, Error> {
    let count: Option<Int<'_>> = btf
        .type_by_name::<Var<'_>>(arch::PREEMPT_COUNT)
        .and_then(|variable| variable.next_type())
        .and_then(|count| count.skip_mods_and_typedefs().try_into().ok());
    let count = count.ok_or_else(|| {
        let error = std::io::Error::other("the kernel's BTF has no integer __preempt_count");
        Error::Refused(error.into())
    })?;
    Ok(count.size() as u32)
}

fn missing_section(name: &str) -> Error {
    let error = std::io::Error::other(format!("the BPF object has no section {name}"));
    Error::Refused(error.into())
}
