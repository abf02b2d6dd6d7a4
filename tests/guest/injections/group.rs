// SPDX-License-Identifier: GPL-2.0-only
//! A cgroup for as long as this process lives, of either version.

use nix::unistd::Pid;
use std::fs;
use std::path::PathBuf;

/// Folder and file of a limit, and what the file takes.
type Place = (&'static str, &'static str, [&'static str; 2]);

const FREEZERS: [Place; 3] = [
    (
        "/sys/fs/cgroup/freezer",
        "freezer.state",
        ["THAWED", "FROZEN"],
    ),
    ("/sys/fs/cgroup", "cgroup.freeze", ["0", "1"]),
    ("/sys/fs/cgroup/unified", "cgroup.freeze", ["0", "1"]),
];
/// Less than what is read beside it, and more than this process has.
const MEMORY: [Place; 2] = [
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        ["-1", "48M"],
    ),
    ("/sys/fs/cgroup", "memory.max", ["max", "48M"]),
];

pub(super) struct Group {
    parent: &'static str,
    folder: PathBuf,
    file: &'static str,
    words: [&'static str; 2],
    process: Pid,
}

impl Group {
    pub fn freezer(process: Pid) -> Result<Self, String> {
        Self::of(&FREEZERS, process)
    }

    /// Of this process, with little memory.
    pub fn small() -> Result<Self, String> {
        // Version 2 has to be asked for it.
        let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
        let group = Self::of(&MEMORY, Pid::this())?;
        group.limit(true)?;
        Ok(group)
    }

    fn of(places: &[Place], process: Pid) -> Result<Self, String> {
        for (parent, file, words) in places {
            let folder = PathBuf::from(parent).join(format!("artis-test-{process}"));
            let is_there = fs::create_dir(&folder).is_ok() && folder.join(file).exists();
            let group = Self {
                parent,
                folder,
                file,
                words: *words,
                process,
            };
            if is_there {
                group.moves(&group.folder)?;
                return Ok(group);
            }
        }
        Err("this machine has no cgroups for it".to_owned())
    }

    fn moves(&self, folder: &std::path::Path) -> Result<(), String> {
        let file = folder.join("cgroup.procs");
        let written = fs::write(&file, self.process.to_string());
        written.map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Sets its limit, or lifts it.
    pub fn limit(&self, on: bool) -> Result<(), String> {
        let file = self.folder.join(self.file);
        let written = fs::write(&file, self.words[usize::from(on)]);
        written.map_err(|error| format!("{}: {error}", file.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.limit(false);
        let _ = self.moves(self.parent.as_ref());
        let _ = fs::remove_dir(&self.folder);
    }
}
