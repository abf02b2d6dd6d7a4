// SPDX-License-Identifier: GPL-2.0-only
//! The processes of the machine as a tree, and the CPU time each has used.
//!
//! Source: proc_pid_stat(5).

use super::Root;
use std::collections::BTreeSet;
use std::str::FromStr;

/// One process. Its time includes its threads and reaped children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    /// CPU time in ticks of `USER_HZ` (100 a second), of all its threads and of the children it
    /// has waited for.
    pub cpu_ticks: u64,
    /// It has ended, and nobody has waited for it yet.
    pub is_zombie: bool,
}

/// All processes below `ancestor`, without itself. A process that ends or begins meanwhile may be
/// missing.
pub fn below(root: &Root, ancestor: i32) -> Vec<Process> {
    let mut others = all(root);
    let mut family = BTreeSet::from([ancestor]);
    let mut found = Vec::new();
    loop {
        let (members, rest): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|process| family.contains(&process.parent));
        if members.is_empty() {
            return found;
        }
        family.extend(members.iter().map(|process| process.pid));
        found.extend(members);
        others = rest;
    }
}

/// The process with this number; none when there is none.
pub fn one(root: &Root, pid: i32) -> Option<Process> {
    parse(&root.hint(format!("/proc/{pid}/stat"))?)
}

fn all(root: &Root) -> Vec<Process> {
    let names = root.names("/proc").unwrap_or_default();
    names
        .iter()
        .filter_map(|name| one(root, name.parse().ok()?))
        .collect()
}

fn parse(stat: &str) -> Option<Process> {
    let stat = Stat::parse(stat)?;
    let mut cpu_ticks = 0_u64;
    for number in 14..=17 {
        cpu_ticks = cpu_ticks.saturating_add(stat.number(number)?);
    }
    Some(Process {
        pid: stat.id,
        parent: stat.number(4)?,
        cpu_ticks,
        is_zombie: stat.field(3)? == "Z",
    })
}

/// The fields of `/proc/PID/stat`, numbered from 1 as in proc_pid_stat(5).
pub(super) struct Stat<'a> {
    pub id: i32,
    pub name: &'a str,
    /// From field 3 on.
    rest: Vec<&'a str>,
}

impl<'a> Stat<'a> {
    /// The name in field 2 may hold anything; field 3 comes after its last parenthesis.
    pub fn parse(stat: &'a str) -> Option<Self> {
        let (start, rest) = stat.rsplit_once(") ")?;
        let (id, name) = start.split_once(" (")?;
        Some(Self {
            id: id.parse().ok()?,
            name,
            rest: rest.split_whitespace().collect(),
        })
    }

    pub fn field(&self, number: usize) -> Option<&'a str> {
        self.rest.get(number.checked_sub(3)?).copied()
    }

    pub fn number<T: FromStr>(&self, number: usize) -> Option<T> {
        self.field(number)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use proptest::prelude::*;

    fn stat(pid: i32, parent: i32, state: &str) -> String {
        format!("{pid} (a (b) c) {state} {parent} 1 1 0 -1 0 0 0 0 0 3 4 20 10 20 0 1 0 0\n")
    }

    #[test]
    fn descendants_of_all_generations_are_found() {
        let files = [(1, 0), (20, 1), (30, 20), (25, 30), (40, 1)]
            .map(|(pid, parent)| (format!("proc/{pid}/stat"), stat(pid, parent, "S")));
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let (_folder, root) = canned(&files);
        let mut pids: Vec<i32> = below(&root, 20).iter().map(|one| one.pid).collect();
        pids.sort_unstable();
        assert_eq!(pids, [25, 30]);
        assert!(below(&root, 7).is_empty());
        assert_eq!(one(&root, 40).unwrap().cpu_ticks, 37);
    }

    #[test]
    fn zombies_are_recognised() {
        assert!(parse(&stat(5, 1, "Z")).unwrap().is_zombie);
        assert!(!parse(&stat(5, 1, "R")).unwrap().is_zombie);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = parse(&text);
        }
    }
}
