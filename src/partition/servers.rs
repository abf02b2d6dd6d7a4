// SPDX-License-Identifier: GPL-2.0-only
//! Switches deadline servers off on RT CPUs: RT0 has to wait while they run.

use super::change::Kind;
use super::plan::Plan;
use artis_machine::deadline_servers::{SERVERS, runtime_file};
use artis_machine::debugfs::Access;
use artis_machine::{CpuList, Root};

const REASON: &str = "the server of a lower class takes some 5 % of the CPU from real-time tasks";

pub(super) fn plan(root: &Root, rt: &CpuList, plan: &mut Plan) {
    if let Some(why) = Access::of(root).obstacle() {
        plan.leave(Kind::DeadlineServers, "deadline servers", why);
        return;
    }
    for cpu in rt.iter() {
        for server in SERVERS {
            let what = format!("{server} of CPU {cpu}, ns each period");
            let file = (what.clone(), runtime_file(server, cpu), REASON);
            plan.part(Kind::DeadlineServers, &what, |plan| {
                let off = |_: &str| Some("0".to_owned());
                plan.file(root, Kind::DeadlineServers, file, off).map(drop)
            });
        }
    }
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
        plan(&root, &"1".parse().unwrap(), &mut planned);
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
    fn a_locked_down_kernel_is_named_and_nothing_is_mounted() {
        for files in [
            &[(
                "sys/kernel/security/lockdown",
                "none [integrity] confidentiality\n",
            )],
            &[("proc/cmdline", "quiet lockdown=integrity\n")],
        ] {
            let (_folder, root) = canned(files);
            let mut planned = Plan::default();
            plan(&root, &"1".parse().unwrap(), &mut planned);
            let why = &planned.left[0].why;
            assert!(why.contains("locked down (Secure Boot)"), "{why}");
            assert!(!why.contains("mount"), "{why}");
        }
    }

    #[test]
    fn without_debugfs_they_are_left_with_a_reason() {
        let (_folder, root) = canned(&[]);
        let mut planned = Plan::default();
        plan(&root, &"1".parse().unwrap(), &mut planned);
        assert!(planned.left[0].why.contains("mount -t debugfs none"));
    }
}
