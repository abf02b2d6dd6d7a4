// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel allows real-time tasks: rights, limits, budgets.

use super::finding::{Finding, Severity};
use super::subject::Subject;
use artis_machine::CpuList;
use artis_machine::cgroup::RtGroup;
use artis_machine::deadline_servers::DEBUGFS;
use artis_machine::facts::Facts;
use artis_machine::privilege::{Capability, Privilege};

/// A real-time program needs to lock more memory than this.
const MEMLOCK_MIN: u64 = 64 << 20;
/// Since this version, deadline servers replace throttling.
const SERVERS_SINCE: (u32, u32) = (6, 12);

pub(super) fn judge(facts: &Facts, subject: &Subject) -> Vec<Finding> {
    let all = [
        no_right(facts),
        group_budget(facts),
        throttling(facts),
        servers(facts, subject),
        memory_lock(facts),
        container(facts),
    ];
    all.into_iter().flatten().collect()
}

/// Capabilities count only in the machine's own user namespace.
fn has(privilege: &Privilege, capability: Capability) -> bool {
    privilege.initial_user_namespace && privilege.has(capability)
}

fn no_right(facts: &Facts) -> Option<Finding> {
    let privilege = facts.privilege.get()?;
    if has(privilege, Capability::SysNice) || privilege.rtprio.may_reach(1) {
        return None;
    }
    let fix = match facts.container.get() {
        Some(kind) => format!(
            "start the container ({kind}) with `--cap-add SYS_NICE`, or with `--ulimit rtprio=99`"
        ),
        None => {
            "sudo, or `USER - rtprio 99` in /etc/security/limits.conf, or LimitRTPRIO=99 in the \
                 systemd unit"
                .to_owned()
        }
    };
    Some(Finding {
        id: "no_real_time_right",
        severity: Severity::Breaks,
        seen: format!(
            "user {} may not make a task real-time: no CAP_SYS_NICE that counts, and RLIMIT_RTPRIO is \
             {}",
            privilege.euid, privilege.rtprio
        ),
        evidence: facts.privilege.from.clone(),
        why: "sched_setscheduler(2) fails with EPERM, and the task stays a normal task".to_owned(),
        source: "sched(7), Privileges and resource limits",
        fix: Some(fix),
        partition_fixes: &[],
    })
}

fn group_budget(facts: &Facts) -> Option<Finding> {
    let group = facts.rt_group.get().filter(|group| !group.has_budget())?;
    let (place, fix) = match group {
        RtGroup::V1 { file, .. } => (
            file.clone(),
            format!("`echo 950000 | sudo tee {file}`; its parents need a budget first"),
        ),
        RtGroup::V2 { cgroup } => (
            format!("cgroup {cgroup}"),
            "boot with rt_group_sched=0, or start real-time tasks in the root group".to_owned(),
        ),
    };
    Some(Finding {
        id: "no_real_time_budget",
        severity: Severity::Breaks,
        seen: format!("real-time group scheduling is on, and this group has no budget: {place}"),
        evidence: facts.rt_group.from.clone(),
        why: "the kernel refuses SCHED_FIFO and SCHED_RR to every task of the group, also root's"
            .to_owned(),
        source: "Documentation/scheduler/sched-rt-group.rst",
        fix: Some(fix),
        partition_fixes: &[],
    })
}

/// `6.12` of `6.12.3-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|one: char| !one.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn throttling(facts: &Facts) -> Option<Finding> {
    let kernel = facts.kernel.get()?;
    let limit = kernel.rt_throttling?;
    let runtime_us = limit.runtime_us.filter(|us| *us < limit.period_us)?;
    let since = version(&kernel.release).is_some_and(|version| version >= SERVERS_SINCE);
    // With group scheduling, the kernel keeps throttling as well as the servers.
    let grouped = facts.build.get().is_some_and(|build| build.rt_group_sched);
    if since && !grouped {
        return None;
    }
    Some(Finding {
        id: "rt_throttling",
        severity: Severity::Worsens,
        seen: format!(
            "all real-time tasks of a CPU together may run {runtime_us} us of each {} us",
            limit.period_us
        ),
        evidence: "/proc/sys/kernel/sched_rt_runtime_us".to_owned(),
        why: format!(
            "when they need more, the kernel stops all of them for up to {} ms; this saves the machine \
             from a real-time task in an endless loop",
            (limit.period_us - runtime_us) / 1000
        ),
        source: "Documentation/scheduler/sched-rt-group.rst",
        fix: Some(
            "`sudo sysctl kernel.sched_rt_runtime_us=-1`, if every real-time task sleeps often enough"
                .to_owned(),
        ),
        partition_fixes: &["rt-throttling"],
    })
}

fn servers(facts: &Facts, subject: &Subject) -> Option<Finding> {
    let on = facts.deadline_servers.get()?;
    let concerned = |(name, cpus): (&&'static str, &CpuList)| Some((*name, subject.among(cpus)?));
    let on: Vec<(&str, CpuList)> = on.iter().filter_map(concerned).collect();
    let (_, first) = on.first()?;
    let cpus = on.iter().fold(first.clone(), |all, (_, cpus)| &all | cpus);
    let names: Vec<&str> = on.iter().map(|(name, _)| *name).collect();
    Some(Finding {
        id: "deadline_servers",
        severity: Severity::Worsens,
        seen: format!("{} on for {}", names.join(" and "), cpus.in_words()),
        evidence: facts.deadline_servers.from.clone(),
        why:
            "when normal tasks starve, a server gives them some 50 ms of each second, above every \
              SCHED_FIFO task"
                .to_owned(),
        source: "Documentation/scheduler/sched-deadline.rst; kernel/sched/deadline.c",
        fix: Some(format!(
            "{}; by hand: write 0 to {DEBUGFS}/sched/*_server/cpuN/runtime",
            subject.partition()
        )),
        partition_fixes: &["deadline-servers"],
    })
}

fn memory_lock(facts: &Facts) -> Option<Finding> {
    let privilege = facts.privilege.get()?;
    if has(privilege, Capability::IpcLock) || privilege.memlock.may_reach(MEMLOCK_MIN) {
        return None;
    }
    Some(Finding {
        id: "memory_lock_limit",
        severity: Severity::Worsens,
        seen: format!(
            "user {} may lock little memory: RLIMIT_MEMLOCK is {} bytes",
            privilege.euid, privilege.memlock
        ),
        evidence: facts.privilege.from.clone(),
        why: "mlockall(2) fails, and page faults, at worst from disk, delay real-time work"
            .to_owned(),
        source: "mlock(2); McKenney, Real Time vs. Real Fast, section 2.1",
        fix: Some(
            "`USER - memlock unlimited` in /etc/security/limits.conf, or LimitMEMLOCK=infinity in the \
             systemd unit"
                .to_owned(),
        ),
        partition_fixes: &[],
    })
}

fn container(facts: &Facts) -> Option<Finding> {
    let kind = facts.container.get()?;
    Some(Finding {
        id: "container",
        severity: Severity::Notice,
        seen: format!("this runs in a container ({kind})"),
        evidence: facts.container.from.clone(),
        why: "the container adds its own limits, cpusets and missing capabilities, and the machine's \
              other work is not visible from here"
            .to_owned(),
        source: "Documentation/admin-guide/cgroup-v2.rst; user_namespaces(7)",
        fix: Some("run `artis check` on the host too".to_owned()),
        partition_fixes: &[],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("6.12.3-amd64"), Some((6, 12)));
        assert_eq!(version("7.2-rc1+"), Some((7, 2)));
        assert!(version("6.9.0").unwrap() < SERVERS_SINCE);
        assert_eq!(version("linux"), None);
    }

    proptest! {
        #[test]
        fn any_release_is_read_or_refused(text in ".{0,20}") {
            let _ = version(&text);
        }
    }
}
