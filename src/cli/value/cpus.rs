// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that a command binds something to: they must be online, and in the cpuset of artis, or the
//! shield's, where a command that binds threads of its own goes.
//!
//! The machine is looked at while the command line is parsed, so that nothing has started when a
//! CPU is refused, and every command says it in the same words.

use crate::machine::{CpuList, Root, cpus::Cpus};
use crate::task::{cpuset, shield};

/// A list of CPUs that processes of others can be started on.
pub fn list(text: &str) -> Result<CpuList, String> {
    let asked: CpuList = text.parse().map_err(|error| format!("{error}"))?;
    usable(&Root::default(), &asked)?;
    Ok(asked)
}

/// A list of CPUs for threads of artis.
pub fn own(text: &str) -> Result<CpuList, String> {
    let asked: CpuList = text.parse().map_err(|error| format!("{error}"))?;
    reachable(&Root::default(), &asked)?;
    Ok(asked)
}

/// One CPU for a thread of artis, or a task that it changes.
pub fn one(text: &str) -> Result<u32, String> {
    one_of(&Root::default(), text)
}

fn one_of(root: &Root, text: &str) -> Result<u32, String> {
    let one: Option<CpuList> = text.parse().ok().filter(|list: &CpuList| list.len() == 1);
    match one.as_ref().and_then(CpuList::first) {
        // A list of one, such as 1-1, is more than a number.
        Some(cpu) if text.parse() == Ok(cpu) => {
            reachable(root, &[cpu].into_iter().collect())?;
            Ok(cpu)
        }
        _ => Err(match Cpus::read(root) {
            Ok(cpus) => format!("write the number of one CPU; online: {}", cpus.online),
            Err(_) => "write the number of one CPU, such as 1".to_owned(),
        }),
    }
}

/// As [`usable`], where the shield's CPUs can be used, too.
fn reachable(root: &Root, asked: &CpuList) -> Result<(), String> {
    match shield::has(root, asked) && shield::may_enter(root) {
        true => Ok(()),
        false => usable(root, asked),
    }
}

/// Whether all of these CPUs can be used; the error names those that can.
fn usable(root: &Root, asked: &CpuList) -> Result<(), String> {
    let online = Cpus::read(root).map_err(|error| format!("{error}"))?.online;
    let missing = asked - &online;
    if !missing.is_empty() {
        return Err(format!(
            "{} not online; choose among {online}",
            missing.in_words_are()
        ));
    }
    let Some((file, allowed)) = cpuset::of(root, "self") else {
        return Ok(());
    };
    let outside = asked - &allowed;
    if outside.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} outside the cpuset of artis ({file}); choose among {allowed}, or {}",
        outside.in_words_are(),
        cpuset::way_in(root, &outside, "$$")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    const CPUS: [(&str, &str); 2] = [
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/possible", "0-3\n"),
    ];

    fn list_of(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    #[test]
    fn the_refusal_of_an_offline_cpu_names_the_online_ones() {
        let (_folder, root) = canned(&CPUS);
        assert_eq!(usable(&root, &list_of("0,3")), Ok(()));
        let error = usable(&root, &list_of("2-9")).unwrap_err();
        assert_eq!(error, "CPUs 4-9 are not online; choose among 0-3");
        assert_eq!(one_of(&root, "3"), Ok(3));
        assert!(one_of(&root, "9").unwrap_err().contains("choose among 0-3"));
        for text in ["", "x", "0-1", "1-1", "-1", "99999999999"] {
            let error = one_of(&root, text).unwrap_err();
            assert_eq!(error, "write the number of one CPU; online: 0-3", "{text}");
        }
    }

    #[test]
    fn the_refusal_of_a_cpu_outside_the_cpuset_names_those_inside() {
        let cpuset = [
            ("proc/self/cgroup", "0::/small\n"),
            ("sys/fs/cgroup/small/cpuset.cpus.effective", "0-1\n"),
        ];
        let (_folder, root) = canned(&[CPUS, cpuset].concat());
        assert_eq!(usable(&root, &list_of("1")), Ok(()));
        let error = usable(&root, &list_of("1-2")).unwrap_err();
        assert!(
            error.starts_with("CPU 2 is outside the cpuset of artis")
                && error.contains("choose among 0-1,"),
            "{error}"
        );
        let other = [
            ("sys/fs/cgroup/cgroup.controllers", "cpuset\n"),
            ("sys/fs/cgroup/other/cpuset.cpus", "2\n"),
            ("sys/fs/cgroup/other/cpuset.cpus.partition", "isolated\n"),
        ];
        let (_folder, root) = canned(&[&CPUS[..], &cpuset, &other].concat());
        let error = usable(&root, &list_of("2")).unwrap_err();
        assert!(
            error.contains("tee /sys/fs/cgroup/other/cgroup.procs"),
            "{error}"
        );
        let shield = [
            ("sys/fs/cgroup/artis-rt/cpuset.cpus", "2\n"),
            ("sys/fs/cgroup/artis-rt/cgroup.procs", ""),
        ];
        let (_folder, root) = canned(&[&CPUS[..], &cpuset, &shield].concat());
        assert_eq!(reachable(&root, &list_of("2")), Ok(()));
        let error = usable(&root, &list_of("2")).unwrap_err();
        assert!(
            error.contains("tee /sys/fs/cgroup/artis-rt/cgroup.procs"),
            "{error}"
        );
        assert!(reachable(&root, &list_of("3")).is_err());
    }
}
