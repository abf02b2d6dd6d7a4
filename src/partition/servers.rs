// SPDX-License-Identifier: GPL-2.0-only
//! Switches deadline servers off on RT CPUs: RT0 has to wait while they run.

use super::change::Kind;
use super::plan::Plan;
use artis_machine::deadline_servers::{DEBUGFS, SERVERS, runtime_file, visible};
use artis_machine::{CpuList, Root, Unreadable};

const REASON: &str = "the server of a lower class takes some 5 % of the CPU from real-time tasks";

pub(super) fn plan(root: &Root, rt: &CpuList, plan: &mut Plan) -> Result<(), Unreadable> {
    if !visible(root) {
        plan.leave(
            Kind::DeadlineServers,
            "deadline servers",
            format!(
                "{DEBUGFS} is not mounted, so they cannot be seen: mount -t debugfs debugfs {DEBUGFS}"
            ),
        );
    }
    for cpu in rt.iter() {
        for server in SERVERS {
            let what = format!("{server} of CPU {cpu}, ns each period");
            let file = (what, runtime_file(server, cpu), REASON);
            plan.file(root, Kind::DeadlineServers, file, |_| Some("0".to_owned()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    #[test]
    fn the_servers_of_rt_cpus_only() {
        let file = |server, cpu| format!("sys/kernel/debug/sched/{server}/cpu{cpu}/runtime");
        let (_folder, root) = canned(&[
            (&file("fair_server", 0), "50000000\n"),
            (&file("fair_server", 1), "50000000\n"),
            (&file("ext_server", 1), "50000000\n"),
        ]);
        let mut planned = Plan::default();
        plan(&root, &"1".parse().unwrap(), &mut planned).unwrap();
        let paths: Vec<_> = planned
            .changes
            .iter()
            .map(|one| one.target.path())
            .collect();
        assert_eq!(paths.len(), 2, "{paths:?}");
        assert!(paths.iter().all(|path| path.contains("cpu1")), "{paths:?}");
        assert!(planned.changes.iter().all(|change| change.new == "0"));
        assert!(planned.left.is_empty());
    }

    #[test]
    fn without_debugfs_they_are_left_with_a_reason() {
        let (_folder, root) = canned(&[]);
        let mut planned = Plan::default();
        plan(&root, &"1".parse().unwrap(), &mut planned).unwrap();
        assert!(planned.left[0].why.contains("mount -t debugfs"));
    }
}
