// SPDX-License-Identifier: GPL-2.0-only
//! Sysctls about time: timer migration, RT throttling, the lockup detector's CPUs, and the time
//! between two counts of memory.
//!
//! Source: `Documentation/admin-guide/sysctl/kernel.rst` and `vm.rst`,
//! `Documentation/scheduler/sched-rt-group.rst`, `Documentation/admin-guide/lockup-watchdogs.rst`.

use super::change::Kind;
use super::plan::{Plan, Request, without_rt};
use artis_machine::deadline_servers;
use artis_machine::debugfs::Access;
use artis_machine::facts::TIMER_MIGRATION;
use artis_machine::memory::{STAT_INTERVAL_CALM_S, STAT_INTERVAL_FILE};
use artis_machine::{CpuList, Root, Unreadable, watchdogs};

pub const THROTTLING: &str = "/proc/sys/kernel/sched_rt_runtime_us";

pub(super) fn migration(root: &Root, plan: &mut Plan) -> Result<(), Unreadable> {
    let file = (
        "timer migration".to_owned(),
        TIMER_MIGRATION.to_owned(),
        "busy RT CPUs would run the timers of idle CPUs",
    );
    let there = plan.file(root, Kind::TimerMigration, file, |_| Some("0".to_owned()))?;
    if !there {
        plan.leave(
            Kind::TimerMigration,
            "timer migration",
            "this kernel has no such switch (CONFIG_NO_HZ_COMMON)",
        );
    }
    Ok(())
}

pub(super) fn throttling(
    root: &Root,
    request: &Request,
    plan: &mut Plan,
) -> Result<(), Unreadable> {
    let Some(now) = root.read(THROTTLING)? else {
        return Ok(());
    };
    if now == "-1" {
        return Ok(());
    }
    if request.unthrottle {
        let file = (
            "RT throttling, us each period".to_owned(),
            THROTTLING.to_owned(),
            "a real-time task that uses all of its CPU is stopped once a second",
        );
        plan.file(root, Kind::RtThrottling, file, |_| Some("-1".to_owned()))?;
        plan.warnings.push(
            "without RT throttling a real-time task in an endless loop keeps its CPU for ever"
                .to_owned(),
        );
        return Ok(());
    }
    let why = if deadline_servers::exist(root) && Access::of(root) == Access::Open {
        "this kernel has deadline servers in its place, and those are switched off on RT CPUs"
    } else {
        "it saves the machine from a real-time task in an endless loop, and stops only tasks that \
         take 95 % of a CPU; --no-throttling switches it off"
    };
    plan.leave(Kind::RtThrottling, format!("RT throttling ({now} us)"), why);
    Ok(())
}

pub(super) fn watchdog(
    root: &Root,
    rt: &CpuList,
    nrt: &CpuList,
    plan: &mut Plan,
) -> Result<(), Unreadable> {
    let file = (
        "CPUs of the lockup detector".to_owned(),
        watchdogs::CPUS_FILE.to_owned(),
        "its timer interrupts RT CPUs every few seconds, and wakes a thread above every priority",
    );
    let there = plan.file(root, Kind::WatchdogCpumask, file, |old| {
        let cpus = CpuList::from_kernel(old).ok()?;
        Some(without_rt(&cpus, rt, nrt).to_string())
    })?;
    if !there {
        plan.leave(
            Kind::WatchdogCpumask,
            "lockup detector",
            "this kernel has none",
        );
    }
    Ok(())
}

pub(super) fn statistics(root: &Root, plan: &mut Plan) -> Result<(), Unreadable> {
    let file = (
        "seconds between counts of memory".to_owned(),
        STAT_INTERVAL_FILE.to_owned(),
        "a kernel thread on each CPU that was used adds up its counters, once a second",
    );
    let there = plan.file(root, Kind::StatInterval, file, |old| {
        let seconds: u32 = old.parse().ok()?;
        Some(seconds.max(STAT_INTERVAL_CALM_S).to_string())
    })?;
    if !there {
        plan.leave(
            Kind::StatInterval,
            "counts of memory",
            "this kernel does not show how often it makes them (CONFIG_PROC_SYSCTL)",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::request;
    use super::*;
    use artis_testing::canned;

    #[test]
    fn throttling_is_left_unless_asked_for() {
        let (_folder, root) = canned(&[(THROTTLING, "950000\n")]);
        let mut planned = Plan::default();
        throttling(&root, &request(), &mut planned).unwrap();
        assert!(planned.changes.is_empty());
        assert!(planned.left[0].why.contains("--no-throttling"));
        let request = Request {
            unthrottle: true,
            ..request()
        };
        let mut planned = Plan::default();
        throttling(&root, &request, &mut planned).unwrap();
        assert_eq!(planned.changes[0].new, "-1");
        assert_eq!(planned.warnings.len(), 1);
    }

    #[test]
    fn the_lockup_detector_leaves_rt_cpus() {
        let (_folder, root) = canned(&[(watchdogs::CPUS_FILE, "0-3\n")]);
        let mut planned = Plan::default();
        let Request { rt, nrt, .. } = request();
        watchdog(&root, &rt, &nrt, &mut planned).unwrap();
        assert_eq!(planned.changes[0].new, "0-2");
        let (_folder, root) = canned(&[(watchdogs::CPUS_FILE, "all\n")]);
        assert!(watchdog(&root, &rt, &nrt, &mut planned).is_err());
    }

    #[test]
    fn memory_is_counted_rarely() {
        for (old, new) in [("1\n", "120"), ("600\n", "600")] {
            let (_folder, root) = canned(&[(STAT_INTERVAL_FILE, old)]);
            let mut planned = Plan::default();
            statistics(&root, &mut planned).unwrap();
            assert_eq!(planned.changes[0].new, new);
        }
        let (_folder, root) = canned(&[(STAT_INTERVAL_FILE, "often\n")]);
        assert!(statistics(&root, &mut Plan::default()).is_err());
        let (_folder, root) = canned(&[]);
        let mut planned = Plan::default();
        statistics(&root, &mut planned).unwrap();
        assert_eq!(planned.left.len(), 1);
    }

    #[test]
    fn timers_are_not_migrated() {
        let (_folder, root) = canned(&[(TIMER_MIGRATION, "1\n")]);
        let mut planned = Plan::default();
        migration(&root, &mut planned).unwrap();
        assert_eq!(planned.changes[0].old, "1");
        assert_eq!(planned.changes[0].new, "0");
    }
}
