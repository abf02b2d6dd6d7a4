// SPDX-License-Identifier: GPL-2.0-only
//! The shield: a control group that has the RT CPUs for itself.
//!
//! An isolated cpuset partition of cgroup v2 (`Documentation/admin-guide/cgroup-v2.rst`, "Cpuset")
//! takes its CPUs from all tasks outside, at run time, and gives them back when it is removed.

use super::change::{ABSENT, Change, Kind, OFF, ON, PRESENT, Target};
use super::plan::{Plan, Request};
use artis_machine::{Root, Unreadable};

const CGROUPS: &str = "/sys/fs/cgroup";

/// The group; RT0 tasks are to be put here.
pub const GROUP: &str = "/sys/fs/cgroup/artis-rt";

const REASON: &str = "only tasks that are put into the group run on RT CPUs";

pub(super) fn plan(root: &Root, request: &Request, plan: &mut Plan) -> Result<(), Unreadable> {
    let what = "shield around RT CPUs";
    let Some(controllers) = root.read(format!("{CGROUPS}/cgroup.controllers"))? else {
        plan.leave(
            Kind::CpusetShield,
            what,
            "this machine has cgroup v1, whose cpusets cannot take CPUs from tasks outside of them: \
             boot with systemd.unified_cgroup_hierarchy=1, or isolate at boot (--export cmdline)",
        );
        return Ok(());
    };
    if !controllers.split_whitespace().any(|name| name == "cpuset") {
        plan.leave(
            Kind::CpusetShield,
            what,
            "cgroup v2 does not have the cpuset controller here: cgroup v1 has taken it, or this is \
             a container's group",
        );
        return Ok(());
    }
    if root.exists(GROUP) {
        plan.leave(
            Kind::CpusetShield,
            what,
            format!("the group {GROUP} exists already; remove it with rmdir if nobody uses it"),
        );
        return Ok(());
    }
    let control = format!("{CGROUPS}/cgroup.subtree_control");
    let shared = root
        .read(&control)?
        .is_some_and(|list| list.split_whitespace().any(|name| name == "cpuset"));
    let mut step = |what: &str, target: Target, old: &str, new: &str| {
        plan.push(Change {
            kind: Kind::CpusetShield,
            what: what.to_owned(),
            target,
            old: old.to_owned(),
            new: new.to_owned(),
            detour: None,
            reason: REASON.to_owned(),
        });
    };
    let controller = Target::Controller {
        path: control,
        name: "cpuset".to_owned(),
    };
    let on = if shared { ON } else { OFF };
    step("cpusets for groups", controller, on, ON);
    let group = Target::Group {
        path: GROUP.to_owned(),
    };
    step("group of RT0 tasks", group, ABSENT, PRESENT);
    let cpus = Target::file(format!("{GROUP}/cpuset.cpus"));
    step("its CPUs", cpus, "", &request.rt.to_string());
    let partition = Target::file(format!("{GROUP}/cpuset.cpus.partition"));
    step("its partition", partition, "member", "isolated");
    plan.warnings.push(format!(
        "the shield leaves CPU {} idle whenever no task of {GROUP} runs there; without it, and with \
         artis sched run, other tasks use that time. Put RT0 there: echo PID >{GROUP}/cgroup.procs",
        request.rt
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::request;
    use super::*;
    use artis_testing::canned;

    fn planned(files: &[(&str, &str)]) -> Plan {
        let (_folder, root) = canned(files);
        let mut planned = Plan::default();
        plan(&root, &request(), &mut planned).unwrap();
        planned
    }

    #[test]
    fn the_group_gets_the_cpus_for_itself() {
        let plan = planned(&[
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n"),
            ("sys/fs/cgroup/cgroup.subtree_control", "cpu\n"),
        ]);
        let values: Vec<_> = plan.changes.iter().map(|one| one.new.as_str()).collect();
        assert_eq!(values, [ON, PRESENT, "3", "isolated"]);
        assert_eq!(plan.changes[0].old, OFF);
        assert!(plan.warnings[0].contains("idle"));
    }

    #[test]
    fn where_it_cannot_be_it_says_why() {
        let why = |files: &[(&str, &str)]| planned(files).left[0].why.clone();
        assert!(why(&[]).contains("cgroup v1"));
        assert!(
            why(&[("sys/fs/cgroup/cgroup.controllers", "cpu\n")]).contains("cpuset controller")
        );
        let ours = "sys/fs/cgroup/artis-rt/cgroup.procs";
        let all = [("sys/fs/cgroup/cgroup.controllers", "cpuset\n"), (ours, "")];
        assert!(why(&all).contains("already"));
    }
}
