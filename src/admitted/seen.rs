// SPDX-License-Identifier: GPL-2.0-only
//! What the watch of an admitted task has seen, and left for others to read.
//!
//! One file a thread, replaced as a whole. It counts while the thread is the one that it is of; the
//! watch removes it when the thread ends, and a file of a killed watch is overlooked.

use crate::jobs::Counted;
use crate::register::is_alive;
use crate::whole;
use artis_machine::{Root, kernel_threads};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

const FOLDER: &str = "/run/artis/jobs";

/// What was seen of the jobs of one thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub tid: i32,
    pub start_ticks: u64,
    /// How long it was watched.
    pub watched_ns: u64,
    #[serde(flatten)]
    pub counted: Counted,
    /// The process that watches, and when that started.
    #[serde(default)]
    watcher: (i32, u64),
}

impl Seen {
    /// What was counted of a thread.
    pub fn of(tid: i32, start_ticks: u64, watched_ns: u64, counted: &Counted) -> Self {
        Self {
            tid,
            start_ticks,
            watched_ns,
            counted: *counted,
            watcher: (0, 0),
        }
    }

    /// Leaves it for others, as seen by the process `watcher`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, root: &Root, watcher: i32) -> io::Result<()> {
        let started = kernel_threads::start_ticks(root, watcher).unwrap_or(0);
        self.watcher = (watcher, started);
        let path = path(root, self.tid);
        let folder = root.path(FOLDER);
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(folder)?;
        whole::write(&path, &serde_json::to_string(self)?)
    }

    /// What was left of a thread; none: it was not watched.
    pub fn read(root: &Root, tid: i32, start_ticks: u64) -> Option<Self> {
        let text = fs::read_to_string(path(root, tid)).ok()?;
        let seen: Self = serde_json::from_str(&text).ok()?;
        (seen.tid == tid && seen.start_ticks == start_ticks).then_some(seen)
    }

    /// Whether the process that left it still watches.
    pub fn goes_on(&self, root: &Root) -> bool {
        let (pid, started) = self.watcher;
        is_alive(root, pid, started)
    }

    /// Removes what was left of a thread.
    pub fn remove(root: &Root, tid: i32) {
        // A file that is not there need not be removed.
        let _ = fs::remove_file(path(root, tid));
    }
}

fn path(root: &Root, tid: i32) -> PathBuf {
    root.path(FOLDER).join(format!("{tid}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    #[test]
    fn what_was_seen_of_another_thread_of_that_number_does_not_count() {
        let (_folder, root) = canned(&[]);
        let mut seen = Seen {
            tid: 7,
            start_ticks: 5,
            counted: Counted {
                jobs: 3,
                ..Counted::default()
            },
            ..Seen::default()
        };
        assert_eq!(Seen::read(&root, 7, 5), None);
        seen.write(&root, 9).unwrap();
        assert_eq!(Seen::read(&root, 7, 5), Some(seen.clone()));
        // No process 9 is there.
        assert!(!seen.goes_on(&root));
        assert_eq!(Seen::read(&root, 7, 6), None);
        Seen::remove(&root, 7);
        assert_eq!(Seen::read(&root, 7, 5), None);
    }
}
