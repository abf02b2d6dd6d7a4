// SPDX-License-Identifier: GPL-2.0-only
//! The only place that reads and writes what a [`Target`] names.
//!
//! It decides nothing. It announces each step that changes something, here and in the journal,
//! before it is made, so that a test can fail or die at that step.

use super::change::{ABSENT, OFF, ON, PRESENT, Target};
use super::irqbalance;
use artis_machine::{CpuList, Root, kernel_threads};
use artis_task::syscall::{self, Scheduling};
use nix::unistd::{AccessFlags, access};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// A step that is about to change a file or the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Make the journal's folder or a file in it.
    Create,
    /// Write the journal's text.
    Write,
    /// Wait until it is on the disk.
    Sync,
    /// Give it its final name.
    Rename,
    /// Remove it.
    Remove,
    /// Change a setting.
    Set,
}

type Announce<'a> = dyn Fn(Step) -> io::Result<()> + 'a;

/// The machine below a root.
pub struct Host<'a> {
    pub root: Root,
    announce: Box<Announce<'a>>,
}

impl Default for Host<'_> {
    fn default() -> Self {
        Self::at(Root::default())
    }
}

impl<'a> Host<'a> {
    /// The machine below this root.
    pub fn at(root: Root) -> Self {
        Self::announcing(root, |_| Ok(()))
    }

    /// As [`Host::at`], with a function that is called before each step and may refuse it.
    pub fn announcing(root: Root, announce: impl Fn(Step) -> io::Result<()> + 'a) -> Self {
        Self {
            root,
            announce: Box::new(announce),
        }
    }

    pub(super) fn step(&self, step: Step) -> io::Result<()> {
        (self.announce)(step)
    }

    /// The value there now; none when there is no such thing (any more).
    ///
    /// # Errors
    /// When it exists and cannot be read.
    pub fn get(&self, target: &Target) -> io::Result<Option<String>> {
        let read = |path: &str| self.root.read(path).map_err(|error| error.source);
        match target {
            Target::File { path, shown } => read(shown.as_ref().unwrap_or(path)),
            Target::Scheduling { tid, start_ticks } => {
                let thread = self.is_alive(*tid, *start_ticks).then(|| self.thread(*tid));
                Ok(thread.flatten())
            }
            Target::Affinity { tid, start_ticks } => Ok(self
                .is_alive(*tid, *start_ticks)
                .then(|| kernel_threads::allowed(&self.root, *tid))
                .flatten()
                .map(|cpus| cpus.to_string())),
            Target::Group { path } => {
                let there = self.root.path(path).is_dir();
                Ok(Some(if there { PRESENT } else { ABSENT }.to_owned()))
            }
            Target::Controller { path, name } => Ok(read(path)?.map(|list| {
                let on = list.split_whitespace().any(|word| word == name);
                if on { ON } else { OFF }.to_owned()
            })),
            Target::Irqbalance { path } => irqbalance::banned(&self.root.path(path))
                .map(|cpus| cpus.map(|cpus| cpus.to_string())),
        }
    }

    /// Sets the value.
    ///
    /// # Errors
    /// The system's error; [`ErrorKind::NotFound`] when there is no such thing (any more).
    pub fn set(&self, target: &Target, value: &str) -> io::Result<()> {
        self.step(Step::Set)?;
        match target {
            Target::File { path, .. } => self.write(path, value),
            Target::Scheduling { tid, start_ticks } => {
                let to = parse_scheduling(value).ok_or(ErrorKind::InvalidInput)?;
                self.must_be_alive(*tid, *start_ticks)?;
                Ok(syscall::set_scheduling(*tid, to)?)
            }
            Target::Affinity { tid, start_ticks } => {
                let cpus = CpuList::from_kernel(value)
                    .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
                self.must_be_alive(*tid, *start_ticks)?;
                Ok(syscall::set_affinity(*tid, &cpus)?)
            }
            Target::Group { path } if value == PRESENT => self.make_group(path),
            Target::Group { path } => self.remove_group(path),
            Target::Controller { path, name } => {
                let sign = if value == ON { '+' } else { '-' };
                self.write(path, &format!("{sign}{name}"))
            }
            Target::Irqbalance { path } => irqbalance::ban(&self.root.path(path), value),
        }
    }

    /// Why this process cannot make a change there, in words; none when nothing speaks against it.
    pub fn obstacle(&self, target: &Target, may_schedule: bool) -> Option<String> {
        match target {
            Target::Scheduling { .. } | Target::Affinity { .. } => {
                (!may_schedule).then(|| "CAP_SYS_NICE is missing; run artis with sudo".to_owned())
            }
            // The changes before it make it, or root owns it, so the file's mode says nothing.
            Target::Group { .. } | Target::Controller { .. } | Target::Irqbalance { .. } => {
                (!nix::unistd::geteuid().is_root())
                    .then(|| "only root may change it; use sudo".to_owned())
            }
            Target::File { path, .. } => {
                let path = self.root.path(path);
                match access(&path, AccessFlags::W_OK) {
                    Err(nix::errno::Errno::EROFS) => Some(
                        "the file system is mounted read-only, as in a container: run artis on the \
                         host, or give the container a writable one"
                            .to_owned(),
                    ),
                    Err(nix::errno::Errno::EACCES | nix::errno::Errno::EPERM) => Some(
                        "root owns the file, and CAP_DAC_OVERRIDE is missing; run artis with sudo"
                            .to_owned(),
                    ),
                    _ => None,
                }
            }
        }
    }

    /// Writes a setting. Never creates a file: a setting that does not exist cannot be set.
    fn write(&self, path: &str, value: &str) -> io::Result<()> {
        // Writing zero bytes changes nothing; the kernel takes an empty line as an empty value.
        let value = if value.is_empty() { "\n" } else { value };
        fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.root.path(path))?
            .write_all(value.as_bytes())
    }

    /// Makes a group that single threads can be put into, where the kernel lets it be one.
    fn make_group(&self, path: &str) -> io::Result<()> {
        fs::create_dir(self.root.path(path))?;
        let kind = format!("{path}/cgroup.type");
        if self.root.exists(&kind) {
            // Otherwise whole processes can be put there.
            let _ = self.write(&kind, "threaded");
        }
        Ok(())
    }

    /// Moves the group's tasks to its parent first: a group with tasks cannot be removed. A
    /// threaded group does not list processes.
    fn remove_group(&self, path: &str) -> io::Result<()> {
        let folder = self.root.path(path);
        let parent = folder.parent().unwrap_or(Path::new("/"));
        for file in ["cgroup.procs", "cgroup.threads"] {
            let tasks = fs::read_to_string(folder.join(file)).unwrap_or_default();
            for task in tasks.lines() {
                // A task that has ended meanwhile does not keep the group.
                let _ = fs::write(parent.join(file), task);
            }
        }
        fs::remove_dir(folder)
    }

    fn thread(&self, tid: i32) -> Option<String> {
        let threads = kernel_threads::one(&self.root, tid)?;
        Some(scheduling_text(
            threads.policy,
            threads.nice,
            threads.priority,
        ))
    }

    fn is_alive(&self, tid: i32, start_ticks: u64) -> bool {
        kernel_threads::start_ticks(&self.root, tid) == Some(start_ticks)
    }

    /// The kernel reuses thread numbers, and those of a canned machine are not threads of this one.
    fn must_be_alive(&self, tid: i32, start_ticks: u64) -> io::Result<()> {
        let here = self.root == Root::default() && self.is_alive(tid, start_ticks);
        if here {
            Ok(())
        } else {
            Err(ErrorKind::NotFound.into())
        }
    }
}

/// The policies that a kernel thread may have or get, and their names.
const POLICIES: [(i32, &str); 5] = [
    (libc::SCHED_OTHER, "SCHED_OTHER"),
    (libc::SCHED_BATCH, "SCHED_BATCH"),
    (libc::SCHED_IDLE, "SCHED_IDLE"),
    (libc::SCHED_FIFO, "SCHED_FIFO"),
    (libc::SCHED_RR, "SCHED_RR"),
];

/// `SCHED_FIFO 50`, `SCHED_OTHER -20`: the policy, with its priority or nice value.
pub fn scheduling_text(policy: i32, nice: i32, priority: u32) -> String {
    let name = POLICIES
        .iter()
        .find(|(number, _)| *number == policy)
        .map_or("SCHED_?", |(_, name)| name);
    if priority > 0 {
        format!("{name} {priority}")
    } else {
        format!("{name} {nice}")
    }
}

fn parse_scheduling(text: &str) -> Option<Scheduling> {
    let (name, number) = text.split_once(' ')?;
    let (policy, _) = POLICIES.iter().find(|(_, known)| *known == name)?;
    let realtime = matches!(*policy, libc::SCHED_FIFO | libc::SCHED_RR);
    Some(Scheduling {
        policy: *policy,
        nice: if realtime { 0 } else { number.parse().ok()? },
        priority: if realtime { number.parse().ok()? } else { 0 },
        reset_on_fork: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;
    use proptest::prelude::*;

    #[test]
    fn files_are_read_and_written_and_never_created() {
        let (_folder, root) = canned(&[("sys/a", "1\n")]);
        let host = Host::at(root);
        let (here, absent) = (Target::file("/sys/a"), Target::file("/sys/b"));
        host.set(&here, "22").unwrap();
        assert_eq!(host.get(&here).unwrap().as_deref(), Some("22"));
        assert_eq!(host.get(&absent).unwrap(), None);
        let error = host.set(&absent, "1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(!host.root.exists("/sys/b"));
    }

    #[test]
    fn groups_and_controllers_have_two_values() {
        let (_folder, root) = canned(&[("sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n")]);
        let host = Host::at(root);
        let group = Target::Group {
            path: "/sys/fs/cgroup/x".to_owned(),
        };
        assert_eq!(host.get(&group).unwrap().as_deref(), Some(ABSENT));
        host.set(&group, PRESENT).unwrap();
        assert_eq!(host.get(&group).unwrap().as_deref(), Some(PRESENT));
        host.set(&group, ABSENT).unwrap();
        assert_eq!(host.get(&group).unwrap().as_deref(), Some(ABSENT));
        let controller = |name: &str| Target::Controller {
            path: "/sys/fs/cgroup/cgroup.subtree_control".to_owned(),
            name: name.to_owned(),
        };
        assert_eq!(host.get(&controller("cpu")).unwrap().as_deref(), Some(ON));
        assert_eq!(
            host.get(&controller("cpuset")).unwrap().as_deref(),
            Some(OFF)
        );
    }

    #[test]
    fn the_threads_of_a_canned_machine_are_never_touched() {
        let (_folder, root) = canned(&[]);
        let us = nix::unistd::gettid().as_raw();
        let start_ticks = kernel_threads::start_ticks(&Root::default(), us).unwrap();
        let target = Target::Affinity {
            tid: us,
            start_ticks,
        };
        let error = Host::at(root).set(&target, "0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_thread_whose_number_was_reused_is_gone() {
        let target = Target::Affinity {
            tid: nix::unistd::gettid().as_raw(),
            start_ticks: 0,
        };
        assert_eq!(Host::default().get(&target).unwrap(), None);
        assert!(Host::default().set(&target, "0").is_err());
    }

    #[test]
    fn a_refused_step_does_not_happen() {
        let (_folder, root) = canned(&[("sys/a", "1\n")]);
        let host = Host::announcing(root, |_| Err(ErrorKind::StorageFull.into()));
        assert!(host.set(&Target::file("/sys/a"), "2").is_err());
        assert_eq!(
            host.get(&Target::file("/sys/a")).unwrap().as_deref(),
            Some("1")
        );
    }

    proptest! {
        #[test]
        fn scheduling_survives_as_text(policy in 0..5_usize, number in 1..99_u32) {
            let policy = POLICIES[policy].0;
            let text = scheduling_text(policy, 0, 0);
            let realtime = matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR);
            let text = if realtime { scheduling_text(policy, 0, number) } else { text };
            let parsed = parse_scheduling(&text).unwrap();
            prop_assert_eq!(scheduling_text(parsed.policy, parsed.nice, parsed.priority), text);
        }

        #[test]
        fn any_text_is_a_scheduling_or_none(text in "(SCHED_(FIFO|OTHER|X) )?.{0,12}") {
            let _ = parse_scheduling(&text);
        }
    }
}
