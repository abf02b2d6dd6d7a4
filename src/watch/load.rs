// SPDX-License-Identifier: GPL-2.0-only
//! Loading the light watch, and reading what it counted.

use crate::constants::{ALERTS, CPUS_MAX, WANTED};
use crate::error::Error;
use crate::skeleton::types::{bss, rodata, watch_thread};
use crate::skeleton::{OpenWatchSkel, WatchSkel, WatchSkelBuilder};
use crate::thread::{Alert, Thread};
use artis_machine::{CpuList, Root, kernel_threads};
use libbpf_rs::OpenObject;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Struct, Var};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, fence};

/// The handler of the timers that wake a thread.
const SLEEPER: &str = "hrtimer_wakeup";
/// The per-CPU variables of run queues and timers.
const QUEUES: &str = "runqueues";
const TIMERS: &str = "hrtimer_bases";
/// The programs that run only when a real-time thread leaves, and the one for all switches.
const LEAVES: [&str; 2] = ["left_fixed", "left_deadline"];
const SWITCHES: &str = "switched";

/// Which threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// Every real-time thread that leaves one of these CPUs.
    Cpus(CpuList),
    /// These processes and these threads, while they are real-time.
    Numbers {
        /// With all their threads.
        processes: Vec<u32>,
        threads: Vec<u32>,
    },
}

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub whom: Whom,
    /// What is above it is an [`Alert`].
    pub bound_ns: Option<u64>,
    /// Threads of the kernel itself, too.
    pub kernel_threads: bool,
}

/// The attached light watch. It watches until it is dropped.
pub struct LightWatch<'obj> {
    skeleton: WatchSkel<'obj>,
    absent: Vec<String>,
    /// Alerts that were looked at.
    seen: u64,
    missed: u64,
    /// Whether the hook is that of real-time threads alone.
    pub is_apart: bool,
}

/// How a kernel is hooked.
struct Hooks {
    is_apart: bool,
    sleeper: u64,
    timers_from_queue: i64,
}

impl<'obj> LightWatch<'obj> {
    /// Loads and attaches it. `storage` is where libbpf keeps the object.
    ///
    /// # Errors
    /// Without BTF, the kernel's account of threads, privilege, or the kernel's consent.
    pub fn load(
        storage: &'obj mut MaybeUninit<OpenObject>,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let btf = Btf::from_vmlinux().map_err(Error::NoBtf)?;
        if !has_account(&btf) {
            return Err(Error::NoAccount);
        }
        let mut hooks = Hooks {
            is_apart: true,
            sleeper: address(SLEEPER).unwrap_or(0),
            timers_from_queue: timers_from_queue(&btf).unwrap_or(0),
        };
        // What libbpf would print is in the error.
        let printed = libbpf_rs::set_print(None);
        hooks.is_apart = probe(settings, &hooks);
        let loaded = attach(storage, settings, &hooks);
        libbpf_rs::set_print(printed);
        Ok(Self {
            skeleton: loaded?,
            absent: absent(&hooks),
            seen: 0,
            missed: 0,
            is_apart: hooks.is_apart,
        })
    }

    /// What this kernel does not show, a sentence each.
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// The watch's memory, which never grows.
    pub fn memory_bytes(&self) -> usize {
        size_of::<bss>()
    }

    /// The threads that are watched, with what was counted of them.
    pub fn threads(&self) -> Vec<Thread> {
        let Some(data) = self.skeleton.maps.bss_data.as_deref() else {
            return Vec::new();
        };
        let raw = data.threads.iter().map(|at| {
            // SAFETY: mapped memory that the kernel changes; any bytes are a valid value.
            unsafe { std::ptr::from_ref(at).read_volatile() }
        });
        raw.filter(|raw| raw.tid != 0 && raw.left_ns != 0)
            .map(|raw| Thread::of(&raw))
            .collect()
    }

    /// Wakeups of threads for which there was no room.
    pub fn not_kept(&self) -> u64 {
        let data = self.skeleton.maps.bss_data.as_deref();
        // SAFETY: a mapped integer that the kernel changes.
        data.map_or(0, |data| unsafe {
            (&raw const data.not_kept).read_volatile()
        })
    }

    /// The wakeups above the bound since the last call.
    pub fn alerts(&mut self) -> Vec<Alert> {
        let Some(data) = self.skeleton.maps.bss_data.as_deref() else {
            return Vec::new();
        };
        // SAFETY: a mapped integer that the kernel changes.
        let head = unsafe { (&raw const data.alerts_head).read_volatile() };
        let oldest = head.saturating_sub(u64::from(ALERTS));
        self.missed += oldest.saturating_sub(self.seen);
        self.seen = self.seen.max(oldest);
        let mut found = Vec::new();
        while self.seen < head {
            let at = &data.alerts[(self.seen % u64::from(ALERTS)) as usize];
            // SAFETY: mapped memory that the kernel changes; any bytes are a valid value. The
            // number says whether it is whole.
            let raw = unsafe { std::ptr::from_ref(at).read_volatile() };
            fence(Ordering::Acquire);
            match Alert::of(&raw, self.seen + 1) {
                Some(alert) => found.push(alert),
                None => self.missed += 1,
            }
            self.seen += 1;
        }
        found
    }

    /// Wakeups above the bound that came faster than they were looked at.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Makes room: forgets the threads that have ended. Gives what was counted of them.
    pub fn forget_ended(&mut self, root: &Root) -> Vec<Thread> {
        let watched = self.threads();
        let is_there = |one: &Thread| {
            let tid = i32::try_from(one.tid).unwrap_or(0);
            kernel_threads::start_ticks(root, tid) == Some(one.start_ticks())
        };
        let ended: Vec<Thread> = watched.into_iter().filter(|one| !is_there(one)).collect();
        let Some(data) = self.skeleton.maps.bss_data.as_deref_mut() else {
            return Vec::new();
        };
        for at in &mut data.threads {
            let is_gone = |one: &Thread| one.tid == at.tid && one.started_ns == at.started_ns;
            if ended.iter().any(is_gone) {
                // Nobody writes there: its thread is gone. From its number on another one may.
                *at = watch_thread {
                    tid: at.tid,
                    ..Default::default()
                };
                fence(Ordering::Release);
                // SAFETY: a mapped integer that the kernel looks at.
                unsafe { (&raw mut at.tid).write_volatile(0) };
            }
        }
        ended
    }
}

/// Whether the programs that run only for real-time threads can be had: some kernels are built
/// without what it takes, and say so only when one is attached.
fn probe(settings: &Settings, hooks: &Hooks) -> bool {
    let mut storage = MaybeUninit::uninit();
    attach(&mut storage, settings, hooks).is_ok()
}

fn attach<'obj>(
    storage: &'obj mut MaybeUninit<OpenObject>,
    settings: &Settings,
    hooks: &Hooks,
) -> Result<WatchSkel<'obj>, Error> {
    let mut open = WatchSkelBuilder::default()
        .open(storage)
        .map_err(Error::bpf("open the BPF program"))?;
    choose(&mut open, hooks.is_apart);
    if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
        constants.sleeper_handler = hooks.sleeper;
        constants.timers_from_queue = hooks.timers_from_queue;
        constants.kernel_threads = settings.kernel_threads;
        whom(constants, &settings.whom)?;
    }
    let mut skeleton = open
        .load()
        .map_err(|source| Error::refused(source, &Root::default(), is_root()))?;
    if let Some(data) = skeleton.maps.bss_data.as_deref_mut() {
        data.bound_ns = settings.bound_ns.unwrap_or(0);
    }
    skeleton
        .attach()
        .map_err(Error::bpf("attach the BPF program"))?;
    Ok(skeleton)
}

fn choose(open: &mut OpenWatchSkel<'_>, is_apart: bool) {
    for mut program in open.open_object_mut().progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let wanted = match name.as_str() {
            SWITCHES => !is_apart,
            name => is_apart && LEAVES.contains(&name),
        };
        program.set_autoload(wanted);
    }
}

fn whom(constants: &mut rodata, whom: &Whom) -> Result<(), Error> {
    match whom {
        Whom::Cpus(cpus) => {
            for cpu in cpus.iter().filter(|cpu| *cpu < CPUS_MAX) {
                constants.watched_cpus[cpu as usize / 64] |= 1 << (cpu % 64);
            }
        }
        Whom::Numbers { processes, threads } => {
            constants.all_threads = false;
            let asked = processes.len().max(threads.len());
            if asked > WANTED as usize {
                return Err(Error::TooMany {
                    most: WANTED,
                    asked,
                });
            }
            constants.wanted_processes[..processes.len()].copy_from_slice(processes);
            constants.wanted_threads[..threads.len()].copy_from_slice(threads);
            constants.wanted_count = asked as u32;
        }
    }
    Ok(())
}

fn is_root() -> bool {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Whether the kernel notes when threads arrive on their CPU (`CONFIG_SCHED_INFO`).
fn has_account(btf: &Btf<'_>) -> bool {
    let account = btf.type_by_name::<Struct<'_>>("sched_info");
    account.is_some_and(|account| {
        let mut members = account.iter();
        members.any(|one| one.name.is_some_and(|name| name == "last_arrival"))
    })
}

/// How far a CPU's timers are from its run queue: both are in the one section of per-CPU variables.
fn timers_from_queue(btf: &Btf<'_>) -> Option<i64> {
    let section = btf.type_by_name::<DataSec<'_>>(".data..percpu")?;
    let at = |wanted: &str| {
        let mut variables = section.iter();
        let found = variables.find(|one| {
            let variable = btf.type_by_id::<Var<'_>>(one.ty);
            variable.is_some_and(|it| it.name().is_some_and(|name| name == wanted))
        });
        found.map(|one| i64::from(one.offset))
    };
    Some(at(TIMERS)? - at(QUEUES)?)
}

/// Where a function of the kernel begins; none where it hides its addresses.
fn address(function: &str) -> Option<u64> {
    let symbols = std::fs::read_to_string("/proc/kallsyms").ok()?;
    let mut lines = symbols.lines().map(str::split_ascii_whitespace);
    lines.find_map(|mut words| {
        let address = words.next()?;
        (words.nth(1) == Some(function)).then_some(())?;
        u64::from_str_radix(address, 16).ok().filter(|at| *at != 0)
    })
}

fn absent(hooks: &Hooks) -> Vec<String> {
    let mut absent = Vec::new();
    if hooks.sleeper == 0 {
        absent.push(
            "the kernel hides its symbols (kernel.kptr_restrict): when timers were due is unknown, \
             so wakeups are \"queued\" only"
                .to_owned(),
        );
    } else if hooks.timers_from_queue == 0 {
        absent.push(
            "the kernel does not say where it keeps its timers: when they were due is unknown, so \
             wakeups are \"queued\" only"
                .to_owned(),
        );
    }
    if !hooks.is_apart {
        absent.push(
            "the kernel lets nobody hook a real-time thread's leaving alone: each switch of tasks \
             is looked at, those to a real-time thread, too"
                .to_owned(),
        );
    }
    absent
}
