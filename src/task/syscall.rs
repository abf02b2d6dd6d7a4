// SPDX-License-Identifier: GPL-2.0-only
//! The system calls of scheduling(7) on one thread. A `tid` of 0 is the calling thread.

use artis_machine::CpuList;
use artis_machine::cpulist::CPUS_MAX;
use nix::errno::Errno;

/// `SCHED_DEADLINE` of include/uapi/linux/sched.h.
pub const SCHED_DEADLINE: i32 = 6;
/// `SCHED_EXT` of include/uapi/linux/sched.h; fair to a kernel without a BPF scheduler.
pub const SCHED_EXT: i32 = 7;

/// Policy and priority of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduling {
    pub policy: i32,
    /// Nice value, -20 to 19; without a meaning for real-time policies.
    pub nice: i32,
    /// 1 to 99 for `SCHED_FIFO` and `SCHED_RR`, otherwise 0.
    pub priority: u32,
    /// Whether its children fall back to `SCHED_NORMAL`.
    pub reset_on_fork: bool,
}

fn empty_attr() -> libc::sched_attr {
    libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    }
}

fn get_attr(tid: i32) -> Result<libc::sched_attr, Errno> {
    let mut attr = empty_attr();
    // SAFETY: `attr` is a live sched_attr of the size that is passed.
    let status = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            tid,
            &raw mut attr,
            size_of::<libc::sched_attr>(),
            0,
        )
    };
    Errno::result(status).map(|_| attr)
}

fn set_attr(tid: i32, attr: &libc::sched_attr) -> Result<(), Errno> {
    // SAFETY: `attr` is a live sched_attr that knows its size.
    let status = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const *attr, 0) };
    Errno::result(status).map(drop)
}

pub fn scheduling(tid: i32) -> Result<Scheduling, Errno> {
    let attr = get_attr(tid)?;
    Ok(Scheduling {
        policy: attr.sched_policy as i32,
        nice: attr.sched_nice,
        priority: attr.sched_priority,
        reset_on_fork: attr.sched_flags & libc::SCHED_FLAG_RESET_ON_FORK as u64 != 0,
    })
}

pub fn set_scheduling(tid: i32, to: Scheduling) -> Result<(), Errno> {
    let mut attr = empty_attr();
    attr.sched_policy = to.policy as u32;
    attr.sched_nice = to.nice;
    attr.sched_priority = to.priority;
    if to.reset_on_fork {
        attr.sched_flags = libc::SCHED_FLAG_RESET_ON_FORK as u64;
    }
    set_attr(tid, &attr)
}

/// What `SCHED_DEADLINE` gives a thread: so long of each period, by the deadline; nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    pub runtime_ns: u64,
    pub deadline_ns: u64,
    pub period_ns: u64,
}

/// The reservation of a thread; none of another policy.
pub fn reservation(tid: i32) -> Result<Option<Reservation>, Errno> {
    let attr = get_attr(tid)?;
    Ok(
        (attr.sched_policy as i32 == SCHED_DEADLINE).then_some(Reservation {
            runtime_ns: attr.sched_runtime,
            deadline_ns: attr.sched_deadline,
            period_ns: attr.sched_period,
        }),
    )
}

/// Makes a thread a task of `SCHED_DEADLINE`. Its children are normal tasks: without that it could
/// have none.
pub fn reserve(tid: i32, to: Reservation) -> Result<(), Errno> {
    let mut attr = empty_attr();
    attr.sched_policy = SCHED_DEADLINE as u32;
    attr.sched_flags = libc::SCHED_FLAG_RESET_ON_FORK as u64;
    attr.sched_runtime = to.runtime_ns;
    attr.sched_deadline = to.deadline_ns;
    attr.sched_period = to.period_ns;
    set_attr(tid, &attr)
}

/// Makes the kernel queue a thread of a normal policy anew, and changes nothing else of it.
///
/// The kernel does that for a change of what the thread asks of its class. Here that is the length
/// of its slice, which normal threads have since 6.12: asked for anew, it is set anew. A thread
/// that has the usual slice asks for none; one with a slice of its own asks for 1 ns more, and
/// then for what it had.
pub fn requeue(tid: i32) -> Result<(), Errno> {
    let mut attr = get_attr(tid)?;
    attr.sched_flags &= libc::SCHED_FLAG_RESET_ON_FORK as u64;
    let slice_ns = attr.sched_runtime;
    // This thread never asks for one.
    if slice_ns == get_attr(0)?.sched_runtime {
        attr.sched_runtime = 0;
        return set_attr(tid, &attr);
    }
    attr.sched_runtime = slice_ns + 1;
    set_attr(tid, &attr)?;
    attr.sched_runtime = slice_ns;
    set_attr(tid, &attr)
}

// nix's and libc's CPU sets end at CPU 1023, so the masks are our own words.

pub fn affinity(tid: i32) -> Result<CpuList, Errno> {
    let mut words = [0u64; (CPUS_MAX / u64::BITS) as usize];
    // SAFETY: the kernel writes at most the size that is passed.
    let bytes = unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            tid,
            size_of_val(&words),
            words.as_mut_ptr(),
        )
    };
    Errno::result(bytes)?;
    Ok(CpuList::from_words(&words))
}

pub fn set_affinity(tid: i32, cpus: &CpuList) -> Result<(), Errno> {
    let words = cpus.words();
    // SAFETY: the kernel reads exactly the size that is passed.
    let status = unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            tid,
            size_of_val(words),
            words.as_ptr(),
        )
    };
    Errno::result(status).map(drop)
}
/// Whether this process ignores the signal. A child inherits that: nohup(1) starts programs which
/// are to outlive their terminal so.
pub fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: zeros are a valid value; the kernel writes it, and changes nothing.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action
    };
    action.sa_sigaction == libc::SIG_IGN
}
