// SPDX-License-Identifier: GPL-2.0-only
//! Why the kernel refused to change how a thread is scheduled, and what to do about it.
//!
//! Looks at the machine for the one check of the kernel that must have failed, in the kernel's
//! order; never tries anything out. Source: `user_check_sched_setscheduler()`,
//! `__sched_setscheduler()` and `sched_setaffinity()` in `kernel/sched/syscalls.c`.

mod right;

use super::syscall::{SCHED_DEADLINE, SCHED_EXT, Scheduling};
use super::{cpuset, scheduler};
use artis_machine::cgroup::{self, RtGroup};
use artis_machine::privilege::{Capability, Limit, Privilege};
use artis_machine::{CpuList, Root, cpus, tasks};
use nix::errno::Errno;
use right::{Resource, Way};
use std::fmt;

/// What was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `sched_setattr(2)`.
    Policy(Scheduling),
    /// `sched_setaffinity(2)` to this CPU.
    Bind(u32),
    /// `sched_setaffinity(2)` to every CPU.
    Release,
}

/// The task, in words that the user can type in a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A running task.
    Task(i32),
    /// artis itself, which was about to become the user's command. It ends with the error, so the
    /// advice is about the user's shell, which hands its own state down to what it starts.
    Shell,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(tid) => write!(f, "{tid}"),
            Self::Shell => f.write_str("$$"),
        }
    }
}

/// The cause of a refusal, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "without CAP_SYS_NICE, RLIMIT_RTPRIO is the largest priority, and here it is {limit}; {}",
        .way.to_limit(Resource::RtPriority, *.wanted, *.limit)
    )]
    RtprioLimit { limit: Limit, wanted: u64, way: Way },
    #[error(
        "without CAP_SYS_NICE, the lowest nice value is 20 minus RLIMIT_NICE, and here this limit \
         is {limit} where {wanted} is needed; {}",
        .way.to_limit(Resource::Nice, *.wanted, *.limit)
    )]
    NiceLimit { limit: Limit, wanted: u64, way: Way },
    #[error(
        "the task belongs to user {owner}, and only that user or CAP_SYS_NICE may change it; {}",
        .way.to_capability()
    )]
    NotOwner { owner: u32, way: Way },
    #[error(
        "its cgroup has no real-time budget: {file} is 0 (RT group scheduling); give it one, such \
         as `echo 950000 > {file}` (its parents need one first), or move the task to the root \
         group: `echo {who} > /sys/fs/cgroup/cpu/tasks`"
    )]
    RtGroup { file: String, who: Who },
    #[error(
        "this kernel has RT group scheduling (CONFIG_RT_GROUP_SCHED), which gives cgroup {cgroup} \
         no real-time budget; boot with `rt_group_sched=0`, or move the task to the root group: `echo \
         {who} > /sys/fs/cgroup/cgroup.procs`"
    )]
    RtGroupV2 { cgroup: String, who: Who },
    #[error(
        "the seccomp filter of this process refuses the system call; let it pass sched_setattr and \
         sched_setaffinity (docker: --security-opt seccomp=PROFILE; systemd: SystemCallFilter=)"
    )]
    Seccomp,
    #[error("CPU {cpu} is not online, only {online}; choose one of those with --cpu")]
    Offline { cpu: u32, online: CpuList },
    #[error(
        "its cgroup's cpuset excludes CPU {cpu}: {file} is {allowed}; choose one of those with \
         --cpu, or {way_in}"
    )]
    Cpuset {
        cpu: u32,
        file: String,
        allowed: CpuList,
        /// What else there is to do.
        way_in: String,
    },
    #[error(
        "it is the kernel thread {name}, which the kernel binds to its own CPUs for good; leave it \
         where it is"
    )]
    Bound { name: String },
    #[error(
        "it is a SCHED_DEADLINE task, whose bandwidth is reserved on all CPUs of its domain; give \
         that up first: `artis run linux --pid {who}`"
    )]
    Deadline { who: Who },
    #[error(
        "this kernel has no sched_ext (/sys/kernel/sched_ext does not exist); boot one with \
         CONFIG_SCHED_CLASS_EXT=y, such as Debian's from backports, or be content with the nice \
         value of that level: {}",
        nice_value(*.who, *.nice)
    )]
    NoSchedExt { who: Who, nice: i32 },
    #[error(
        "nothing on this machine explains it; `strace -e sched_setattr,sched_setaffinity artis run \
         …` shows the system call, and `dmesg` may show a security module's reason"
    )]
    Unknown,
}

/// How to get a nice value without artis.
fn nice_value(who: Who, nice: i32) -> String {
    match who {
        Who::Task(tid) => format!("`renice -n {nice} -p {tid}`"),
        Who::Shell => format!("`nice -n {nice} CMD`"),
    }
}

/// Finds the cause of a refusal.
///
/// `before` is how the thread is scheduled now. A cause is only named when the machine shows
/// it; otherwise the answer is [`Refusal::Unknown`].
pub fn explain(root: &Root, tid: i32, before: Scheduling, step: Step, errno: Errno) -> Refusal {
    let who = match tid == nix::unistd::gettid().as_raw() {
        true => Who::Shell,
        false => Who::Task(tid),
    };
    let found = match (step, errno) {
        (_, Errno::EBUSY) if before.policy == SCHED_DEADLINE => Some(Refusal::Deadline { who }),
        (Step::Policy(to), Errno::EINVAL) => no_sched_ext(root, who, to),
        (Step::Bind(cpu), Errno::EINVAL) => offline(root, cpu)
            .or_else(|| cpuset_excludes(root, tid, who, cpu))
            .or_else(|| bound(root, tid)),
        (Step::Policy(to), Errno::EPERM) => policy_not_permitted(root, tid, who, before, to),
        (Step::Bind(_) | Step::Release, Errno::EPERM) => affinity_not_permitted(root, tid),
        _ => None,
    };
    found.unwrap_or(Refusal::Unknown)
}

fn no_sched_ext(root: &Root, who: Who, to: Scheduling) -> Option<Refusal> {
    let missing = to.policy == SCHED_EXT && !root.exists(scheduler::SCHED_EXT);
    missing.then_some(Refusal::NoSchedExt { who, nice: to.nice })
}

fn bound(root: &Root, tid: i32) -> Option<Refusal> {
    let task = tasks::all(root)
        .ok()?
        .into_iter()
        .find(|one| one.tid == tid)?;
    task.is_bound.then_some(Refusal::Bound { name: task.name })
}

fn offline(root: &Root, cpu: u32) -> Option<Refusal> {
    let online = cpus::Cpus::read(root).ok()?.online;
    (!online.contains(cpu)).then_some(Refusal::Offline { cpu, online })
}

fn policy_not_permitted(
    root: &Root,
    tid: i32,
    who: Who,
    before: Scheduling,
    to: Scheduling,
) -> Option<Refusal> {
    let this = Privilege::of_self(root).ok()?;
    let target = Privilege::of_task(root, tid).ok()?;
    // In another user namespace the capability does not count for policies.
    let by_right = if this.has(Capability::SysNice) && this.initial_user_namespace {
        None
    } else {
        not_owner(root, &this, &target).or_else(|| limit_reached(root, &this, &target, before, to))
    };
    by_right
        .or_else(|| rt_group(root, tid, who, to))
        .or_else(|| this.seccomp_filter.then_some(Refusal::Seccomp))
}

fn affinity_not_permitted(root: &Root, tid: i32) -> Option<Refusal> {
    let this = Privilege::of_self(root).ok()?;
    let target = Privilege::of_task(root, tid).ok()?;
    not_owner(root, &this, &target).or_else(|| this.seccomp_filter.then_some(Refusal::Seccomp))
}

/// `check_same_owner()`.
fn not_owner(root: &Root, this: &Privilege, target: &Privilege) -> Option<Refusal> {
    let same = this.euid == target.euid || this.euid == target.uid;
    (!same).then(|| Refusal::NotOwner {
        owner: target.uid,
        way: Way::of(root, this),
    })
}

/// The limits are those of the task that is changed, not of the one that changes it.
fn limit_reached(
    root: &Root,
    this: &Privilege,
    target: &Privilege,
    before: Scheduling,
    to: Scheduling,
) -> Option<Refusal> {
    if to.policy == libc::SCHED_FIFO {
        let wanted = u64::from(to.priority);
        let unprivileged = (to.policy == before.policy || target.rtprio.soft != Some(0))
            && (to.priority <= before.priority || target.rtprio.allows(wanted));
        return (!unprivileged).then(|| Refusal::RtprioLimit {
            limit: target.rtprio,
            wanted,
            way: Way::of(root, this),
        });
    }
    // Leaving SCHED_IDLE counts as a rise to the nice value that the task already has.
    let idle = before.policy == libc::SCHED_IDLE;
    let rises = to.nice < before.nice || idle;
    let lowest = if idle {
        to.nice.min(before.nice)
    } else {
        to.nice
    };
    let wanted = u64::try_from(20 - lowest).ok()?;
    (rises && !target.nice.allows(wanted)).then(|| Refusal::NiceLimit {
        limit: target.nice,
        wanted,
        way: Way::of(root, this),
    })
}

/// A cgroup without a real-time budget refuses everybody, root too.
fn rt_group(root: &Root, tid: i32, who: Who, to: Scheduling) -> Option<Refusal> {
    if to.policy != libc::SCHED_FIFO {
        return None;
    }
    let group = cgroup::rt_group(root, &tid.to_string())?;
    if group.has_budget() {
        return None;
    }
    Some(match group {
        RtGroup::V1 { file, .. } => Refusal::RtGroup { file, who },
        RtGroup::V2 { cgroup } => Refusal::RtGroupV2 { cgroup, who },
    })
}

fn cpuset_excludes(root: &Root, tid: i32, who: Who, cpu: u32) -> Option<Refusal> {
    let (file, allowed) = cpuset::of(root, &tid.to_string())?;
    let cpus = CpuList::from_iter([cpu]);
    (!allowed.contains(cpu)).then(|| Refusal::Cpuset {
        cpu,
        file,
        allowed,
        way_in: cpuset::way_in(root, &cpus, who),
    })
}

#[cfg(test)]
mod tests;
