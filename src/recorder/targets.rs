// SPDX-License-Identifier: GPL-2.0-only
//! Whom to watch: from words to threads.

use artis_machine::Root;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Whom a watched thread makes watched by creating it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    Nobody,
    /// The threads of its process.
    Threads,
    /// Those, and processes.
    Children,
}

/// Which threads are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// All threads of a process, and those that it will have.
    Process(u32),
    Thread(u32),
    /// Threads of these names: `*` stands for any text, `?` for one character.
    Name(String),
    /// All threads of a cgroup: its folder.
    Cgroup(PathBuf),
    /// A process and all that it starts.
    Family(u32),
    /// The calling thread, for what it starts.
    Caller,
}

impl Watched {
    /// Its threads now, by number, with their names.
    pub fn threads(&self, root: &Root) -> BTreeMap<u32, String> {
        match self {
            Self::Process(pid) | Self::Family(pid) => of_process(root, *pid),
            Self::Thread(tid) => named(root, *tid).into_iter().collect(),
            Self::Caller => {
                let tid = u32::try_from(nix::unistd::gettid().as_raw());
                tid.ok()
                    .and_then(|tid| named(root, tid))
                    .into_iter()
                    .collect()
            }
            Self::Name(pattern) => {
                let processes = root.names("/proc").unwrap_or_default();
                let pids = processes.iter().filter_map(|name| name.parse().ok());
                let threads = pids.flat_map(|pid| of_process(root, pid));
                threads.filter(|(_, name)| matches(pattern, name)).collect()
            }
            Self::Cgroup(folder) => {
                // cgroup v2 and v1.
                let lists = ["cgroup.threads", "tasks"].map(|file| folder.join(file));
                let text = lists.iter().find_map(|list| root.hint(list));
                let text = text.unwrap_or_default();
                let tids = text.lines().filter_map(|line| line.parse().ok());
                tids.filter_map(|tid| named(root, tid)).collect()
            }
        }
    }

    pub(crate) fn follow(&self) -> Follow {
        match self {
            Self::Process(_) => Follow::Threads,
            Self::Thread(_) | Self::Name(_) => Follow::Nobody,
            Self::Cgroup(_) | Self::Family(_) | Self::Caller => Follow::Children,
        }
    }

    /// Whether others may become watched without being started by a watched one.
    pub(crate) fn may_grow(&self) -> bool {
        matches!(self, Self::Name(_) | Self::Cgroup(_))
    }
}

fn of_process(root: &Root, pid: u32) -> BTreeMap<u32, String> {
    let folder = format!("/proc/{pid}/task");
    let tids = root.names(&folder).unwrap_or_default();
    let tids = tids.iter().filter_map(|tid| tid.parse().ok());
    tids.filter_map(|tid| named(root, tid)).collect()
}

fn named(root: &Root, tid: u32) -> Option<(u32, String)> {
    let name = root.hint(format!("/proc/{tid}/comm"))?;
    Some((tid, name.trim_end().to_owned()))
}

/// What a pattern's names begin with, and whether that is all of them: of patterns whose only
/// wildcard is a last `*`, or that have none.
pub(crate) fn begin(pattern: &str) -> Option<(&str, bool)> {
    let (begin, is_whole) = match pattern.strip_suffix('*') {
        Some(begin) => (begin, false),
        None => (pattern, true),
    };
    (!begin.contains(['*', '?']) && begin.len() < 16).then_some((begin, is_whole))
}

/// Whether a name fits a pattern of `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // Which lengths of the name the pattern so far can stand for.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for one in pattern {
        let mut next = vec![false; name.len() + 1];
        for at in 0..=name.len() {
            next[at] = match one {
                '*' => reached[at] || (at > 0 && next[at - 1]),
                '?' => at > 0 && reached[at - 1],
                one => at > 0 && reached[at - 1] && name[at - 1] == one,
            };
        }
        reached = next;
    }
    reached[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (pattern, name, fits) in [
            ("control*", "controller", true),
            ("control*", "ctl", false),
            ("*", "", true),
            ("a?c*e", "abcde", true),
            ("a?c", "ac", false),
            ("**x", "aax", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_begins_with_its_letters() {
        assert_eq!(begin("control"), Some(("control", true)));
        assert_eq!(begin("control*"), Some(("control", false)));
        assert_eq!(begin("*"), Some(("", false)));
        for none in ["a?c*", "**", "a*c", "a_name_of_more_than_15"] {
            assert_eq!(begin(none), None, "{none}");
        }
    }

    #[test]
    fn this_process_has_its_threads() {
        let root = Root::default();
        let own = Watched::Process(std::process::id()).threads(&root);
        assert!(own.contains_key(&std::process::id()));
        assert!(Watched::Thread(u32::MAX).threads(&root).is_empty());
    }
}
