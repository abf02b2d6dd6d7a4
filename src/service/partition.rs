// SPDX-License-Identifier: GPL-2.0-only
//! The partition that ends with the scheduler.
//!
//! It is the one partition of the machine, with the journal of `artis partition`. A mark in
//! `/run/artis` says that it ends with the scheduler; the scheduling process holds a lock on it. A
//! mark without the lock is that of a killed process: whoever finds it reverts the partition. A
//! partition that a person made is no concern of the scheduler's, unless the configuration asks for
//! another one.

use artis_partition::apply::{self, Notice, Partitioned};
use artis_partition::host::Host;
use artis_partition::journal::{self, Owner};
use artis_partition::plan::Request;
use artis_partition::transaction::{self, Reverted, Transaction};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a scheduler that stops may take to revert its partition.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// The mark: empty when no partition ends with the scheduler, otherwise the process that marked it.
const MARK: &str = "/run/artis/sched-partition";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not {what} {path}", path = path.display())]
    Mark {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "another artis sched run has partitioned the machine; stop it first with `artis sched stop`"
    )]
    Busy,
    #[error("could not partition the machine")]
    Apply(#[from] apply::Error),
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error("could not put the partition back; artis partition reset tries again")]
    Revert(#[from] transaction::Error),
}

/// A partition that is reverted when this is dropped; [`Lease::end`] says what became of it.
pub struct Lease<'a> {
    host: &'a Host<'a>,
    mark: Mark,
    /// Nothing is to be reverted: a person had made this very partition before.
    is_foreign: bool,
}

impl<'a> Lease<'a> {
    /// Makes the partition, as `artis partition apply` does.
    ///
    /// # Errors
    /// As [`apply::apply`], or when another scheduler has one.
    pub fn begin(
        host: &'a Host<'a>,
        request: &Request,
        notice: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(Self, Partitioned), Error> {
        let Taken::Ours(mut mark) = Mark::take(host, true)? else {
            return Err(Error::Busy);
        };
        let was_ours = mark.is_set()?;
        // Before the first change: a process that is killed meanwhile leaves the mark behind.
        mark.set()?;
        let made = match apply::apply(host, request, notice) {
            Ok(made) => made,
            Err(error) => {
                // What could not be reverted keeps its mark.
                if !matches!(
                    error,
                    apply::Error::Changes(transaction::Error::Stuck { .. })
                ) {
                    mark.clear()?;
                }
                return Err(error.into());
            }
        };
        let is_foreign = made.was_there && !was_ours;
        if is_foreign {
            mark.clear()?;
        }
        let lease = Self {
            host,
            mark,
            is_foreign,
        };
        Ok((lease, made))
    }

    /// Reverts the partition. None: it is a person's, and stays.
    ///
    /// # Errors
    /// When a setting could not be put back; the journal stays, and the mark with it.
    pub fn end(mut self) -> Result<Option<Reverted>, Error> {
        self.revert()
    }

    fn revert(&mut self) -> Result<Option<Reverted>, Error> {
        if self.is_foreign {
            return Ok(None);
        }
        let reverted = revert(self.host)?;
        self.mark.clear()?;
        self.is_foreign = true;
        Ok(Some(reverted))
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // On failure the mark stays, and the next artis sched command tries again and reports.
        let _ = self.revert();
    }
}

/// Reverts the partition of a scheduler that was killed, if there is one.
///
/// # Errors
/// When a setting could not be put back, or the mark cannot be read.
pub fn clean_up(host: &Host<'_>) -> Result<Option<Reverted>, Error> {
    let Taken::Ours(mut mark) = Mark::take(host, false)? else {
        return Ok(None);
    };
    if !mark.is_set()? {
        return Ok(None);
    }
    let reverted = revert(host)?;
    mark.clear()?;
    Ok(Some(reverted))
}

/// Waits until no running scheduler holds a partition, for as long as reverting one may take.
///
/// # Errors
/// When it takes too long, or the mark cannot be read.
pub fn wait_for_end(host: &Host<'_>) -> Result<(), Error> {
    let began = Instant::now();
    while matches!(Mark::take(host, false)?, Taken::Theirs) {
        if began.elapsed() > PATIENCE {
            return Err(Error::Busy);
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn revert(host: &Host<'_>) -> Result<Reverted, Error> {
    let reverted = Transaction::begin(host)?.revert(Owner::Partition)?;
    Ok(reverted.whole()?)
}

/// What came of taking the mark.
enum Taken {
    Ours(Mark),
    /// A running scheduler holds it.
    Theirs,
    /// There is none, or this user may not see it.
    Absent,
}

/// The mark, locked.
struct Mark {
    file: Flock<File>,
    path: PathBuf,
}

impl Mark {
    fn take(host: &Host<'_>, create: bool) -> Result<Taken, Error> {
        let path = host.root.path(MARK);
        let failed = |source| Error::Mark {
            what: "open",
            path: path.clone(),
            source,
        };
        if let Some(folder) = path.parent().filter(|_| create) {
            let make = DirBuilder::new().recursive(true).mode(0o755).create(folder);
            make.map_err(failed)?;
        }
        // No link is followed: root writes here.
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .mode(0o600)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if !create && is_out_of_sight(&error) => return Ok(Taken::Absent),
            Err(error) => return Err(failed(error)),
        };
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(Taken::Ours(Self { file, path })),
            Err((_, Errno::EWOULDBLOCK)) => Ok(Taken::Theirs),
            Err((_, error)) => Err(failed(error.into())),
        }
    }

    fn is_set(&self) -> Result<bool, Error> {
        let data = self.file.metadata();
        Ok(data.map_err(|source| self.failed("read", source))?.len() > 0)
    }

    fn set(&mut self) -> Result<(), Error> {
        let text = format!("{}\n", std::process::id());
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|source| self.failed("write", source))
    }

    fn clear(&mut self) -> Result<(), Error> {
        let cleared = self.file.set_len(0);
        cleared.map_err(|source| self.failed("write", source))
    }

    fn failed(&self, what: &'static str, source: io::Error) -> Error {
        let path = self.path.clone();
        Error::Mark { what, path, source }
    }
}

fn is_out_of_sight(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::PermissionDenied
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_machine::Root;
    use artis_testing::canned;
    use std::fs;
    use tempfile::TempDir;

    const TIMERS: &str = "/proc/sys/kernel/timer_migration";

    fn machine() -> (TempDir, Root) {
        canned(&[
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/devices/system/cpu/possible", "0-3\n"),
            ("proc/sys/kernel/timer_migration", "1\n"),
            ("proc/sys/kernel/random/boot_id", "boot\n"),
            (
                "proc/self/status",
                "Uid:\t0\t0\t0\t0\nCapEff:\tffffffffffffffff\n",
            ),
            ("proc/self/limits", ""),
        ])
    }

    fn migration(root: &Root) -> String {
        root.read(TIMERS).unwrap().unwrap()
    }

    fn request(root: &Root) -> Request {
        Request::new(root, &"3".parse().unwrap()).unwrap()
    }

    fn begin<'a>(host: &'a Host<'a>) -> (Lease<'a>, Partitioned) {
        let request = request(&host.root);
        Lease::begin(host, &request, &mut |_| {}).unwrap()
    }

    #[test]
    fn it_ends_with_the_lease() {
        let (_folder, root) = machine();
        let host = Host::at(root.clone());
        let (lease, made) = begin(&host);
        assert!(!made.was_there && !made.plan.changes.is_empty());
        assert_eq!(migration(&root), "0");
        // Nobody takes it away meanwhile, and there is one at a time.
        assert!(clean_up(&host).unwrap().is_none());
        let again = Lease::begin(&host, &request(&root), &mut |_| {});
        assert!(matches!(again, Err(Error::Busy)));
        let reverted = lease.end().unwrap().unwrap();
        wait_for_end(&host).unwrap();
        assert_eq!(reverted.restored.len(), made.plan.changes.len());
        assert_eq!(migration(&root), "1");
        assert!(clean_up(&host).unwrap().is_none());
        drop(begin(&host));
        assert_eq!(migration(&root), "1");
    }

    /// A killed process holds no lock and has dropped nothing.
    #[test]
    fn after_a_kill_the_next_call_reverts_it() {
        let (_folder, root) = machine();
        let host = Host::at(root.clone());
        let kill = || {
            apply::apply(&host, &request(&root), &mut |_| {}).unwrap();
            fs::write(root.path(MARK), "4711\n").unwrap();
        };
        kill();
        assert_eq!(migration(&root), "0");
        assert!(clean_up(&host).unwrap().is_some());
        assert_eq!(migration(&root), "1");
        // Or the next lease takes it over, and reverts it.
        kill();
        let (lease, made) = begin(&host);
        assert!(made.was_there);
        assert!(lease.end().unwrap().is_some());
        assert_eq!(migration(&root), "1");
    }

    #[test]
    fn a_partition_that_was_there_stays() {
        let (_folder, root) = machine();
        let host = Host::at(root.clone());
        apply::apply(&host, &request(&root), &mut |_| {}).unwrap();
        let (lease, made) = begin(&host);
        assert!(made.was_there);
        assert!(clean_up(&host).unwrap().is_none());
        assert!(lease.end().unwrap().is_none());
        assert!(clean_up(&host).unwrap().is_none());
        assert_eq!(migration(&root), "0");
    }
}
