// SPDX-License-Identifier: GPL-2.0-only
//! The group that the shield of `artis partition` makes: putting threads into it, and out of it.
//!
//! The group is threaded (`Documentation/admin-guide/cgroup-v2.rst`, "Threads"), so that a
//! real-time thread can be there while the rest of its process stays outside. For that the process
//! must be in the root group.

use super::syscall;
use artis_machine::cpusets::{SHIELD, V2, shield};
use artis_machine::{CpuList, Root, cgroup};
use nix::errno::Errno;
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Whether these CPUs, and not only some of them, are the shield's.
pub fn has(root: &Root, cpus: &CpuList) -> bool {
    let shield = shield(root).ok().flatten();
    shield.is_some_and(|shield| !cpus.is_empty() && cpus.is_subset(&shield))
}

/// Whether this process may put tasks into the group.
pub fn may_enter(root: &Root) -> bool {
    let file = root.path(format!("{SHIELD}/cgroup.procs"));
    nix::unistd::access(&file, nix::unistd::AccessFlags::W_OK).is_ok()
}

/// Binds a thread to these CPUs, in the shield's group where they are the shield's. `tid` 0 is the
/// calling thread.
///
/// # Errors
/// The kernel's refusal.
pub fn bind(root: &Root, tid: i32, cpus: &CpuList) -> Result<(), Errno> {
    match syscall::set_affinity(tid, cpus) {
        Err(Errno::EINVAL) if has(root, cpus) => {
            // A refusal to enter leaves the first one as it is.
            enter(root, tid).map_err(|_| Errno::EINVAL)?;
            syscall::set_affinity(tid, cpus)
        }
        bound => bound,
    }
}

/// Puts a thread into the group, where the kernel does not let single threads move its process.
fn enter(root: &Root, tid: i32) -> io::Result<()> {
    let tid = match tid {
        0 => nix::unistd::gettid().as_raw(),
        tid => tid,
    };
    let thread = || write(root, &format!("{SHIELD}/cgroup.threads"), tid);
    thread()
        .or_else(|_| {
            write(root, &format!("{V2}/cgroup.procs"), tid)?;
            thread()
        })
        .or_else(|_| write(root, &format!("{SHIELD}/cgroup.procs"), tid))
}

/// Takes a thread out of the group, if it is there.
///
/// # Errors
/// The system's error.
pub fn leave(root: &Root, tid: i32) -> io::Result<()> {
    let group = cgroup::v2_path(root, &tid.to_string());
    if group.is_none_or(|group| format!("{V2}{group}") != SHIELD) {
        return Ok(());
    }
    write(root, &format!("{V2}/cgroup.threads"), tid)
        .or_else(|_| write(root, &format!("{V2}/cgroup.procs"), tid))
}

fn write(root: &Root, path: &str, tid: i32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(root.path(path))?;
    file.write_all(tid.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    const GROUP: (&str, &str) = ("sys/fs/cgroup/artis-rt/cpuset.cpus", "1-2\n");

    #[test]
    fn only_all_of_the_cpus_are_the_shields() {
        let (_folder, root) = canned(&[GROUP]);
        let list = |text: &str| CpuList::from_kernel(text).unwrap();
        assert!(has(&root, &list("1")) && has(&root, &list("1-2")));
        assert!(!has(&root, &list("0-1")) && !has(&root, &list("")));
        let (_folder, root) = canned(&[]);
        assert!(!has(&root, &list("1")));
    }

    #[test]
    fn a_thread_goes_in_alone_and_comes_out() {
        let (_folder, root) = canned(&[
            GROUP,
            ("sys/fs/cgroup/artis-rt/cgroup.threads", ""),
            ("sys/fs/cgroup/cgroup.threads", ""),
            ("proc/7/cgroup", "0::/artis-rt\n"),
            ("proc/8/cgroup", "0::/user.slice\n"),
        ]);
        enter(&root, 7).unwrap();
        let entered = root.read("/sys/fs/cgroup/artis-rt/cgroup.threads");
        assert_eq!(entered.unwrap().unwrap(), "7");
        leave(&root, 8).unwrap();
        let left = || root.read("/sys/fs/cgroup/cgroup.threads").unwrap().unwrap();
        assert_eq!(left(), "");
        leave(&root, 7).unwrap();
        assert_eq!(left(), "7");
    }
}
