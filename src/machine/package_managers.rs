// SPDX-License-Identifier: GPL-2.0-only
//! Package managers that begin to work by themselves: they unpack, hash and write for minutes.
//!
//! Source: systemd.timer(5), `Persistent=`: the time of a stamp's file is when its timer last
//! elapsed.

use super::tasks::Task;
use super::{Root, Unreadable};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// Timers of package managers, and of the indexes and caches that they leave behind.
const TIMERS: [&str; 12] = [
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dnf-automatic.timer",
    "dnf-makecache.timer",
    "fwupd-refresh.timer",
    "man-db.timer",
    "mlocate-updatedb.timer",
    "pacman-filesdb-refresh.timer",
    "plocate-updatedb.timer",
    "reflector.timer",
    "snapd.refresh.timer",
    "updatedb.timer",
];

/// Programs that do the work; the kernel cuts names after 15 bytes.
const PROGRAMS: [&str; 14] = [
    "apt",
    "apt-get",
    "apt.systemd.dai",
    "dnf",
    "dnf-automatic",
    "dnf5",
    "dpkg",
    "mandb",
    "pacman",
    "rpm",
    "unattended-upgr",
    "updatedb",
    "yum",
    "zypper",
];

const WANTS: [&str; 2] = [
    "/etc/systemd/system/timers.target.wants",
    "/usr/lib/systemd/system/timers.target.wants",
];
const STAMPS: &str = "/var/lib/systemd/timers";

/// The timers that the machine starts.
///
/// # Errors
/// When a folder cannot be listed.
pub fn timers(root: &Root) -> Result<Vec<&'static str>, Unreadable> {
    let mut names = Vec::new();
    for folder in WANTS {
        names.extend(root.names(folder)?);
    }
    let known = TIMERS.into_iter();
    Ok(known
        .filter(|one| names.iter().any(|name| name == one))
        .collect())
}

/// When each timer last elapsed.
pub fn elapsed(root: &Root) -> BTreeMap<&'static str, SystemTime> {
    let stamp = |timer: &'static str| {
        let path = root.path(format!("{STAMPS}/stamp-{timer}"));
        Some((timer, std::fs::metadata(path).ok()?.modified().ok()?))
    };
    TIMERS.into_iter().filter_map(stamp).collect()
}

/// The programs among these tasks that install packages or index them.
pub fn at_work(tasks: &[Task]) -> Vec<&'static str> {
    let runs = |name: &&str| {
        tasks
            .iter()
            .any(|task| !task.is_kernel && task.name == **name)
    };
    PROGRAMS.into_iter().filter(|name| runs(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use crate::tasks::Policy;

    #[test]
    fn timers_stamps_and_programs_are_found() {
        let (_folder, root) = canned(&[
            ("etc/systemd/system/timers.target.wants/apt-daily.timer", ""),
            ("etc/systemd/system/timers.target.wants/logrotate.timer", ""),
            ("var/lib/systemd/timers/stamp-apt-daily.timer", ""),
        ]);
        assert_eq!(timers(&root).unwrap(), ["apt-daily.timer"]);
        assert_eq!(elapsed(&root).len(), 1);
        let task = |name: &str, is_kernel| Task {
            pid: 7,
            tid: 7,
            name: name.to_owned(),
            is_kernel,
            is_bound: false,
            policy: Policy::Normal,
            priority: 0,
            nice: 0,
            cpu: 0,
        };
        let tasks = [task("bash", false), task("dpkg", false), task("apt", true)];
        assert_eq!(at_work(&tasks), ["dpkg"]);
    }
}
