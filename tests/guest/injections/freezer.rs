// SPDX-License-Identifier: GPL-2.0-only
//! A cgroup that freezes a process, of either version, for as long as this process lives.

use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder and file, and what the file takes to let go on and to freeze.
const PLACES: [(&str, &str, [&str; 2]); 3] = [
    (
        "/sys/fs/cgroup/freezer",
        "freezer.state",
        ["THAWED", "FROZEN"],
    ),
    ("/sys/fs/cgroup", "cgroup.freeze", ["0", "1"]),
    ("/sys/fs/cgroup/unified", "cgroup.freeze", ["0", "1"]),
];

pub(super) struct Freezer {
    parent: &'static str,
    folder: PathBuf,
    file: &'static str,
    words: [&'static str; 2],
    process: Pid,
}

impl Freezer {
    /// # Errors
    /// A sentence where this machine has none.
    pub fn of(process: Pid) -> Result<Self, String> {
        for (parent, file, words) in PLACES {
            let group = Self {
                parent,
                folder: PathBuf::from(parent).join(format!("artis-test-{process}")),
                file,
                words,
                process,
            };
            if fs::create_dir(&group.folder).is_ok() && group.folder.join(file).exists() {
                group.moves(&group.folder)?;
                return Ok(group);
            }
        }
        Err("this machine has no cgroups that freeze".to_owned())
    }

    fn moves(&self, folder: &Path) -> Result<(), String> {
        let file = folder.join("cgroup.procs");
        let written = fs::write(&file, self.process.to_string());
        written.map_err(|error| format!("{}: {error}", file.display()))
    }

    pub fn freeze(&self, on: bool) -> Result<(), String> {
        let file = self.folder.join(self.file);
        let written = fs::write(&file, self.words[usize::from(on)]);
        written.map_err(|error| format!("{}: {error}", file.display()))
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = self.freeze(false);
        let _ = self.moves(self.parent.as_ref());
        let _ = fs::remove_dir(&self.folder);
    }
}
