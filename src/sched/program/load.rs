// SPDX-License-Identifier: GPL-2.0-only
//! Loading the scheduler: its settings, what a kernel lacks, its hooks, and itself.

use super::{Config, Error, Program, Storage};
use crate::bpf::types::{bss, rodata, sched_ext_ops};
use crate::bpf::{ArtisSkel, ArtisSkelBuilder};
use crate::calls::Calls;
use crate::detector::Detector;
use crate::require::{SET_LIMIT, has_operation, has_servers};
use crate::watch::{Watch, Way};
use artis_machine::{Root, arch, local_timer, rcu};
use libbpf_rs::btf::types::{Func, Int, Var};
use libbpf_rs::btf::{Btf, HasSize};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, ProgramInput, ProgramType};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// The kernel's function that a grace period of RCU begins with, after it was prepared.
const GRACE_PERIOD: &str = "rcu_gp_fqs_loop";

impl<'storage> Program<'storage> {
    /// Loads and attaches the scheduler.
    ///
    /// # Errors
    /// What libbpf and the kernel's verifier report. Ask [`crate::require::missing`] first: it
    /// says in plain words what a kernel lacks.
    pub fn load(storage: &'storage mut Storage, config: &Config) -> Result<Self, Error> {
        let object = storage.0.insert(Box::new(MaybeUninit::uninit()));
        let mut open = ArtisSkelBuilder::default().open(object)?;

        let settings = open.maps.rodata_data.as_deref_mut();
        let settings = settings.ok_or_else(|| missing_section(".rodata"))?;
        let calls = Calls::find(config.detector, &Root::default())?;
        let btf = Btf::from_vmlinux()?;
        let has = |function: &str| btf.type_by_name::<Func<'_>>(function).is_some();
        // As of hands_back_late() in scx_compat.h.
        let hands_back_late = !has("scx_bpf_dsq_reenq");
        if let Calls::Tracepoint(id) = calls {
            settings.sys_enter_id = id;
        }
        settings.has_breakpoints = matches!(calls, Calls::Functions(_));
        settings.preempt_count_bytes = preempt_count_bytes(&btf)?;
        settings.timers_are_exact = local_timer::is_exact(&Root::default());
        settings.has_timers = config.has_timers;
        let held =
            rcu::normal_thread(&Root::default()).filter(|_| config.has_timers && has(GRACE_PERIOD));
        settings.rcu_pid = held.as_ref().map_or(0, |thread| thread.tid);
        lay_out(settings, config);
        let state = open.maps.bss_data.as_deref_mut();
        let state = state.ok_or_else(|| missing_section(".bss"))?;
        set_up_cpus(state, config, hands_back_late);
        let operations = open.struct_ops.artis_ops_mut();
        operations.hotplug_seq = config.hotplug_seq;
        without_absent(operations, &btf);

        let mut unused = unused(config.detector);
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
        let hooks = attach_hooks(&mut skel)?;
        let way = way(calls, &skel)?;
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
}

/// Writes down the CPUs, cache by cache.
fn lay_out(settings: &mut rodata, config: &Config) {
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
}

/// Writes down what each CPU is.
fn set_up_cpus(state: &mut bss, config: &Config, hands_back_late: bool) {
    let caches = config.caches.cpus();
    for (cpu, record) in (0..config.nr_cpus).zip(state.cpus.iter_mut()) {
        let rt = config.rt.contains(cpu);
        record.rt = rt.into();
        record.rt_immed = (rt && config.tickless.contains(cpu) && !hands_back_late).into();
        record.offline = (!config.online.contains(cpu)).into();
        let llc = caches.iter().position(|cpus| cpus.contains(cpu));
        record.llc = llc.unwrap_or(0) as u8;
    }
}

/// The programs of the other detectors.
fn unused(detector: Detector) -> Vec<&'static str> {
    let (by_breakpoint, by_tracepoint, by_tracking) = (
        ["breakpoint_entry", "breakpoint_left"],
        ["syscall_entry"],
        ["user_exit_entry", "user_enter_body"],
    );
    match detector {
        Detector::Breakpoint => [&by_tracepoint[..], &by_tracking].concat(),
        Detector::Syscall => [&by_breakpoint[..], &by_tracking].concat(),
        Detector::Entry => [&by_breakpoint[..], &by_tracepoint].concat(),
    }
}

fn attach_hooks(skel: &mut ArtisSkel<'_>) -> Result<Vec<Link>, Error> {
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
    Ok(hooks)
}

/// How the CPUs are watched, where that takes perf events.
fn way(calls: Calls, skel: &ArtisSkel<'_>) -> Result<Option<Way>, Error> {
    Ok(match calls {
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
    })
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
