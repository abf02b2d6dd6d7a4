// SPDX-License-Identifier: GPL-2.0-only
//! Tasks that nobody should change by mistake: threads of the kernel, which all others depend on,
//! and a running artis, which drives the scheduler or measures.

use super::scheduler;
use artis_machine::{Root, tasks};
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;

/// Why a task is protected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Protected {
    #[error(
        "task {tid} is the kernel's own thread {name}, and every task may depend on when it runs; \
         add --kernel-thread to change it all the same"
    )]
    Kernel { tid: i32, name: String },
    #[error(
        "task {tid} is a running artis, which places its threads itself; add --artis-thread to \
         change it all the same"
    )]
    Artis { tid: i32 },
}

/// Why this task is protected; none when it is not, or has ended.
pub fn reason(root: &Root, tid: i32) -> Option<Protected> {
    let tasks = tasks::all(root).ok()?;
    let task = tasks.into_iter().find(|task| task.tid == tid)?;
    if task.is_kernel {
        return Some(Protected::Kernel {
            tid,
            name: task.name,
        });
    }
    let schedules = scheduler::running(root)
        .ok()
        .flatten()
        .is_some_and(|scheduler| scheduler.pid == task.pid);
    (schedules || runs_this_program(root, tid)).then_some(Protected::Artis { tid })
}

/// Whether a task runs the program that this process runs.
pub fn runs_this_program(root: &Root, tid: i32) -> bool {
    let file = |task: &str| {
        let file = metadata(root.path(format!("/proc/{task}/exe"))).ok()?;
        Some((file.dev(), file.ino()))
    };
    file("self").is_some_and(|own| file(&tid.to_string()) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;
    use std::os::unix::fs::symlink;

    /// A line of /proc/TID/stat with these flags.
    fn stat(tid: i32, flags: u64) -> String {
        format!("{tid} (a (name)) S 2 0 0 0 -1 {flags}{}", " 0".repeat(44))
    }

    #[test]
    fn threads_of_the_kernel_and_of_artis_are_protected_and_others_are_not() {
        let (kernel, user) = (stat(2, 0x0020_0000), stat(42, 0));
        let (program, scheduler) = (stat(43, 0), stat(7, 0));
        let (_folder, root) = canned(&[
            ("proc/2/stat", kernel.as_str()),
            ("proc/42/stat", &user),
            ("proc/43/stat", &program),
            ("proc/7/stat", &scheduler),
            ("proc/self/comm", "artis\n"),
            ("bin/artis", ""),
            ("bin/other", ""),
            ("sys/kernel/sched_ext/root/ops", "artis\n"),
            (
                "run/artis/sched.json",
                r#"{"rt_cpus": "1", "nrt_cpus": "0", "pid": 7}"#,
            ),
        ]);
        for (task, program) in [("self", "artis"), ("42", "other"), ("43", "artis")] {
            let exe = root.path(format!("/proc/{task}/exe"));
            symlink(root.path(format!("/bin/{program}")), exe).unwrap();
        }
        let name = "a (name)".to_owned();
        assert_eq!(reason(&root, 2), Some(Protected::Kernel { tid: 2, name }));
        assert_eq!(reason(&root, 7), Some(Protected::Artis { tid: 7 }));
        assert_eq!(reason(&root, 43), Some(Protected::Artis { tid: 43 }));
        assert_eq!(reason(&root, 42), None);
        assert_eq!(reason(&root, 44), None);
    }
}
