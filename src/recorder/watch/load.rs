// SPDX-License-Identifier: GPL-2.0-only
//! Loading the recorder and attaching it to what the kernel has.

use super::{Recorder, Settings};
use crate::calls;
use crate::error::Error;
use crate::faults;
use crate::history::History;
use crate::hooks::{self, FaultEnds};
use crate::rings::{EVENTS, MARKS, Rings, STACKS};
use crate::skeleton::RecorderSkelBuilder;
use crate::skeleton::types::rodata;
use crate::symbols::Symbols;
use crate::threads::Threads;
use artis_explain::document::Missed;
use artis_explain::functions::Functions;
use artis_machine::arch::TIMER_ENTRY;
use artis_machine::{Root, virtualisation};
use libbpf_rs::btf::Btf;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapHandle, OpenObject};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::{IntoRawFd, OwnedFd};

/// The initial pid namespace, as `/proc/self/ns/pid` names it (PROC_PID_INIT_INO).
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";
/// The function of the timers of all delayed works: it does not say which work is due.
const DELAYED_WORK_TIMER: &str = "delayed_work_timer_fn";
/// That of the timers that end the period of a cgroup's limit.
const LIMIT_TIMER: &str = "sched_cfs_period_timer";
impl<'obj> Recorder<'obj> {
    /// Loads and attaches the recorder. `storage` is where libbpf keeps the object.
    ///
    /// # Errors
    /// Without BTF, privilege or the kernel's consent, and in a pid namespace.
    pub fn load(
        storage: &'obj mut MaybeUninit<OpenObject>,
        settings: Settings,
    ) -> Result<Self, Error> {
        let namespace = std::fs::read_link("/proc/self/ns/pid");
        if namespace.is_ok_and(|name| name.as_os_str() != INITIAL_PID_NAMESPACE) {
            return Err(Error::PidNamespace);
        }
        let btf = Btf::from_vmlinux().map_err(Error::NoBtf)?;
        // What libbpf would print is in the error.
        let printed = libbpf_rs::set_print(None);
        let loaded = Self::load_quietly(storage, settings, &btf);
        libbpf_rs::set_print(printed);
        loaded
    }

    fn load_quietly(
        storage: &'obj mut MaybeUninit<OpenObject>,
        settings: Settings,
        btf: &Btf<'_>,
    ) -> Result<Self, Error> {
        let mut open = RecorderSkelBuilder::default()
            .open(storage)
            .map_err(Error::bpf("open the BPF program"))?;
        let Symbols {
            functions,
            lists_variables,
        } = Symbols::of_kernel();
        let possible = libbpf_rs::num_possible_cpus().map_err(Error::bpf("count the CPUs"))?;
        let cpus = possible as u64;
        let (ends, counts) = match waits_for_ends() {
            true => (FaultEnds::Function, Vec::new()),
            false => match faults::open(cpus) {
                Ok(counts) => (FaultEnds::Count, counts),
                Err(_) => (FaultEnds::Unseen, Vec::new()),
            },
        };
        let mut absent = hooks::choose(open.open_object_mut(), btf, ends, lists_variables)?;
        if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
            set(constants, ends, &functions);
        }
        for (map, of_cpu) in [
            (&mut open.maps.events, EVENTS),
            (&mut open.maps.marks, MARKS),
            (&mut open.maps.stacks, STACKS),
        ] {
            map.set_max_entries(u32::try_from(cpus * of_cpu).unwrap_or(u32::MAX))
                .map_err(Error::bpf("size the BPF maps"))?;
        }
        let mut skeleton = open
            .load()
            .map_err(|source| Error::refused(source, &Root::default()))?;
        if let Some(data) = skeleton.maps.bss_data.as_deref_mut() {
            let room = data.cpus.len();
            if possible > room {
                return Err(Error::TooManyCpus { room, possible });
            }
            data.bar_ns = settings.threshold_ns;
        }
        if let (Some(until_ns), Some(data)) =
            (settings.until_ns, skeleton.maps.data_data.as_deref_mut())
        {
            data.until_ns = until_ns;
        }
        let share = |map: &libbpf_rs::MapMut<'_>| {
            MapHandle::try_from(map).map_err(Error::bpf("share a BPF map"))
        };
        let (events, marks) = (share(&skeleton.maps.events)?, share(&skeleton.maps.marks)?);
        let stacks = share(&skeleton.maps.stacks)?;
        let threads = share(&skeleton.maps.threads)?;
        if functions.is_empty() {
            absent.push(
                "the kernel hides its symbols (kernel.kptr_restrict): functions are addresses"
                    .to_owned(),
            );
        }
        let root = Root::default();
        let mut recorder = Self {
            events: Rings::map(&events, cpus, EVENTS).map_err(Error::Memory)?,
            marks: Rings::map(&marks, cpus, MARKS).map_err(Error::Memory)?,
            stacks: Rings::map(&stacks, cpus, STACKS).map_err(Error::Memory)?,
            threads: Threads::new(threads),
            functions,
            settings,
            cpus,
            seen: vec![0; possible],
            kept: Vec::new(),
            history: History::default(),
            missed: Missed::default(),
            copies: 0,
            absent,
            virtual_machine: virtualisation::virtualisation(&root).is_some(),
            smi: 0,
            programs: BTreeSet::new(),
            counts: Vec::new(),
            skeleton,
        };
        recorder.smi = recorder.count_smi();
        recorder.attach(counts)?;
        recorder.programs = recorder.own_programs();
        Ok(recorder)
    }

    /// Attaches the programs, that which `counts` raise, too.
    fn attach(&mut self, counts: Vec<OwnedFd>) -> Result<(), Error> {
        if let Some(data) = self.skeleton.maps.bss_data.as_deref_mut() {
            set_clocks(&mut data.clock_offset_ns);
        }
        self.skeleton
            .attach()
            .map_err(Error::bpf("attach the BPF program"))?;
        for count in counts {
            // The link closes it.
            let program = &self.skeleton.progs.fault_counted;
            let link = program.attach_perf_event(count.into_raw_fd());
            self.counts
                .push(link.map_err(Error::bpf("count page faults"))?);
        }
        Ok(())
    }
}

/// Writes down what the kernel's addresses and numbers are.
fn set(constants: &mut rodata, ends: FaultEnds, functions: &Functions) {
    constants.faults_end = ends != FaultEnds::Unseen;
    constants.delayed_work_timer = functions.address(DELAYED_WORK_TIMER).unwrap_or(0);
    constants.limit_timer = functions.address(LIMIT_TIMER).unwrap_or(0);
    let entry = functions.range(TIMER_ENTRY).unwrap_or_default();
    (constants.timer_entry, constants.timer_entry_end) = (entry.start, entry.end);
    constants.idle_calls = calls::idle();
    constants.event_calls = calls::event();
}

/// Writes down what the clocks say, by their numbers.
fn set_clocks(offsets_ns: &mut [u64]) {
    use ClockId as Clock;
    for clock in [
        Clock::CLOCK_REALTIME,
        Clock::CLOCK_BOOTTIME,
        Clock::CLOCK_TAI,
    ] {
        offsets_ns[clock.as_raw() as usize] = clock_offset_ns(clock);
    }
}

/// From `CLOCK_MONOTONIC` to another clock, by the readings that came closest to each other.
fn clock_offset_ns(clock: ClockId) -> u64 {
    let now = |clock| {
        let time = clock_gettime(clock).unwrap_or(TimeSpec::new(0, 0));
        time.tv_sec() * 1_000_000_000 + time.tv_nsec()
    };
    let readings = (0..8).map(|_| {
        let before_ns = now(ClockId::CLOCK_MONOTONIC);
        let ns = now(clock);
        (now(ClockId::CLOCK_MONOTONIC) - before_ns, ns - before_ns)
    });
    let closest = readings.min().unwrap_or_default();
    closest.1.cast_unsigned()
}

/// Whether this kernel lets a program wait for the end of a function: some are built without what
/// it takes, and say so only when it is loaded.
fn waits_for_ends() -> bool {
    let mut storage = MaybeUninit::uninit();
    let Ok(mut open) = RecorderSkelBuilder::default().open(&mut storage) else {
        return false;
    };
    for mut program in open.open_object_mut().progs_mut() {
        let tried = program.section().to_string_lossy().starts_with("fexit/");
        program.set_autoload(tried);
    }
    open.load().is_ok()
}
