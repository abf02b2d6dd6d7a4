// SPDX-License-Identifier: GPL-2.0-only
//! debugfs: whether what the kernel shows of its scheduler there can be used, and why not.
//!
//! The one answer for every command that looks at deadline servers or the preemption model there.
//! Source: `Documentation/filesystems/debugfs.rst`; `debugfs_locked_down()` in
//! `fs/debugfs/file.c`: a locked down kernel refuses each file that could be written, to readers,
//! too.

use super::{Root, boot_arguments, kernel, mounts, privilege};
use serde::Serialize;
use std::fs::{self, File};
use std::io::ErrorKind;

/// Where it is mounted.
pub const FOLDER: &str = "/sys/kernel/debug";

/// Files of the scheduler, some of which every kernel has.
const PROBES: [&str; 3] = ["features", "preempt", "fair_server/cpu0/runtime"];

/// How the scheduler's files in debugfs can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Open,
    /// The kernel is locked down.
    Locked,
    /// This user may not look.
    RootOnly,
    NotMounted,
    /// A boot argument keeps it away.
    Off,
    /// This is a container, which has none.
    Container,
    /// The kernel does not show its scheduler there.
    Absent,
}

impl Access {
    /// Looks at the machine.
    pub fn of(root: &Root) -> Self {
        if kernel::lockdown(root).is_some_and(|level| level != "none") {
            return Self::Locked;
        }
        match fs::metadata(root.path(format!("{FOLDER}/sched"))) {
            Ok(_) => probe(root),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Self::RootOnly,
            Err(_) => absence(root),
        }
    }

    /// Why they cannot be used; none where they can.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Open => None,
            Self::Locked => {
                Some("the kernel is locked down (Secure Boot): nobody can see or change them")
            }
            Self::RootOnly => Some("only root sees them"),
            Self::NotMounted => Some("debugfs is not mounted, so they cannot be seen"),
            Self::Off => Some("the kernel was booted without debugfs (debugfs=)"),
            Self::Container => Some("a container does not see them"),
            Self::Absent => Some("this kernel does not show them in debugfs"),
        }
    }

    /// What to do about it; none where nothing helps.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            Self::Open | Self::Absent => None,
            Self::Locked => Some("where they matter, switch Secure Boot off in the firmware"),
            Self::RootOnly => Some("run artis with sudo"),
            Self::NotMounted => Some("`sudo mount -t debugfs none /sys/kernel/debug`"),
            Self::Off => Some("boot without debugfs="),
            Self::Container => Some("run artis on the host"),
        }
    }

    /// Both in one sentence.
    pub fn obstacle(self) -> Option<String> {
        let reason = self.reason()?;
        Some(match self.remedy() {
            Some(remedy) => format!("{reason}; {remedy}"),
            None => reason.to_owned(),
        })
    }
}

/// The folder is there: can a file be read?
fn probe(root: &Root) -> Access {
    for name in PROBES {
        match File::open(root.path(format!("{FOLDER}/sched/{name}"))) {
            Ok(_) => return Access::Open,
            // EACCES is of the file's mode, EPERM of the lockdown.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Access::Locked,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Access::RootOnly,
            Err(_) => {}
        }
    }
    Access::Open
}

fn absence(root: &Root) -> Access {
    let systems = root.hint("/proc/filesystems");
    let is_unknown =
        systems.is_some_and(|text| !text.split_whitespace().any(|one| one == "debugfs"));
    if mounts::writable(root, FOLDER).ok().flatten().is_some() {
        return Access::Absent;
    }
    let cmdline = root.hint(boot_arguments::FILE).unwrap_or_default();
    match boot_arguments::BootArguments::parse(&cmdline).value("debugfs") {
        Some("off" | "no-mount" | "no-fs") => Access::Off,
        _ if privilege::container(root).is_some() => Access::Container,
        _ if is_unknown => Access::Absent,
        _ => Access::NotMounted,
    }
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    const MOUNTED: (&str, &str) = (
        "proc/self/mounts",
        "debugfs /sys/kernel/debug debugfs rw 0 0\n",
    );
    const SHOWN: (&str, &str) = ("sys/kernel/debug/sched/features", "");
    const LOCKED: (&str, &str) = (
        "sys/kernel/security/lockdown",
        "none [integrity] confidentiality\n",
    );

    #[test]
    fn each_reason_is_recognised() {
        let cases: &[(&[(&str, &str)], Access)] = &[
            (&[SHOWN, MOUNTED], Access::Open),
            (&[SHOWN, LOCKED], Access::Locked),
            (&[LOCKED], Access::Locked),
            (
                &[("proc/cmdline", "quiet lockdown=integrity\n")],
                Access::Locked,
            ),
            (&[SHOWN, (LOCKED.0, "[none] integrity\n")], Access::Open),
            (&[], Access::NotMounted),
            (&[MOUNTED], Access::Absent),
            (&[("proc/filesystems", "nodev\tproc\n")], Access::Absent),
            (
                &[("proc/filesystems", "nodev\tdebugfs\n")],
                Access::NotMounted,
            ),
            (&[("proc/cmdline", "debugfs=off\n")], Access::Off),
            (&[(".dockerenv", "")], Access::Container),
        ];
        for (files, expected) in cases {
            let (_folder, root) = canned(files);
            let access = Access::of(&root);
            assert_eq!(access, *expected, "{files:?}");
            assert_eq!(access.obstacle().is_none(), access == Access::Open);
        }
    }
}
