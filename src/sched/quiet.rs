// SPDX-License-Identifier: GPL-2.0-only
//! What must be quiet on RT CPUs while the scheduler is on, as changes to make and undo.
//!
//! Reads the machine and plans; [`crate::partition::journal`] does it.

use crate::machine::deadline_servers::{SERVERS, runtime_file};
use crate::machine::{CpuList, Root, Unreadable};
use crate::partition::journal::Change;

/// Moves timers of idle CPUs to busy ones: on an RT CPU, timers of others.
const TIMER_MIGRATION: &str = "/proc/sys/kernel/timer_migration";

/// The changes for these RT CPUs. Settings that this kernel lacks, or that are right already,
/// are left out.
///
/// # Errors
/// When a setting exists and cannot be read.
pub fn plan(root: &Root, rt: &CpuList) -> Result<Vec<Change>, Unreadable> {
    let mut changes = Vec::new();
    let mut zero = |path: String| -> Result<(), Unreadable> {
        if let Some(old) = root.read(&path)?.filter(|old| old != "0") {
            changes.push(Change {
                path: root.path(&path),
                old,
                new: "0".to_owned(),
            });
        }
        Ok(())
    };
    for cpu in rt.iter() {
        // On an RT CPU the time of a server is a hole in RT0's latency.
        for server in SERVERS {
            zero(runtime_file(server, cpu))?;
        }
    }
    zero(TIMER_MIGRATION.to_owned())?;
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(settings: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (path, value) in settings {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{value}\n")).unwrap();
        }
        let root = Root(folder.path().to_owned());
        (folder, root)
    }

    #[test]
    fn the_servers_of_rt_cpus_only() {
        let (_folder, root) = machine(&[
            (
                "sys/kernel/debug/sched/fair_server/cpu0/runtime",
                "50000000",
            ),
            (
                "sys/kernel/debug/sched/fair_server/cpu1/runtime",
                "50000000",
            ),
            ("sys/kernel/debug/sched/ext_server/cpu1/runtime", "50000000"),
            ("proc/sys/kernel/timer_migration", "1"),
        ]);
        let changes = plan(&root, &"1".parse().unwrap()).unwrap();
        let paths: Vec<_> = changes.iter().map(|c| c.path.to_string_lossy()).collect();
        assert_eq!(changes.len(), 3, "{paths:?}");
        assert!(paths.iter().all(|path| !path.contains("cpu0")), "{paths:?}");
        assert!(changes.iter().all(|change| change.new == "0"));
    }

    #[test]
    fn what_is_quiet_already_or_absent_is_left_alone() {
        let (_folder, root) = machine(&[
            ("sys/kernel/debug/sched/fair_server/cpu1/runtime", "0"),
            ("proc/sys/kernel/timer_migration", "0"),
        ]);
        assert_eq!(plan(&root, &"1".parse().unwrap()).unwrap(), []);
    }
}
