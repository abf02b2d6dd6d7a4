// SPDX-License-Identifier: GPL-2.0-only
//! The undo journals: what artis has changed, so that it can be reverted after artis has died.
//!
//! Each owner has one. It is complete on disk before the first of its changes is made, and removed
//! after the last was reverted, so reverting needs no room on a disk. The journals are not in a run
//! directory that may be emptied early (as in a container). They carry the kernel's boot id,
//! because the changes end with the boot. Files belong to root, mode 0600, and no link is followed.

use super::change::Change;
use super::host::{Host, Step};
use artis_machine::CpuList;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folders of journals: the second one is used only when the first cannot be written.
const FOLDERS: [&str; 2] = ["/var/lib/artis", "/run/artis/journal"];

/// The process that changes the machine holds it as long as that takes.
const LOCK: &str = "/run/artis/machine.lock";
const LOCK_PATIENCE: Duration = Duration::from_secs(20);
const LOCK_LOOK: Duration = Duration::from_millis(20);

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The part of artis that changes the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// `artis partition`, until `artis partition reset`.
    Partition,
    /// `artis sched run`, for as long as it runs.
    Sched,
    /// `artis sched run --cycle`, while RT CPUs are offline. Settings that are in force by then
    /// stay in force.
    Cycle,
    /// `artis sched run`, for moments at which it cannot write a journal first.
    Urgent,
    /// `artis run rt0 --policy edf`, for the moment in which a reservation is bound to its CPU.
    Reservation,
}

/// All owners.
pub const OWNERS: [Owner; 5] = [
    Owner::Partition,
    Owner::Sched,
    Owner::Cycle,
    Owner::Urgent,
    Owner::Reservation,
];

impl Owner {
    /// Its command, as people type it.
    pub fn command(self) -> &'static str {
        match self {
            Self::Partition => "artis partition",
            Self::Sched | Self::Urgent => "artis sched",
            Self::Cycle => "artis sched run --cycle",
            Self::Reservation => "artis run rt0 --policy edf",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Partition => "partition.json",
            Self::Sched => "sched.json",
            Self::Cycle => "cycle.json",
            Self::Urgent => "urgent.json",
            Self::Reservation => "reservation.json",
        }
    }
}

/// What one owner has changed, or was about to change. This is also the format on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    pub owner: Owner,
    /// The boot that the changes were made in, as the kernel names it.
    pub boot_id: String,
    /// The process that made them.
    pub pid: u32,
    /// RFC 3339.
    pub since: String,
    pub rt: CpuList,
    /// In the order in which they were made.
    pub changes: Vec<Change>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not keep the undo journal {path}; nothing was changed", path = path.display())]
    Keep { path: PathBuf, source: io::Error },
    #[error("could not read or remove the undo journal {path}", path = path.display())]
    Journal { path: PathBuf, source: io::Error },
    #[error(
        "the undo journal {path} is damaged; read it, restore the old values by hand, and remove it",
        path = path.display()
    )]
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error(
        "the undo journal {path} is not trusted: {why}; read it, and remove it",
        path = path.display()
    )]
    NotOurs { path: PathBuf, why: String },
    #[error("could not take the lock {path}; changing the machine needs root", path = path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error(
        "another artis has been changing the machine for {} s; try again when it is done",
        LOCK_PATIENCE.as_secs()
    )]
    Busy,
}

/// The journals of a machine.
pub(super) struct Store<'a> {
    host: &'a Host<'a>,
}

impl<'a> Store<'a> {
    pub(super) fn of(host: &'a Host<'a>) -> Self {
        Self { host }
    }

    /// The kernel's id of this boot.
    pub(super) fn boot_id(&self) -> String {
        self.host.root.hint(BOOT_ID).unwrap_or_default()
    }

    /// Waits until no other artis changes the machine.
    pub(super) fn lock(&self) -> Result<Flock<File>, Error> {
        let path = self.host.root.path(LOCK);
        let failed = |source| Error::Lock {
            path: path.clone(),
            source,
        };
        if let Some(folder) = path.parent() {
            let make = DirBuilder::new().recursive(true).mode(0o755).create(folder);
            make.map_err(failed)?;
        }
        let open = || {
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(libc::O_NOFOLLOW)
                .open(&path)
        };
        let mut file = open().map_err(failed)?;
        let began = Instant::now();
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(lock),
                Err((same, nix::errno::Errno::EWOULDBLOCK)) => file = same,
                Err((_, error)) => return Err(failed(error.into())),
            }
            if began.elapsed() > LOCK_PATIENCE {
                return Err(Error::Busy);
            }
            std::thread::sleep(LOCK_LOOK);
        }
    }

    /// The journal of an owner; none when it has none.
    pub(super) fn read(&self, owner: Owner) -> Result<Option<Journal>, Error> {
        for path in self.paths(owner) {
            if let Some(text) = read_own(&path)? {
                let journal: Journal =
                    serde_json::from_str(&text).map_err(|source| Error::Damaged {
                        path: path.clone(),
                        source,
                    })?;
                let strange = journal
                    .changes
                    .iter()
                    .find(|change| !change.target.is_plausible());
                if let Some(change) = strange {
                    let why = format!("it names {}", change.target.path());
                    return Err(Error::NotOurs { path, why });
                }
                return Ok(Some(journal));
            }
        }
        Ok(None)
    }

    /// The journals of the other owners, as far as they are of this boot.
    pub(super) fn of_others(&self, owner: Owner) -> Result<Vec<Journal>, Error> {
        let boot_id = self.boot_id();
        let mut others = Vec::new();
        for other in OWNERS.into_iter().filter(|other| *other != owner) {
            others.extend(self.read(other)?.filter(|one| one.boot_id == boot_id));
        }
        Ok(others)
    }

    /// Writes a journal to disk. The owner must have none.
    pub(super) fn keep(&self, journal: &Journal) -> Result<(), Error> {
        let mut last = None;
        for path in self.paths(journal.owner) {
            match self.keep_at(&path, journal) {
                Ok(()) => return Ok(()),
                // A journal that is half there does no harm: its changes are not made.
                Err(source) => {
                    for half in [&unfinished(&path), &path] {
                        let _ = self.host.step(Step::Remove).and_then(|()| remove(half));
                    }
                    last = Some(Error::Keep { path, source });
                }
            }
        }
        last.map_or(Ok(()), Err)
    }

    /// Removes the journal of an owner: nothing is left to undo.
    pub(super) fn remove(&self, owner: Owner) -> Result<(), Error> {
        for path in self.paths(owner) {
            if path.symlink_metadata().is_err() {
                continue;
            }
            let removed = self.host.step(Step::Remove).and_then(|()| remove(&path));
            removed.map_err(|source| Error::Journal { path, source })?;
        }
        Ok(())
    }

    fn keep_at(&self, path: &Path, journal: &Journal) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        self.host.step(Step::Create)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let open_folder = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY)
            .open(folder)?;
        belongs_to_us(&open_folder, 0o022).map_err(io::Error::other)?;
        let new = unfinished(path);
        // A killed artis may have left one, and nobody else uses it: this process holds the lock.
        remove(&new)?;
        self.host.step(Step::Create)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&new)?;
        let mut text = serde_json::to_string_pretty(journal)?;
        text.push('\n');
        self.host.step(Step::Write)?;
        file.write_all(text.as_bytes())?;
        self.host.step(Step::Sync)?;
        file.sync_all()?;
        self.host.step(Step::Rename)?;
        fs::rename(&new, path)?;
        self.host.step(Step::Sync)?;
        open_folder.sync_all()
    }

    fn paths(&self, owner: Owner) -> [PathBuf; 2] {
        FOLDERS.map(|folder| self.host.root.path(folder).join(owner.file()))
    }
}

fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("new")
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// The text of a journal, if it exists. A link, or a file of another user, is an error.
fn read_own(path: &Path) -> Result<Option<String>, Error> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path);
    let failed = |source: io::Error| Error::Journal {
        path: path.to_owned(),
        source,
    };
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            let why = "it is a link".to_owned();
            let path = path.to_owned();
            return Err(Error::NotOurs { path, why });
        }
        Err(error) => return Err(failed(error)),
    };
    belongs_to_us(&file, 0o077).map_err(|why| Error::NotOurs {
        path: path.to_owned(),
        why,
    })?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

/// Does this user own it, without the `forbidden` rights for others?
fn belongs_to_us(file: &File, forbidden: u32) -> Result<(), String> {
    let data = file.metadata().map_err(|error| error.to_string())?;
    let us = nix::unistd::geteuid().as_raw();
    if data.uid() != us {
        return Err(format!("it belongs to user {}, not {us}", data.uid()));
    }
    let mode = data.mode() & 0o777;
    if mode & forbidden != 0 {
        return Err(format!("its mode is {mode:03o}, so others may change it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Kind, Target};
    use artis_machine::Root;
    use artis_testing::canned;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    fn journal(path: &str) -> Journal {
        Journal {
            owner: Owner::Partition,
            boot_id: "boot".to_owned(),
            pid: 1,
            since: "now".to_owned(),
            rt: "1".parse().unwrap(),
            changes: vec![Change {
                kind: Kind::TimerMigration,
                what: "timer migration".to_owned(),
                target: Target::file(path),
                old: "1".to_owned(),
                new: "0".to_owned(),
                detour: None,
                reason: String::new(),
            }],
        }
    }

    fn kept(root: &Root) -> PathBuf {
        let host = Host::at(root.clone());
        Store::of(&host).keep(&journal("/proc/x")).unwrap();
        root.path("/var/lib/artis/partition.json")
    }

    fn read(root: &Root) -> Result<Option<Journal>, Error> {
        Store::of(&Host::at(root.clone())).read(Owner::Partition)
    }

    #[test]
    fn a_journal_is_read_back_and_only_its_owner_may_read_it() {
        let (_folder, root) = canned(&[]);
        let path = kept(&root);
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(read(&root).unwrap(), Some(journal("/proc/x")));
        let host = Host::at(root.clone());
        Store::of(&host).remove(Owner::Partition).unwrap();
        assert_eq!(read(&root).unwrap(), None);
    }

    /// As artis wrote it before its words changed; a machine may still have such a journal.
    const OLD: &str = r#"{
        "owner": "partition", "boot_id": "boot", "pid": 7, "since": "2026-11-01T00:00:00Z",
        "rt": "1", "changes": [
            {"id": "irq-affinity", "what": "interrupt 9", "kind": "file",
             "path": "/proc/irq/9/smp_affinity_list", "old": "0-1", "new": "0",
             "detour": {"through": "1", "shown": "/proc/irq/9/effective_affinity_list"},
             "reason": "why"},
            {"id": "kthread-affinity", "what": "kthreadd", "kind": "affinity", "tid": 2,
             "start_ticks": 5, "old": "0-1", "new": "0", "reason": "why"},
            {"id": "cpuset-shield", "what": "group", "kind": "group",
             "path": "/sys/fs/cgroup/artis", "old": "absent", "new": "present", "reason": "why"},
            {"id": "cpuset-shield", "what": "cpuset", "kind": "controller", "name": "cpuset",
             "path": "/sys/fs/cgroup/cgroup.subtree_control", "old": "off", "new": "on",
             "reason": "why"},
            {"id": "irqbalance-ban", "what": "irqbalance", "kind": "irqbalance",
             "path": "/run/irqbalance/x.sock", "old": "", "new": "1", "reason": "why"},
            {"id": "irq-thread-priority", "what": "irq/9", "kind": "scheduling", "tid": 3,
             "start_ticks": 5, "old": "SCHED_FIFO 50", "new": "SCHED_FIFO 39", "reason": "why"}
        ]}"#;

    #[test]
    fn a_journal_of_an_older_artis_is_read() {
        let (_folder, root) = canned(&[]);
        fs::write(kept(&root), OLD).unwrap();
        let journal = read(&root).unwrap().unwrap();
        assert_eq!(journal.changes.len(), 6);
        assert_eq!(journal.changes[0].detour.as_ref().unwrap().through, "1");
        assert_eq!(journal.changes[1].target.path(), "/proc/2");
    }

    #[test]
    fn links_and_files_of_others_are_not_trusted() {
        let (_folder, root) = canned(&[]);
        let path = kept(&root);
        let elsewhere = root.path("/elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(matches!(read(&root), Err(Error::NotOurs { .. })));
        fs::remove_file(&path).unwrap();
        fs::rename(&elsewhere, &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        let error = read(&root).unwrap_err().to_string();
        assert!(error.contains("620"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("/proc/x", "/etc/passwd")).unwrap();
        let error = read(&root).unwrap_err().to_string();
        assert!(error.contains("names /etc/passwd"), "{error}");
        fs::write(&path, "{").unwrap();
        assert!(matches!(read(&root), Err(Error::Damaged { .. })));
        assert!(path.exists());
    }

    #[test]
    fn a_folder_that_is_a_link_or_open_to_others_is_not_used() {
        let (_folder, root) = canned(&[]);
        fs::create_dir_all(root.path("/var/lib")).unwrap();
        fs::create_dir(root.path("/trap")).unwrap();
        std::os::unix::fs::symlink(root.path("/trap"), root.path("/var/lib/artis")).unwrap();
        let host = Host::at(root.clone());
        Store::of(&host).keep(&journal("/proc/x")).unwrap();
        assert!(root.exists("/run/artis/journal/partition.json"));
        assert!(!root.exists("/trap/partition.json"));
        assert!(read(&root).unwrap().is_some());
    }

    #[test]
    fn without_a_folder_there_is_no_journal_and_no_change() {
        let (_folder, root) = canned(&[("var/lib/artis", ""), ("run/artis/journal", "")]);
        let host = Host::at(root);
        let error = Store::of(&host).keep(&journal("/proc/x")).unwrap_err();
        assert!(error.to_string().contains("nothing was changed"), "{error}");
    }

    proptest! {
        #[test]
        fn any_journal_is_read_or_refused(text in ".*") {
            let (_folder, root) = canned(&[]);
            fs::write(kept(&root), &text).unwrap();
            prop_assert!(read(&root).is_err());
        }
    }
}
