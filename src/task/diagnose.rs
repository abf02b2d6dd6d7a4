// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel's refusal to schedule a thread otherwise means on this machine.
//!
//! Looks at the machine for the one check of the kernel that must have failed, in the kernel's
//! order; never tries anything out. Source: `user_check_sched_setscheduler()`,
//! `__sched_setscheduler()` and `sched_setaffinity()` in `kernel/sched/syscalls.c`.

use super::scheduler;
use super::syscall::{SCHED_DEADLINE, SCHED_EXT, Scheduling};
use artis_machine::cgroup::{self, RtGroup};
use artis_machine::privilege::{self, Capability, Limit, Privilege};
use artis_machine::{CpuList, Root, cpus};
use nix::errno::Errno;

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

/// Where the process sits, which decides how a missing right is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    Plain,
    /// A container of this kind, in the machine's first user namespace.
    Container(String),
    /// Another user namespace, where no capability counts for scheduling policies.
    UserNamespace,
}

/// The cause of a refusal, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "without CAP_SYS_NICE, RLIMIT_RTPRIO is the largest priority, and here it is {limit}; {}",
        advice(*.wanted, *.limit, "-r", "rtprio", "LimitRTPRIO", .setting)
    )]
    RtprioLimit {
        limit: Limit,
        wanted: u64,
        setting: Setting,
    },
    #[error(
        "without CAP_SYS_NICE, the lowest nice value is 20 minus RLIMIT_NICE, and here this limit \
         is {limit} where {wanted} is needed; {}",
        advice(*.wanted, *.limit, "-e", "nice", "LimitNICE", .setting)
    )]
    NiceLimit {
        limit: Limit,
        wanted: u64,
        setting: Setting,
    },
    #[error(
        "the task belongs to user {owner}, and only that user or CAP_SYS_NICE may change it; run \
         artis with sudo"
    )]
    NotOwner { owner: u32 },
    #[error(
        "its cgroup has no real-time budget: {file} is 0 (RT group scheduling); give it one, such \
         as `echo 950000 > {file}` (its parents need one first), or move the task to the root \
         group: `echo {tid} > /sys/fs/cgroup/cpu/tasks`"
    )]
    RtGroup { file: String, tid: i32 },
    #[error(
        "this kernel has RT group scheduling (CONFIG_RT_GROUP_SCHED), which gives cgroup {cgroup} no \
         real-time budget; boot with `rt_group_sched=0`, or move the task to the root group: `echo \
         {tid} > /sys/fs/cgroup/cgroup.procs`"
    )]
    RtGroupV2 { cgroup: String, tid: i32 },
    #[error(
        "the seccomp filter of this process refuses the system call; let it pass sched_setattr and \
         sched_setaffinity (docker: --security-opt seccomp=PROFILE; systemd: SystemCallFilter=)"
    )]
    Seccomp,
    #[error("CPU {cpu} is not online, only {online}; choose one of those with --cpu")]
    Offline { cpu: u32, online: CpuList },
    #[error(
        "its cgroup's cpuset excludes CPU {cpu}: {file} is {allowed}; choose one of those with \
         --cpu, or add the CPU to the cpuset of the group and of its parents"
    )]
    Cpuset {
        cpu: u32,
        file: String,
        allowed: CpuList,
    },
    #[error(
        "it is a SCHED_DEADLINE task, whose bandwidth is reserved on all CPUs of its domain; give \
         that up first: `artis run linux --pid {tid}`"
    )]
    Deadline { tid: i32 },
    #[error(
        "this kernel has no sched_ext (/sys/kernel/sched_ext does not exist); boot one with \
         CONFIG_SCHED_CLASS_EXT=y, such as Debian's from backports"
    )]
    NoSchedExt,
    #[error(
        "nothing on this machine explains it; `strace -e sched_setattr,sched_setaffinity artis run …` \
         shows the system call, and `dmesg` may show a security module's reason"
    )]
    Unknown,
}

/// How to get a limit of at least `wanted`.
fn advice(
    wanted: u64,
    limit: Limit,
    ulimit: &str,
    pam: &str,
    systemd: &str,
    setting: &Setting,
) -> String {
    // PAM and systemd take the nice value itself, the limit counts down from 20.
    let value = match pam {
        "nice" => (20 - wanted as i64).to_string(),
        _ => wanted.to_string(),
    };
    if limit.may_reach(wanted) {
        return format!("raise it with `ulimit {ulimit} {wanted}`");
    }
    match setting {
        Setting::Container(kind) => format!(
            "the container ({kind}) must be started with the capability (`--cap-add SYS_NICE`) or \
             the limit (`--ulimit {pam}={wanted}`)"
        ),
        Setting::UserNamespace => format!(
            "root and capabilities of this user namespace do not count here; raise the limit where \
             the namespace was entered (`ulimit {ulimit} {wanted}` as root; docker and podman: \
             `--ulimit {pam}={wanted}`)"
        ),
        Setting::Plain => format!(
            "run artis with sudo, or put `USER - {pam} {value}` in /etc/security/limits.conf and log \
             in again, or {systemd}={value} in the systemd unit"
        ),
    }
}

/// Finds the cause of a refusal.
///
/// `before` is how the thread is scheduled now. A cause is only named when the machine shows
/// it; otherwise the answer is [`Refusal::Unknown`].
pub fn explain(root: &Root, tid: i32, before: Scheduling, step: Step, errno: Errno) -> Refusal {
    let found = match (step, errno) {
        (_, Errno::EBUSY) if before.policy == SCHED_DEADLINE => Some(Refusal::Deadline { tid }),
        (Step::Policy(to), Errno::EINVAL) => no_sched_ext(root, to),
        (Step::Bind(cpu), Errno::EINVAL) => {
            offline(root, cpu).or_else(|| cpuset_excludes(root, tid, cpu))
        }
        (Step::Policy(to), Errno::EPERM) => policy_not_permitted(root, tid, before, to),
        (Step::Bind(_) | Step::Release, Errno::EPERM) => affinity_not_permitted(root, tid),
        _ => None,
    };
    found.unwrap_or(Refusal::Unknown)
}

fn no_sched_ext(root: &Root, to: Scheduling) -> Option<Refusal> {
    (to.policy == SCHED_EXT && !root.exists(scheduler::SCHED_EXT)).then_some(Refusal::NoSchedExt)
}

fn offline(root: &Root, cpu: u32) -> Option<Refusal> {
    let online = cpus::Cpus::read(root).ok()?.online;
    (!online.contains(cpu)).then_some(Refusal::Offline { cpu, online })
}

fn policy_not_permitted(
    root: &Root,
    tid: i32,
    before: Scheduling,
    to: Scheduling,
) -> Option<Refusal> {
    let this = Privilege::of_self(root).ok()?;
    let target = Privilege::of_task(root, tid).ok()?;
    // In another user namespace the capability does not count for policies.
    let by_right = if this.has(Capability::SysNice) && this.initial_user_namespace {
        None
    } else {
        not_owner(&this, &target).or_else(|| limit_reached(root, &this, &target, before, to))
    };
    by_right
        .or_else(|| rt_group(root, tid, to))
        .or_else(|| this.seccomp_filter.then_some(Refusal::Seccomp))
}

fn affinity_not_permitted(root: &Root, tid: i32) -> Option<Refusal> {
    let this = Privilege::of_self(root).ok()?;
    let target = Privilege::of_task(root, tid).ok()?;
    not_owner(&this, &target).or_else(|| this.seccomp_filter.then_some(Refusal::Seccomp))
}

/// `check_same_owner()`.
fn not_owner(this: &Privilege, target: &Privilege) -> Option<Refusal> {
    let same = this.euid == target.euid || this.euid == target.uid;
    (!same).then_some(Refusal::NotOwner { owner: target.uid })
}

/// The limits are those of the task that is changed, not of the one that changes it.
fn limit_reached(
    root: &Root,
    this: &Privilege,
    target: &Privilege,
    before: Scheduling,
    to: Scheduling,
) -> Option<Refusal> {
    let setting = || match privilege::container(root) {
        _ if !this.initial_user_namespace => Setting::UserNamespace,
        Some(kind) => Setting::Container(kind),
        None => Setting::Plain,
    };
    if to.policy == libc::SCHED_FIFO {
        let wanted = u64::from(to.priority);
        let unprivileged = (to.policy == before.policy || target.rtprio.soft != Some(0))
            && (to.priority <= before.priority || target.rtprio.allows(wanted));
        return (!unprivileged).then(|| Refusal::RtprioLimit {
            limit: target.rtprio,
            wanted,
            setting: setting(),
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
        setting: setting(),
    })
}

/// A cgroup without a real-time budget refuses everybody, root too.
fn rt_group(root: &Root, tid: i32, to: Scheduling) -> Option<Refusal> {
    if to.policy != libc::SCHED_FIFO {
        return None;
    }
    let group = cgroup::rt_group(root, &tid.to_string())?;
    if group.has_budget() {
        return None;
    }
    Some(match group {
        RtGroup::V1 { file, .. } => Refusal::RtGroup { file, tid },
        RtGroup::V2 { cgroup } => Refusal::RtGroupV2 { cgroup, tid },
    })
}

fn cpuset_excludes(root: &Root, tid: i32, cpu: u32) -> Option<Refusal> {
    let (file, allowed) = cpuset(root, tid)?;
    (!allowed.contains(cpu)).then_some(Refusal::Cpuset { cpu, file, allowed })
}

/// The CPUs of a task's cpuset, and the file that says so.
fn cpuset(root: &Root, tid: i32) -> Option<(String, CpuList)> {
    let task = tid.to_string();
    let (mount, cgroup, name) = match cgroup::v1_path(root, &task, "cpuset") {
        Some(cgroup) => ("/sys/fs/cgroup/cpuset", cgroup, "cpuset.effective_cpus"),
        None => (
            "/sys/fs/cgroup",
            cgroup::v2_path(root, &task)?,
            "cpuset.cpus.effective",
        ),
    };
    // A group without the controller lives by the nearest parent that has it.
    let mut group = cgroup.trim_end_matches('/');
    loop {
        let file = format!("{mount}{group}/{name}");
        if let Some(text) = root.hint(&file) {
            return Some((file, CpuList::from_kernel(&text).ok()?));
        }
        group = group.rsplit_once('/')?.0;
    }
}

#[cfg(test)]
mod tests;
