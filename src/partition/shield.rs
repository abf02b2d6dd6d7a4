// SPDX-License-Identifier: GPL-2.0-only
//! The shield: a control group that has the RT CPUs for itself.
//!
//! An isolated cpuset partition of cgroup v2 (`Documentation/admin-guide/cgroup-v2.rst`, "Cpuset")
//! takes its CPUs from all tasks outside, at run time, and gives them back when it is removed. Who
//! else has CPUs is named, and loses them only when the user insists.

use super::change::{ABSENT, Change, Kind, OFF, ON, PRESENT, Target};
use super::plan::{Plan, Request};
use artis_machine::cpusets::{self, Claim, SHIELD, V2};
use artis_machine::{Root, Unreadable};

pub(super) const WHAT: &str = "shield around RT CPUs";

const REASON: &str = "only tasks that are put into the group run on RT CPUs";

/// Names groups of others that have RT CPUs.
pub(super) fn claims(root: &Root, request: &Request, plan: &mut Plan) -> Result<(), Unreadable> {
    plan.claims = claims_on(root, request)?;
    // Without a shield nobody loses a CPU.
    plan.claims
        .retain(|claim| request.shield || claim.is_exclusive() || claim.is_all_it_has());
    for claim in &plan.claims {
        plan.warnings
            .push(match request.shield && !claim.is_exclusive() {
                true => format!("{claim}, which the shield takes away"),
                false => claim.to_string(),
            });
    }
    Ok(())
}

fn claims_on(root: &Root, request: &Request) -> Result<Vec<Claim>, Unreadable> {
    let online = &request.rt | &request.nrt;
    let groups = cpusets::groups(root)?;
    Ok(cpusets::claims(&groups, &request.rt, &online))
}

/// The groups that would have no CPU of their own any more.
///
/// # Errors
/// When a cpuset cannot be read or understood.
pub(super) fn losing(root: &Root, request: &Request) -> Result<Vec<Claim>, Unreadable> {
    if !request.shield || request.force || cpusets::shield_obstacle(root).is_some() {
        return Ok(Vec::new());
    }
    let mut claims = claims_on(root, request)?;
    // A shield takes nothing from those that have a CPU for themselves: there can be none.
    let is_possible = !claims.iter().any(Claim::is_exclusive);
    claims.retain(|claim| is_possible && claim.is_all_it_has());
    Ok(claims)
}

pub(super) fn plan(root: &Root, request: &Request, plan: &mut Plan) -> Result<(), Unreadable> {
    if let Some(why) = cpusets::shield_obstacle(root) {
        plan.leave(Kind::CpusetShield, WHAT, why);
        return Ok(());
    }
    if let Some(claim) = plan.claims.iter().find(|claim| claim.is_exclusive()) {
        let why = claim.to_string();
        plan.leave(Kind::CpusetShield, WHAT, why);
        return Ok(());
    }
    if root.exists(SHIELD) {
        let state = root.hint(format!("{SHIELD}/cpuset.cpus.partition"));
        let is_wanted = state.as_deref() == Some("isolated")
            && cpusets::shield(root)?.as_ref() == Some(&request.rt);
        if !is_wanted {
            plan.leave(
                Kind::CpusetShield,
                WHAT,
                format!(
                    "the group {SHIELD} exists already: `artis partition reset`, or remove it with \
                     rmdir if nobody uses it"
                ),
            );
        }
        return Ok(());
    }
    let control = format!("{V2}/cgroup.subtree_control");
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
        path: SHIELD.to_owned(),
    };
    step("group of RT0 tasks", group, ABSENT, PRESENT);
    let cpus = Target::file(format!("{SHIELD}/cpuset.cpus"));
    step("its CPUs", cpus, "", &request.rt.to_string());
    let partition = Target::file(format!("{SHIELD}/cpuset.cpus.partition"));
    step("its partition", partition, "member", "isolated");
    plan.warnings.push(format!(
        "the shield leaves {} idle whenever no task of {SHIELD} runs there; `artis run rt0` and \
         `artis measure` put tasks there",
        request.rt.in_words()
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

    #[test]
    fn a_group_with_the_cpu_is_named_and_loses_it_only_by_force() {
        let (_folder, root) = canned(&[
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n"),
            ("sys/fs/cgroup/pods/cpuset.cpus", "\n"),
            ("sys/fs/cgroup/pods/pod/cpuset.cpus", "3\n"),
            ("sys/fs/cgroup/pods/pool/cpuset.cpus", "2-3\n"),
        ]);
        let named = |request: &Request| {
            let mut plan = Plan::default();
            claims(&root, request, &mut plan).unwrap();
            plan.warnings
        };
        let plain = request();
        assert_eq!(
            named(&plain),
            ["the group /sys/fs/cgroup/pods/pod may run on CPU 3 only"]
        );
        assert!(losing(&root, &plain).unwrap().is_empty());
        let shielded = Request {
            shield: true,
            ..request()
        };
        assert_eq!(named(&shielded).len(), 2);
        assert_eq!(losing(&root, &shielded).unwrap().len(), 1);
        let forced = Request {
            force: true,
            ..shielded
        };
        assert!(losing(&root, &forced).unwrap().is_empty());
    }

    #[test]
    fn where_somebody_has_the_cpu_for_himself_there_is_no_shield() {
        let (_folder, root) = canned(&[
            ("sys/fs/cgroup/cgroup.controllers", "cpuset\n"),
            ("sys/fs/cgroup/other/cpuset.cpus", "3\n"),
            ("sys/fs/cgroup/other/cpuset.cpus.partition", "isolated\n"),
        ]);
        let shielded = Request {
            shield: true,
            ..request()
        };
        let made = Plan::make(&root, &shielded);
        assert!(made.lacks_shield());
        assert!(
            made.changes
                .iter()
                .all(|one| one.kind != Kind::CpusetShield)
        );
        assert!(losing(&root, &shielded).unwrap().is_empty());
    }
}
