// SPDX-License-Identifier: GPL-2.0-only
//! The observer of `src/trace/bpf/occupancy.bpf.c`: for each CPU, where the kernel worked for
//! user tasks other than RT0, and which class of task had the CPU for how long.
//!
//! Owns loading it and reading its counts. Knows no scheduler and no RT CPU, so that it judges
//! every configuration in the same way. Counts run from the moment it is loaded; a figure is always
//! the difference of two [`Snapshot`]s, so neither its start nor its end is in it.

use super::syscalls;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Func;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{ErrorKind, Link, OpenObject};
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use skeleton::types::{occupancy_class as Class, occupancy_cpu};
use skeleton::{OccupancySkel, OccupancySkelBuilder};
use std::mem::MaybeUninit;
use std::ops::{AddAssign, Sub};
use std::time::Duration;

mod skeleton {
    #![allow(warnings, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/occupancy.skel.rs"));
}

/// Functions of the kernel without which a count would silently stay 0.
const NEEDED: [&str; 2] = ["handle_mm_fault", "get_signal"];

/// What can go wrong with the observer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel lacks what the observer hooks.
    #[error(
        "the observer cannot see all it must on this kernel: no function {function} in its BTF; \
         use a kernel with CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoHook {
        /// The missing function.
        function: &'static str,
    },
    /// More CPUs than the observer has room for.
    #[error(
        "the observer has room for {room} CPUs and this machine may have {possible}; raise OCCUPANCY_CPUS_MAX and build again"
    )]
    TooManyCpus {
        /// Its room.
        room: usize,
        /// CPUs the kernel may bring online.
        possible: usize,
    },
    /// The kernel's list of symbols or of hooks.
    #[error(
        "cannot read {file} to find the system calls' functions: {reason}; run as root, with tracefs mounted"
    )]
    Symbols {
        /// The list.
        file: &'static str,
        /// The system's reason.
        reason: std::io::Error,
    },
    /// No system call to hook.
    #[error(
        "the observer found no system call to hook among {found} in {list}; is this kernel built with CONFIG_FUNCTION_TRACER=y, and may we see addresses (kernel.kptr_restrict, root)?"
    )]
    NoSyscalls {
        /// System calls that the kernel has.
        found: usize,
        /// Where it lists what may be hooked.
        list: &'static str,
    },
    /// The kernel refused the programs.
    #[error("{doing} the observer's BPF programs: {reason}{hint}")]
    Bpf {
        /// Loading, attaching, ...
        doing: &'static str,
        /// What libbpf says.
        reason: libbpf_rs::Error,
        /// What to do about it, or nothing.
        hint: &'static str,
    },
}

impl Error {
    fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |reason| {
            let hint = match reason.kind() {
                ErrorKind::PermissionDenied => "; run as root",
                ErrorKind::NotFound => {
                    "; is tracefs mounted? (`mount -t tracefs tracefs /sys/kernel/tracing`)"
                }
                _ => "",
            };
            Self::Bpf {
                doing,
                reason,
                hint,
            }
        }
    }
}

/// One way into the kernel, on one CPU or some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    /// Entries seen on the CPU.
    pub begun: u64,
    /// Entries for which the kernel's work started on the CPU.
    pub worked: u64,
}

/// What one CPU did, or some together; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// System calls of user tasks other than RT0.
    pub syscalls: Entries,
    /// System calls that were on this CPU when they returned, wherever they began.
    pub syscalls_returned: u64,
    /// Page faults in user mode of such tasks.
    pub faults: Entries,
    /// Signal deliveries to such tasks.
    pub signals: Entries,
    /// Time nobody had the CPU.
    pub idle_ns: u64,
    /// Time of RT0 tasks.
    pub rt0_ns: u64,
    /// Time of kernel threads.
    pub kthreads_ns: u64,
    /// Time of all other tasks.
    pub others_ns: u64,
}

impl Counts {
    /// All entries seen.
    pub fn begun(&self) -> u64 {
        self.syscalls.begun + self.faults.begun + self.signals.begun
    }

    /// All entries for which the kernel's work started here.
    pub fn worked(&self) -> u64 {
        self.syscalls.worked + self.faults.worked + self.signals.worked
    }

    /// All time observed.
    pub fn time_ns(&self) -> u64 {
        self.idle_ns + self.rt0_ns + self.kthreads_ns + self.others_ns
    }

    /// One CPU's record, with the time of the task that has it at `now_ns` added.
    fn new(record: &occupancy_cpu, now_ns: u64) -> Self {
        let mut ran_ns = record.ran_ns;
        if record.since_ns != 0
            && let Some(running) = ran_ns.get_mut(record.class.0 as usize)
        {
            *running += now_ns.saturating_sub(record.since_ns);
        }
        let time = |class: Class| ran_ns[class.0 as usize];
        Self {
            syscalls: Entries {
                begun: record.syscalls_begun,
                worked: record.syscalls_worked,
            },
            syscalls_returned: record.syscalls_returned,
            faults: Entries {
                begun: record.faults_begun,
                worked: record.faults_worked,
            },
            signals: Entries {
                begun: record.signals_begun,
                worked: record.signals_worked,
            },
            idle_ns: time(Class::OCCUPANCY_IDLE),
            rt0_ns: time(Class::OCCUPANCY_RT0),
            kthreads_ns: time(Class::OCCUPANCY_KTHREAD),
            others_ns: time(Class::OCCUPANCY_OTHER),
        }
    }

    /// Applies `operation` to each figure of both.
    fn combine(self, other: Self, operation: fn(u64, u64) -> u64) -> Self {
        let entries = |a: Entries, b: Entries| Entries {
            begun: operation(a.begun, b.begun),
            worked: operation(a.worked, b.worked),
        };
        Self {
            syscalls: entries(self.syscalls, other.syscalls),
            syscalls_returned: operation(self.syscalls_returned, other.syscalls_returned),
            faults: entries(self.faults, other.faults),
            signals: entries(self.signals, other.signals),
            idle_ns: operation(self.idle_ns, other.idle_ns),
            rt0_ns: operation(self.rt0_ns, other.rt0_ns),
            kthreads_ns: operation(self.kthreads_ns, other.kthreads_ns),
            others_ns: operation(self.others_ns, other.others_ns),
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    /// What was counted between two snapshots. A CPU seen for the first time in between may have
    /// no time yet in the earlier one; nothing ever decreases.
    fn sub(self, earlier: Self) -> Self {
        self.combine(earlier, u64::saturating_sub)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = self.combine(other, u64::wrapping_add);
    }
}

/// The counts of every CPU at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    cpus: Vec<Counts>,
}

impl Snapshot {
    /// What the CPUs of `which` did since `earlier`, together.
    pub fn since(&self, earlier: &Self, which: impl Fn(usize) -> bool) -> Counts {
        let mut sum = Counts::default();
        for (cpu, (now, before)) in self.cpus.iter().zip(&earlier.cpus).enumerate() {
            if which(cpu) {
                sum += *now - *before;
            }
        }
        sum
    }
}

/// The observer, watching until dropped.
pub struct Occupancy<'obj> {
    skeleton: OccupancySkel<'obj>,
    _every_syscall: Link,
    absent: Vec<String>,
    cpus: usize,
}

impl<'obj> Occupancy<'obj> {
    /// Loads the observer and starts watching. `storage` is where libbpf keeps the object.
    ///
    /// # Errors
    /// Without the right to load BPF programs, and on a kernel that lacks a hook without which
    /// a count would silently stay 0.
    pub fn load(storage: &'obj mut MaybeUninit<OpenObject>) -> Result<Self, Error> {
        let btf = Btf::from_vmlinux().map_err(Error::bpf("reading the kernel's BTF for"))?;
        let has = |function: &str| btf.type_by_name::<Func<'_>>(function).is_some();
        if let Some(function) = NEEDED.into_iter().find(|function| !has(function)) {
            return Err(Error::NoHook { function });
        }
        let open = OccupancySkelBuilder::default()
            .open(storage)
            .map_err(Error::bpf("opening"))?;
        let mut skeleton = open.load().map_err(Error::bpf("loading"))?;
        let room = skeleton
            .maps
            .bss_data
            .as_ref()
            .map_or(0, |data| data.cpus.len());
        let cpus = libbpf_rs::num_possible_cpus().map_err(Error::bpf("counting the CPUs for"))?;
        if cpus > room {
            return Err(Error::TooManyCpus {
                room,
                possible: cpus,
            });
        }
        let functions = syscalls::functions()?;
        let every_syscall = skeleton
            .progs
            .syscall_worked
            .attach_kprobe_multi(false, functions.hookable)
            .map_err(Error::bpf("attaching to every system call"))?;
        skeleton.attach().map_err(Error::bpf("attaching"))?;
        Ok(Self {
            skeleton,
            _every_syscall: every_syscall,
            absent: functions.others,
            cpus,
        })
    }

    /// System calls whose functions cannot be hooked on this kernel: their begin is seen,
    /// their work is not.
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// The counts now.
    pub fn snapshot(&self) -> Snapshot {
        let records = self.skeleton.maps.bss_data.as_deref();
        let records = records.map_or(&[][..], |data| &data.cpus[..self.cpus]);
        Snapshot {
            cpus: records.iter().map(read).collect(),
        }
    }
}

/// Reads a record that its CPU may be changing: repeats until nothing changed meanwhile.
fn read(shared: &occupancy_cpu) -> Counts {
    loop {
        // SAFETY: both read the mapped record, of plain integers, in which every value is valid.
        let before = unsafe { (&raw const shared.changes).read_volatile() };
        let record = unsafe { std::ptr::from_ref(shared).read_volatile() };
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
        // SAFETY: as above.
        let after = unsafe { (&raw const shared.changes).read_volatile() };
        if before == after && before.is_multiple_of(2) {
            return Counts::new(&record, u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_task_is_counted_up_to_now() {
        let record = occupancy_cpu {
            ran_ns: [1, 2, 3, 4],
            since_ns: 100,
            class: Class::OCCUPANCY_OTHER,
            ..Default::default()
        };
        let counts = Counts::new(&record, 150);
        assert_eq!(
            (
                counts.idle_ns,
                counts.rt0_ns,
                counts.kthreads_ns,
                counts.others_ns
            ),
            (1, 2, 3, 54)
        );
        assert_eq!(counts.time_ns(), 60);
    }

    #[test]
    fn a_cpu_that_never_switched_has_no_time() {
        assert_eq!(
            Counts::new(&occupancy_cpu::default(), 150),
            Counts::default()
        );
    }

    #[test]
    fn only_the_cpus_asked_for_count() {
        let at = |begun: [u64; 2]| Snapshot {
            cpus: begun
                .map(|begun| Counts {
                    syscalls: Entries { begun, worked: 0 },
                    ..Default::default()
                })
                .to_vec(),
        };
        let (earlier, later) = (at([10, 20]), at([11, 25]));
        assert_eq!(later.since(&earlier, |cpu| cpu == 1).begun(), 5);
        assert_eq!(later.since(&earlier, |_| true).begun(), 6);
    }
}
