// SPDX-License-Identifier: GPL-2.0-only
//! Leaks: kernel work for user tasks other than RT0, counted on each CPU by the observer of
//! `bpf/leaks.bpf.c`.
//!
//! Owns loading it and reading its counts. Knows no scheduler and no RT CPU, so that it judges
//! every configuration in the same way, and checks a scheduler's own counters. Counts run from the
//! moment it is loaded; a figure is always the difference of two readings, so neither its start nor
//! its end is in it.

mod functions;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Func;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{ErrorKind, Link, OpenObject};
use skeleton::types::leaks_cpu;
use skeleton::{LeaksSkel, LeaksSkelBuilder};
use std::mem::MaybeUninit;
use std::ops::{Add, Sub};

mod skeleton {
    #![allow(warnings, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/leaks.skel.rs"));
}

/// Functions of the kernel without which a count would silently stay 0.
const NEEDED: [&str; 2] = ["handle_mm_fault", "get_signal"];

/// What can go wrong with the observer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel lacks what the observer hooks.
    #[error(
        "the observer cannot see all it must on this kernel: no function {0} in its BTF; use a \
         kernel with CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoHook(&'static str),
    /// More CPUs than the observer has room for.
    #[error(
        "the observer has room for {room} CPUs and this machine may have {possible}; raise \
         LEAKS_CPUS_MAX and build again"
    )]
    TooManyCpus {
        /// Its room.
        room: usize,
        /// CPUs the kernel may bring online.
        possible: usize,
    },
    /// The kernel's list of symbols or of hooks.
    #[error(
        "cannot read {file} to find the system calls' functions: {reason}; run as root, with \
         tracefs mounted"
    )]
    Symbols {
        /// The list.
        file: &'static str,
        /// The system's reason.
        reason: std::io::Error,
    },
    /// No system call to hook.
    #[error(
        "the observer found no system call to hook among {found} in {list}; is this kernel built \
         with CONFIG_FUNCTION_TRACER=y, and may we see addresses (kernel.kptr_restrict, root)?"
    )]
    NoSyscalls {
        /// System calls that the kernel has.
        found: usize,
        /// Where it lists what may be hooked.
        list: &'static str,
    },
    /// The kernel refused the programs.
    #[error("{doing} the observer's BPF programs: {reason}")]
    Bpf {
        /// Loading, attaching, ...
        doing: &'static str,
        /// What libbpf says.
        reason: libbpf_rs::Error,
    },
}

impl Error {
    fn bpf(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |reason| Self::Bpf { doing, reason }
    }

    /// Does the kernel refuse BPF to this process?
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Bpf { reason, .. } if reason.kind() == ErrorKind::PermissionDenied)
    }
}

/// Kernel work that started on a CPU, or some together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// System calls of user tasks other than RT0.
    pub syscalls: u64,
    /// System calls that were here when they returned, wherever they began.
    pub syscalls_returned: u64,
    /// Page faults in user mode of such tasks.
    pub faults: u64,
    /// Signal deliveries to such tasks.
    pub signals: u64,
}

impl Counts {
    /// All kernel work. A call that returns here and began elsewhere woke up here in the middle.
    pub fn all(&self) -> u64 {
        self.syscalls.max(self.syscalls_returned) + self.faults + self.signals
    }

    fn combine(self, other: Self, operation: fn(u64, u64) -> u64) -> Self {
        Self {
            syscalls: operation(self.syscalls, other.syscalls),
            syscalls_returned: operation(self.syscalls_returned, other.syscalls_returned),
            faults: operation(self.faults, other.faults),
            signals: operation(self.signals, other.signals),
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        self.combine(earlier, u64::saturating_sub)
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.combine(other, u64::wrapping_add)
    }
}

/// The loaded observer; it counts until dropped.
pub struct Observer<'obj> {
    skeleton: LeaksSkel<'obj>,
    _every_syscall: Link,
    cpus: usize,
}

impl<'obj> Observer<'obj> {
    /// Loads it and starts watching. `storage` is where libbpf keeps the object.
    ///
    /// # Errors
    /// Without the right to load BPF programs, and on a kernel that lacks a hook without which
    /// a count would silently stay 0.
    pub fn load(storage: &'obj mut MaybeUninit<OpenObject>) -> Result<Self, Error> {
        let btf = Btf::from_vmlinux().map_err(Error::bpf("reading the kernel's BTF for"))?;
        let has = |function: &str| btf.type_by_name::<Func<'_>>(function).is_some();
        if let Some(function) = NEEDED.into_iter().find(|function| !has(function)) {
            return Err(Error::NoHook(function));
        }
        let mut open = LeaksSkelBuilder::default()
            .open(storage)
            .map_err(Error::bpf("opening"))?;
        if let Some(data) = open.maps.rodata_data.as_deref_mut() {
            data.own_tgid = nix::unistd::getpid().as_raw();
        }
        let mut skeleton = open.load().map_err(Error::bpf("loading"))?;
        let records = skeleton.maps.bss_data.as_ref();
        let room = records.map_or(0, |data| data.cpus.len());
        let cpus = libbpf_rs::num_possible_cpus().map_err(Error::bpf("counting the CPUs for"))?;
        if cpus > room {
            return Err(Error::TooManyCpus {
                room,
                possible: cpus,
            });
        }
        let every_syscall = skeleton
            .progs
            .syscall_worked
            .attach_kprobe_multi(false, functions::hookable()?)
            .map_err(Error::bpf("attaching to every system call"))?;
        skeleton.attach().map_err(Error::bpf("attaching"))?;
        Ok(Self {
            skeleton,
            _every_syscall: every_syscall,
            cpus,
        })
    }

    /// What was counted until now on the CPUs that `is_asked` picks, together.
    pub fn counts(&self, is_asked: impl Fn(usize) -> bool) -> Counts {
        let records = self.skeleton.maps.bss_data.as_deref();
        let records = records.map_or(&[][..], |data| &data.cpus[..self.cpus]);
        let asked = records.iter().enumerate().filter(|(cpu, _)| is_asked(*cpu));
        asked
            .map(|(_, record)| read(record))
            .fold(Counts::default(), Add::add)
    }
}

/// Reads a record that its CPU may be changing.
fn read(shared: &leaks_cpu) -> Counts {
    // SAFETY: reads the mapped record, of plain integers, in which every value is valid.
    let record = unsafe { std::ptr::from_ref(shared).read_volatile() };
    Counts {
        syscalls: record.syscalls,
        syscalls_returned: record.syscalls_returned,
        faults: record.faults,
        signals: record.signals,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_once_and_one_that_woke_up_here_counts_too() {
        let counts = |syscalls, syscalls_returned| Counts {
            syscalls,
            syscalls_returned,
            faults: 1,
            signals: 2,
        };
        assert_eq!(counts(5, 5).all(), 8);
        assert_eq!(counts(0, 4).all(), 7);
        assert_eq!((counts(9, 9) - counts(4, 5)).all(), 5);
    }
}
