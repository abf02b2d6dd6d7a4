// SPDX-License-Identifier: GPL-2.0-only
//! Makes and reverts changes as a whole, by one artis at a time.
//!
//! A setting that two owners changed gets its old value when the last of them reverts it. A value
//! that somebody else has set meanwhile is reported and stays.

mod standing;

use standing::state;
pub use standing::{InForce, Standing, State, in_force};

use super::change::{Change, Detour, Kind, Target};
use super::host::Host;
use super::journal::{self, Journal, Owner, Store};
use super::plan::Left;
use artis_machine::CpuList;
use nix::fcntl::Flock;
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant, SystemTime};

/// How long to wait, in total, for interrupts that move only when they next occur.
const DETOUR_PATIENCE: Duration = Duration::from_millis(200);
const DETOUR_LOOK: Duration = Duration::from_millis(5);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error("could not change {change}; every change before it was reverted")]
    Change {
        change: Box<Change>,
        source: io::Error,
    },
    #[error(
        "could not change {change}, and could not revert every change before it; artis partition \
         reset tries again"
    )]
    Stuck {
        change: Box<Change>,
        source: io::Error,
    },
    #[error("could not put back {} settings, the first one {first}", .count)]
    NotBack {
        count: usize,
        first: Box<Change>,
        #[source]
        why: io::Error,
    },
}

/// A change that the machine refused, and its reason.
#[derive(Debug, Serialize)]
pub struct Refused {
    #[serde(flatten)]
    pub change: Change,
    pub why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by the kernel: {}: {}", self.change, self.why)
    }
}

/// The changes that were made.
#[derive(Debug, Default, Serialize)]
pub struct Applied {
    pub made: Vec<Change>,
    /// The kernel refused these.
    pub refused: Vec<Refused>,
}

/// A setting whose value is not the one that artis left.
#[derive(Debug, Serialize)]
pub struct Foreign {
    #[serde(flatten)]
    pub change: Change,
    pub now: String,
}

/// Which changes were reverted, and which were not.
#[derive(Debug, Default, Serialize)]
pub struct Reverted {
    /// Last change first.
    pub restored: Vec<Change>,
    /// Somebody else has changed these since; they stay.
    pub foreign: Vec<Foreign>,
    /// Of the restored ones, those that were [`State::Halfway`].
    pub halfway: Vec<Foreign>,
    /// Another part of artis relies on these; they are reverted when it ends.
    pub shared: Vec<Change>,
    /// The thread has ended, the interrupt is freed.
    pub gone: Vec<Change>,
    pub failed: Vec<Refused>,
    /// The changes ended with the boot that they were made in.
    pub rebooted: bool,
}

impl Reverted {
    /// There was nothing to revert.
    pub fn is_empty(&self) -> bool {
        let parts = [
            self.restored.is_empty(),
            self.foreign.is_empty(),
            self.shared.is_empty(),
            self.gone.is_empty(),
            self.failed.is_empty(),
        ];
        !self.rebooted && parts.into_iter().all(|empty| empty)
    }

    /// Both, as one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.restored.extend(other.restored);
        self.foreign.extend(other.foreign);
        self.halfway.extend(other.halfway);
        self.shared.extend(other.shared);
        self.gone.extend(other.gone);
        self.failed.extend(other.failed);
        self.rebooted |= other.rebooted;
        self
    }

    /// An error unless everything was reverted that artis has to revert.
    ///
    /// # Errors
    /// [`Error::NotBack`].
    pub fn whole(self) -> Result<Self, Error> {
        match self.failed.first() {
            None => Ok(self),
            Some(first) => Err(Error::NotBack {
                count: self.failed.len(),
                first: Box::new(first.change.clone()),
                why: io::Error::other(first.why.clone()),
            }),
        }
    }
}

/// Which of the wanted changes are to be made, and which are left because another owner holds the
/// setting at another value. A setting that is right already needs no change, unless another
/// owner made it so: then both rely on it.
pub fn planned(wanted: Vec<Change>, others: &[Journal]) -> (Vec<Change>, Vec<Left>) {
    let mut changes = Vec::new();
    let mut left = Vec::new();
    for mut change in wanted {
        let held = others.iter().find_map(|journal| {
            let same = |one: &&Change| one.target == change.target;
            Some((journal, journal.changes.iter().find(same)?))
        });
        match held {
            Some((_, other)) if other.new == change.new => {
                change.old.clone_from(&other.old);
                changes.push(change);
            }
            Some((journal, other)) => left.push(Left {
                id: change.kind,
                what: change.what,
                why: format!(
                    "{} holds it at {}; end that first",
                    journal.owner.command(),
                    other.new
                ),
            }),
            None if change.old == change.new => {}
            None => changes.push(change),
        }
    }
    (changes, left)
}

/// As [`planned`], with the journals of the other owners. Without the right to read the journals,
/// as if there were none.
///
/// # Errors
/// When a journal is damaged or not trusted.
pub fn planned_here(
    host: &Host<'_>,
    owner: Owner,
    wanted: Vec<Change>,
) -> Result<(Vec<Change>, Vec<Left>), journal::Error> {
    match Store::of(host).of_others(owner) {
        Ok(others) => Ok(planned(wanted, &others)),
        Err(journal::Error::Journal { source, .. })
            if source.kind() == ErrorKind::PermissionDenied =>
        {
            Ok(planned(wanted, &[]))
        }
        Err(error) => Err(error),
    }
}

/// The right to change the machine, which only one artis has at a time.
pub struct Transaction<'a> {
    host: &'a Host<'a>,
    store: Store<'a>,
    _lock: Flock<File>,
}

impl<'a> Transaction<'a> {
    /// Waits until no other artis changes the machine.
    ///
    /// # Errors
    /// When the lock cannot be taken.
    pub fn begin(host: &'a Host<'a>) -> Result<Self, journal::Error> {
        let store = Store::of(host);
        let lock = store.lock()?;
        Ok(Self {
            host,
            store,
            _lock: lock,
        })
    }

    /// Writes changes into the journal that the caller makes and takes back later, at moments when
    /// nothing may be waited for. The owner must have nothing in force.
    ///
    /// # Errors
    /// When the journal could not be written.
    pub fn announce(
        &self,
        owner: Owner,
        rt: &CpuList,
        changes: Vec<Change>,
    ) -> Result<(), journal::Error> {
        self.store.keep(&Journal {
            owner,
            boot_id: self.store.boot_id(),
            pid: std::process::id(),
            since: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            rt: rt.clone(),
            changes,
        })
    }

    /// Makes the changes, in their order. The owner must have nothing in force.
    ///
    /// # Errors
    /// When the journal could not be written (nothing was changed then), or when a change failed
    /// that must not be refused (the changes before it are reverted then).
    pub fn apply(
        &self,
        owner: Owner,
        rt: &CpuList,
        changes: Vec<Change>,
    ) -> Result<Applied, Error> {
        let mut applied = Applied::default();
        if changes.is_empty() {
            return Ok(applied);
        }
        self.announce(owner, rt, changes.clone())?;
        // A whole that a refusal has ended.
        let mut given_up = None;
        for change in changes {
            if given_up == Some(change.kind) {
                continue;
            }
            match self.make(&change) {
                Ok(()) => applied.made.push(change),
                Err(error) if change.may_be_refused() && is_refusal(&error) => {
                    if change.is_part_of_a_whole() {
                        given_up = Some(change.kind);
                        self.give_up(change.kind, &mut applied.made);
                    }
                    let why = error.to_string();
                    applied.refused.push(Refused { change, why });
                }
                Err(source) => {
                    let change = Box::new(change);
                    return Err(match self.revert(owner).and_then(Reverted::whole) {
                        Ok(_) => Error::Change { change, source },
                        Err(_) => Error::Stuck { change, source },
                    });
                }
            }
        }
        Ok(applied)
    }

    /// Takes back what was made of a whole that cannot be completed. What does not go back now is
    /// in the journal, and goes back with everything else.
    fn give_up(&self, kind: Kind, made: &mut Vec<Change>) {
        for change in made.iter().rev().filter(|one| one.kind == kind) {
            let _ = self.host.set(&change.target, &change.old);
        }
        made.retain(|one| one.kind != kind);
    }

    /// Reverts what the owner changed, last change first, and removes its journal.
    ///
    /// What cannot be reverted is in [`Reverted::failed`]; the journal then stays, and a later
    /// call tries again.
    ///
    /// # Errors
    /// When the journal cannot be read, is not trusted, or cannot be removed.
    pub fn revert(&self, owner: Owner) -> Result<Reverted, Error> {
        let mut reverted = Reverted::default();
        // A journal that could not be finished in the first folder may be in both.
        while let Some(journal) = self.store.read(owner)? {
            if journal.boot_id == self.store.boot_id() {
                let others = self.store.of_others(owner)?;
                let halfway = self.take_detours(&journal, &others);
                for change in journal.changes.into_iter().rev() {
                    self.put_back(change, &others, &halfway, &mut reverted);
                }
            } else {
                reverted.rebooted = true;
            }
            if !reverted.failed.is_empty() {
                return Ok(reverted);
            }
            self.store.remove(owner)?;
        }
        Ok(reverted)
    }

    fn make(&self, change: &Change) -> io::Result<()> {
        self.host.set(&change.target, &change.new)?;
        if change.target.is_slow() {
            return Ok(());
        }
        match self.host.get(&change.target)? {
            Some(now) if now == change.new => Ok(()),
            Some(now) => {
                // A value that is neither old nor new would be taken for somebody else's.
                let _ = self.host.set(&change.target, &change.old);
                Err(io::Error::other(Unlike(now)))
            }
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Sends interrupts back to the CPU where they were, and waits until they are there. Returns
    /// which ones were sent.
    fn take_detours(&self, journal: &Journal, others: &[Journal]) -> Vec<Target> {
        let mut waiting: Vec<(&Target, &Detour)> = journal
            .changes
            .iter()
            .filter(|change| !is_wanted(&change.target, others))
            .filter(|change| state(self.host, change) == State::InForce)
            .filter_map(|change| Some((&change.target, change.detour.as_ref()?)))
            // A failure only means that the interrupt stays where it is now.
            .filter(|(target, detour)| self.host.set(target, &detour.through).is_ok())
            .collect();
        let sent = waiting
            .iter()
            .map(|(target, _)| (*target).clone())
            .collect();
        let began = Instant::now();
        loop {
            waiting.retain(|(_, detour)| {
                self.host.root.hint(&detour.shown).as_ref() != Some(&detour.through)
            });
            if waiting.is_empty() || began.elapsed() > DETOUR_PATIENCE {
                return sent;
            }
            std::thread::sleep(DETOUR_LOOK);
        }
    }

    fn put_back(
        &self,
        change: Change,
        others: &[Journal],
        halfway: &[Target],
        reverted: &mut Reverted,
    ) {
        if is_wanted(&change.target, others) {
            reverted.shared.push(change);
            return;
        }
        let state = match state(self.host, &change) {
            State::Halfway(_) if halfway.contains(&change.target) => State::InForce,
            state => state,
        };
        if let State::Halfway(now) = &state {
            reverted.halfway.push(Foreign {
                change: change.clone(),
                now: now.clone(),
            });
        }
        match state {
            State::Gone => reverted.gone.push(change),
            State::NotMade => {}
            State::Changed(now) => reverted.foreign.push(Foreign { change, now }),
            State::InForce | State::Halfway(_) => {
                match self.host.set(&change.target, &change.old) {
                    Ok(()) => reverted.restored.push(change),
                    Err(error) if is_gone(&error) => reverted.gone.push(change),
                    Err(error) => {
                        let why = error.to_string();
                        reverted.failed.push(Refused { change, why });
                    }
                }
            }
        }
    }
}

/// Does another owner rely on this setting?
fn is_wanted(target: &Target, others: &[Journal]) -> bool {
    others
        .iter()
        .flat_map(|journal| &journal.changes)
        .any(|other| other.target == *target)
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// The value that a setting has instead of the one that was written.
#[derive(Debug, thiserror::Error)]
#[error("the kernel accepted it without an error, and made it {0:?}")]
struct Unlike(String);

/// The errors with which a kernel, a security module or a container refuses a change.
fn is_refusal(error: &io::Error) -> bool {
    const REFUSALS: [i32; 9] = [
        libc::EACCES,
        libc::EBUSY,
        libc::EINVAL,
        libc::EIO,
        libc::ENODEV,
        libc::ENOSPC,
        libc::EOPNOTSUPP,
        libc::EPERM,
        libc::EROFS,
    ];
    let is_unlike = error.get_ref().is_some_and(|inner| inner.is::<Unlike>());
    let errno = error.raw_os_error();
    is_unlike || is_gone(error) || errno.is_some_and(|errno| REFUSALS.contains(&errno))
}

#[cfg(test)]
mod tests;
