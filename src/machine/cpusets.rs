// SPDX-License-Identifier: GPL-2.0-only
//! The cpusets of all control groups: whose CPUs are whose, and whether artis can have its own.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst` ("Cpuset"), `cgroup-v1/cpusets.rst`.

use super::cgroup::{self, RtGroup};
use super::{CpuList, Root, Unreadable};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// The root of cgroup v2.
pub const V2: &str = "/sys/fs/cgroup";
/// The root of the cpusets of cgroup v1.
const V1: &str = "/sys/fs/cgroup/cpuset";

/// The group of the shield of `artis partition`.
pub const SHIELD: &str = "/sys/fs/cgroup/artis-rt";

/// Groups are nested less deeply everywhere.
const DEPTH_MAX: usize = 24;

/// How firmly a group has its CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// A cpuset partition, isolated or not: no task outside of it runs there.
    Partition,
    /// No other group next to it may ask for these CPUs.
    Exclusive,
    /// Its tasks may run there and nowhere else; other tasks may run there, too.
    Plain,
}

/// A group with CPUs of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its folder.
    pub path: String,
    pub cpus: CpuList,
    pub hold: Hold,
}

/// A group that has CPUs which somebody else wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    #[serde(flatten)]
    pub group: Group,
    /// Those of them that are wanted.
    pub wanted: CpuList,
}

impl Claim {
    /// The group has no other CPU.
    pub fn is_all_it_has(&self) -> bool {
        self.wanted == self.group.cpus
    }

    /// Nobody else can have these CPUs while the group has them.
    pub fn is_exclusive(&self) -> bool {
        self.group.hold != Hold::Plain
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, wanted) = (&self.group.path, self.wanted.in_words());
        match self.group.hold {
            Hold::Partition => write!(
                f,
                "{wanted} belong{} to the cpuset partition {path}; to take {} back: `echo member | \
                 sudo tee {path}/cpuset.cpus.partition`",
                if self.wanted.len() == 1 { "s" } else { "" },
                if self.wanted.len() == 1 { "it" } else { "them" },
            ),
            Hold::Exclusive => write!(f, "{wanted} is reserved for the group {path}, exclusively"),
            Hold::Plain if self.is_all_it_has() => {
                write!(f, "the group {path} may run on {wanted} only")
            }
            Hold::Plain => write!(
                f,
                "the group {path} has {wanted} of its {}",
                self.group.cpus
            ),
        }
    }
}

/// All groups that have CPUs of their own, parents first; of groups below each other with the
/// same CPUs and the same hold, the first.
///
/// # Errors
/// When a file exists and cannot be read or understood.
pub fn groups(root: &Root) -> Result<Vec<Group>, Unreadable> {
    let mut found = Vec::new();
    if root.exists(format!("{V2}/cgroup.controllers")) {
        below(root, V2, &of_v2, None, 0, &mut found)?;
    } else if root.exists(V1) {
        below(root, V1, &of_v1, None, 0, &mut found)?;
    }
    Ok(found)
}

/// Reads one group; none where it has no cpuset, and so no group below it has one.
type ReadGroup<'a> = dyn Fn(&Root, &str) -> Result<Option<Group>, Unreadable> + 'a;

fn below(
    root: &Root,
    parent: &str,
    read: &ReadGroup<'_>,
    above: Option<&Group>,
    depth: usize,
    found: &mut Vec<Group>,
) -> Result<(), Unreadable> {
    if depth > DEPTH_MAX {
        return Ok(());
    }
    for name in root.names(parent)? {
        let path = format!("{parent}/{name}");
        if path == SHIELD || !root.path(&path).is_dir() {
            continue;
        }
        let Some(group) = read(root, &path)? else {
            continue;
        };
        let same = |above: &Group| (&above.cpus, above.hold) == (&group.cpus, group.hold);
        let is_new = !group.cpus.is_empty() && !above.is_some_and(same);
        if is_new {
            found.push(group.clone());
        }
        let above = if is_new { Some(&group) } else { above };
        below(root, &path, read, above, depth + 1, found)?;
    }
    Ok(())
}

fn of_v2(root: &Root, path: &str) -> Result<Option<Group>, Unreadable> {
    let Some(cpus) = root.cpus(format!("{path}/cpuset.cpus"))? else {
        return Ok(None);
    };
    let partition = root.hint(format!("{path}/cpuset.cpus.partition"));
    // An invalid one is "isolated invalid (reason)".
    let is_partition = matches!(partition.as_deref(), Some("root" | "isolated"));
    let exclusive = root.cpus(format!("{path}/cpuset.cpus.exclusive"))?;
    let exclusive = exclusive.unwrap_or_default();
    let effective = root.cpus(format!("{path}/cpuset.cpus.exclusive.effective"));
    let (cpus, hold) = match () {
        () if is_partition => {
            let own = effective.ok().flatten().filter(|own| !own.is_empty());
            (own.unwrap_or(cpus), Hold::Partition)
        }
        () if !exclusive.is_empty() => (exclusive, Hold::Exclusive),
        () => (cpus, Hold::Plain),
    };
    let path = path.to_owned();
    Ok(Some(Group { path, cpus, hold }))
}

fn of_v1(root: &Root, path: &str) -> Result<Option<Group>, Unreadable> {
    let Some(cpus) = root.cpus(format!("{path}/cpuset.cpus"))? else {
        return Ok(None);
    };
    let exclusive = root.hint(format!("{path}/cpuset.cpu_exclusive"));
    let hold = match exclusive.as_deref() {
        Some("1") => Hold::Exclusive,
        _ => Hold::Plain,
    };
    let path = path.to_owned();
    Ok(Some(Group { path, cpus, hold }))
}

/// The groups that have a claim on these CPUs. A group that may run on all online CPUs has none.
pub fn claims(groups: &[Group], wanted: &CpuList, online: &CpuList) -> Vec<Claim> {
    let has_a_choice = |group: &&Group| group.hold == Hold::Plain && online.is_subset(&group.cpus);
    let claim = |group: &Group| Claim {
        wanted: &group.cpus & wanted,
        group: group.clone(),
    };
    let mut seen = BTreeSet::new();
    groups
        .iter()
        .filter(|group| !has_a_choice(group))
        .map(claim)
        .filter(|claim| !claim.wanted.is_empty())
        .filter(|claim| seen.insert(claim.group.path.clone()))
        .collect()
}

/// The CPUs of artis's own shield; none where there is no shield.
///
/// # Errors
/// When its file exists and cannot be read or understood.
pub fn shield(root: &Root) -> Result<Option<CpuList>, Unreadable> {
    let cpus = root.cpus(format!("{SHIELD}/cpuset.cpus"))?;
    Ok(cpus.filter(|cpus| !cpus.is_empty()))
}

/// Why there can be no shield on this machine, whichever CPUs it is for, and what to do about it.
pub fn shield_obstacle(root: &Root) -> Option<&'static str> {
    let Some(controllers) = root.hint(format!("{V2}/cgroup.controllers")) else {
        return Some(
            "this machine has cgroup v1, whose cpusets cannot take CPUs from tasks outside of them: \
             boot with systemd.unified_cgroup_hierarchy=1, or isolate at boot (--export cmdline)",
        );
    };
    let has = |list: &str, name: &str| list.split_whitespace().any(|one| one == name);
    if !has(&controllers, "cpuset") {
        return Some(
            "cgroup v2 does not have the cpuset controller here: cgroup v1 has taken it, or this is \
             a container's group",
        );
    }
    // The root group of the machine has no type.
    if root.exists(format!("{V2}/cgroup.type")) {
        return Some("this is a container's group; run artis on the host");
    }
    let control = root.hint(format!("{V2}/cgroup.subtree_control"));
    let own_budget = control.is_some_and(|list| has(&list, "cpu"));
    if own_budget && matches!(cgroup::rt_group(root, "self"), Some(RtGroup::V2 { .. })) {
        return Some(
            "this kernel has real-time group scheduling on, and tasks of the group could not be \
             real-time: boot with rt_group_sched=0",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    fn claimed(files: &[(&str, &str)], wanted: &str) -> Vec<String> {
        let (_folder, root) = canned(files);
        let groups = groups(&root).unwrap();
        let wanted = wanted.parse().unwrap();
        let claims = claims(&groups, &wanted, &"0-3".parse().unwrap());
        claims.iter().map(ToString::to_string).collect()
    }

    const CONTROLLERS: (&str, &str) = ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n");

    #[test]
    fn each_hold_is_recognised() {
        let files = [
            CONTROLLERS,
            // The group artis-rt is artis's own.
            ("sys/fs/cgroup/artis-rt/cpuset.cpus", "1\n"),
            ("sys/fs/cgroup/all/cpuset.cpus", "0-3\n"),
            ("sys/fs/cgroup/none/cpuset.cpus", "\n"),
            ("sys/fs/cgroup/none/pod/cpuset.cpus", "1\n"),
            ("sys/fs/cgroup/none/pod/inner/cpuset.cpus", "1\n"),
            ("sys/fs/cgroup/none/pool/cpuset.cpus", "0,2-3\n"),
            ("sys/fs/cgroup/iso/cpuset.cpus", "2\n"),
            ("sys/fs/cgroup/iso/cpuset.cpus.partition", "isolated\n"),
            ("sys/fs/cgroup/bad/cpuset.cpus", "2\n"),
            (
                "sys/fs/cgroup/bad/cpuset.cpus.partition",
                "root invalid (x)\n",
            ),
            ("sys/fs/cgroup/own/cpuset.cpus", "\n"),
            ("sys/fs/cgroup/own/cpuset.cpus.exclusive", "3\n"),
            // No controller, and none below.
            ("sys/fs/cgroup/bare/cgroup.procs", ""),
            ("sys/fs/cgroup/bare/below/cpuset.cpus", "1\n"),
        ];
        assert_eq!(
            claimed(&files, "1"),
            ["the group /sys/fs/cgroup/none/pod may run on CPU 1 only"]
        );
        let two = claimed(&files, "2");
        assert_eq!(two.len(), 3, "{two:?}");
        assert!(two[0].contains("bad may run on CPU 2 only"), "{two:?}");
        assert!(two[1].contains("belongs to the cpuset partition /sys/fs/cgroup/iso"));
        assert!(two[2].contains("pool has CPU 2 of its 0,2-3"), "{two:?}");
        let three = claimed(&files, "3");
        assert!(
            three.iter().any(|one| one.contains("reserved for")),
            "{three:?}"
        );
        assert!(claimed(&files, "0").iter().all(|one| one.contains("pool")));
    }

    #[test]
    fn cgroup_v1_has_its_own_word() {
        let files = [
            ("sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n"),
            ("sys/fs/cgroup/cpuset/pod/cpuset.cpus", "1\n"),
            ("sys/fs/cgroup/cpuset/pod/cpuset.cpu_exclusive", "1\n"),
        ];
        let one = claimed(&files, "1");
        assert!(one[0].contains("pod, exclusively"), "{one:?}");
        assert!(claimed(&files, "2").is_empty());
        assert!(claimed(&[], "2").is_empty());
    }

    #[test]
    fn where_there_can_be_no_shield_the_reason_is_known() {
        let why = |files: &[(&str, &str)]| {
            let (_folder, root) = canned(files);
            shield_obstacle(&root)
        };
        assert!(why(&[]).unwrap().contains("cgroup v1"));
        assert!(
            why(&[(CONTROLLERS.0, "cpu\n")])
                .unwrap()
                .contains("cpuset controller")
        );
        let container = ("sys/fs/cgroup/cgroup.type", "domain\n");
        assert!(
            why(&[CONTROLLERS, container])
                .unwrap()
                .contains("container")
        );
        let grouped = [
            CONTROLLERS,
            ("sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu\n"),
            ("proc/self/cgroup", "0::/user.slice\n"),
            ("proc/sys/kernel/osrelease", "7.0\n"),
            ("boot/config-7.0", "CONFIG_RT_GROUP_SCHED=y\n"),
        ];
        assert!(why(&grouped).unwrap().contains("rt_group_sched=0"));
        assert_eq!(why(&[CONTROLLERS]), None);
    }
}
