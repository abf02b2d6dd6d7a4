// SPDX-License-Identifier: GPL-2.0-only
//! The BPF program in the kernel: loads it, attaches it, reads its counters, detaches it.

mod load;

use super::bpf::types::{artis_besieged, artis_displaced, artis_waiting};
use super::bpf::{ArtisSkel, COUNTERS};
use super::caches::Caches;
use super::detector::Detector;
use super::ending::Ending;
use super::records::Records;
use super::watch::{self, Watch};
use artis_machine::cpulist::CpuList;
use libbpf_rs::{Link, OpenObject, ProgramInput};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;

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

impl Program<'_> {
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

    /// Who has waited for longer than anybody is to wait comes next.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn serve_overdue(&self) -> Result<(), Error> {
        let input = ProgramInput::default();
        self.skel.progs.serve_overdue.test_run(input)?;
        Ok(())
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
