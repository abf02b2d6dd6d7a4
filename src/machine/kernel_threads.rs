// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own threads: name, policy, priority, CPUs, and whether those may be changed.
//!
//! Source: `Documentation/filesystems/proc.rst` and `Documentation/admin-guide/
//! kernel-per-CPU-kthreads.rst`; the flags are in `include/linux/sched.h`.

use super::{CpuList, Root};

const PF_KTHREAD: u32 = 0x0020_0000;
const PF_NO_SETAFFINITY: u32 = 0x0400_0000;

/// One thread of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelThread {
    pub tid: i32,
    /// When it started, ticks of `USER_HZ` after boot. With `tid` it identifies the thread, because
    /// the kernel reuses numbers.
    pub start_ticks: u64,
    /// As in `irq/24-virtio0-config`; a kworker's name contains its current work.
    pub name: String,
    /// `SCHED_FIFO` and so on, as the system calls number them.
    pub policy: i32,
    pub nice: i32,
    /// 1 to 99 for `SCHED_FIFO` and `SCHED_RR`, otherwise 0.
    pub priority: u32,
    /// The CPUs it may use.
    pub allowed: CpuList,
    /// The kernel has bound it and refuses to change that.
    pub bound: bool,
}

/// All threads of the kernel, by number. A thread that ends meanwhile may be missing.
pub fn read(root: &Root) -> Vec<KernelThread> {
    let Ok(entries) = std::fs::read_dir(root.path("/proc")) else {
        return Vec::new();
    };
    let mut threads: Vec<KernelThread> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|tid| one(root, tid))
        .collect();
    threads.sort_unstable_by_key(|thread| thread.tid);
    threads
}

/// When the thread with this number started, ticks of `USER_HZ` after boot; none without such a
/// thread. For any thread, not only the kernel's.
pub fn start_ticks(root: &Root, tid: i32) -> Option<u64> {
    Some(stat(&root.hint(format!("/proc/{tid}/stat"))?)?.start_ticks)
}

/// The CPUs that a thread may use. For any thread, not only the kernel's.
pub fn allowed(root: &Root, tid: i32) -> Option<CpuList> {
    let status = root.hint(format!("/proc/{tid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    CpuList::from_kernel(line).ok()
}

struct Stat {
    name: String,
    flags: u32,
    nice: i32,
    start_ticks: u64,
    priority: u32,
    policy: i32,
}

/// The kernel thread with this number; none when there is none.
pub fn one(root: &Root, tid: i32) -> Option<KernelThread> {
    let stat = stat(&root.hint(format!("/proc/{tid}/stat"))?)?;
    if stat.flags & PF_KTHREAD == 0 {
        return None;
    }
    Some(KernelThread {
        tid,
        start_ticks: stat.start_ticks,
        name: stat.name,
        policy: stat.policy,
        nice: stat.nice,
        priority: stat.priority,
        allowed: allowed(root, tid)?,
        bound: stat.flags & PF_NO_SETAFFINITY != 0,
    })
}

/// The name in field 2 may hold anything; field 3 comes after its last parenthesis.
fn stat(text: &str) -> Option<Stat> {
    let (head, tail) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(Stat {
        name: head.split_once('(')?.1.to_owned(),
        flags: field(9)?.parse().ok()?,
        nice: field(19)?.parse().ok()?,
        start_ticks: field(22)?.parse().ok()?,
        priority: field(40)?.parse().ok()?,
        policy: field(41)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;
    use proptest::prelude::*;

    fn line(name: &str, flags: u32, priority: u32, policy: i32) -> String {
        let middle = "0 ".repeat(17); // fields 23 to 39
        format!(
            "7 ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 0 0 0 -51 -5 1 0 330 {middle}{priority} {policy} 0\n"
        )
    }

    #[test]
    fn threads_of_the_kernel_are_recognised() {
        let (_folder, root) = canned(&[
            ("proc/7/stat", &line("irq/9-(a) b", 69_238_848, 50, 1)),
            ("proc/7/status", "Name:\tx\nCpus_allowed_list:\t0-2\n"),
            ("proc/8/stat", &line("kauditd", 2_097_216, 0, 0)),
            ("proc/8/status", "Cpus_allowed_list:\t0-3\n"),
            ("proc/9/stat", &line("sh", 4_194_304, 0, 0)),
            ("proc/9/status", "Cpus_allowed_list:\t0-3\n"),
        ]);
        let threads = read(&root);
        assert_eq!(threads.len(), 2);
        assert_eq!(threads[0].name, "irq/9-(a) b");
        assert!(threads[0].bound && !threads[1].bound);
        assert_eq!((threads[0].priority, threads[0].policy), (50, 1));
        assert_eq!((threads[0].nice, threads[0].start_ticks), (-5, 330));
        assert_eq!(threads[1].allowed.to_string(), "0-3");
        assert_eq!(start_ticks(&root, 9), Some(330));
        assert_eq!(start_ticks(&root, 10), None);
    }

    #[test]
    fn this_kernel_has_threads() {
        assert!(
            read(&Root::default())
                .iter()
                .any(|thread| thread.name == "ksoftirqd/0")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*", fields in "(\\PC{0,9}\\) )?([0-9\\-]{1,12} ){0,45}") {
            let _ = (stat(&text), stat(&fields));
        }
    }
}
