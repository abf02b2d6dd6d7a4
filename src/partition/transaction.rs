// SPDX-License-Identifier: GPL-2.0-only
//! Changes made and taken back as a whole, by one artis at a time.
//!
//! A setting that two owners want goes back to what it was when the last of them lets go. What
//! somebody else has set meanwhile is theirs: it is reported and stays.

use super::change::{Change, Detour, Target};
use super::host::Host;
use super::journal::{self, Journal, OWNERS, Owner, Store};
use super::plan::Left;
use crate::machine::CpuList;
use nix::fcntl::Flock;
use serde::Serialize;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant, SystemTime};

/// How long interrupts that move when they next come are waited for, all together.
const DETOUR_PATIENCE: Duration = Duration::from_millis(200);
const DETOUR_LOOK: Duration = Duration::from_millis(5);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error("could not change {change}; everything before it is as it was again")]
    Change {
        change: Box<Change>,
        source: io::Error,
    },
    #[error(
        "could not change {change}, and not put back all that was changed before it; artis partition \
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

/// A change that the machine did not let be made, and its reason.
#[derive(Debug, Serialize)]
pub struct Refused {
    #[serde(flatten)]
    pub change: Change,
    pub why: String,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
pub struct Applied {
    pub made: Vec<Change>,
    /// By the kernel; the others are made.
    pub refused: Vec<Refused>,
}

/// A setting that stands otherwise than artis left it.
#[derive(Debug, Serialize)]
pub struct Foreign {
    #[serde(flatten)]
    pub change: Change,
    pub now: String,
}

/// What was put back, and what was not.
#[derive(Debug, Default, Serialize)]
pub struct Reverted {
    /// Last change first.
    pub restored: Vec<Change>,
    /// Somebody else has changed these since; they stay.
    pub foreign: Vec<Foreign>,
    /// Of the restored ones, those that were [`State::Halfway`].
    pub halfway: Vec<Foreign>,
    /// Another part of artis relies on these; they go back when it ends.
    pub shared: Vec<Change>,
    /// The thread has ended, the interrupt is freed.
    pub gone: Vec<Change>,
    pub failed: Vec<Refused>,
    /// The changes ended with the boot that they were made in.
    pub rebooted: bool,
}

impl Reverted {
    /// There was nothing to undo.
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

    /// An error unless all was put back that is artis's to put back.
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

/// How a journalled change stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state", content = "now")]
pub enum State {
    InForce,
    /// Somebody else has changed it since, to this.
    Changed(String),
    /// An interrupt is where it was before, and nowhere else may it go: an artis died putting it
    /// back, or somebody sent it there.
    Halfway(String),
    NotMade,
    Gone,
}

/// One journalled change and how it stands.
#[derive(Debug, Serialize)]
pub struct Standing {
    #[serde(flatten)]
    pub change: Change,
    #[serde(flatten)]
    pub state: State,
}

/// What one owner has in force.
#[derive(Debug, Serialize)]
pub struct InForce {
    pub owner: Owner,
    pub pid: u32,
    pub since: String,
    pub rt: CpuList,
    pub changes: Vec<Standing>,
}

impl InForce {
    /// Everything is as it was made.
    pub fn is_whole(&self) -> bool {
        self.changes
            .iter()
            .all(|one| matches!(one.state, State::InForce | State::Gone))
    }
}

/// What is in force, by owner. Changes nothing.
///
/// # Errors
/// When a journal cannot be read or is not believed.
pub fn in_force(host: &Host<'_>) -> Result<Vec<InForce>, journal::Error> {
    let store = Store::of(host);
    let boot_id = store.boot_id();
    let mut in_force = Vec::new();
    for owner in OWNERS {
        let Some(journal) = store.read(owner)?.filter(|one| one.boot_id == boot_id) else {
            continue;
        };
        let stand = |change: Change| Standing {
            state: state(host, &change),
            change,
        };
        in_force.push(InForce {
            owner,
            pid: journal.pid,
            since: journal.since,
            rt: journal.rt,
            changes: journal.changes.into_iter().map(stand).collect(),
        });
    }
    Ok(in_force)
}

fn state(host: &Host<'_>, change: &Change) -> State {
    match host.get(&change.target) {
        Ok(None) => State::Gone,
        Ok(Some(now)) if now == change.new => State::InForce,
        // It says so some seconds after it was told.
        Ok(Some(now)) if now == change.old && change.target.is_slow() => State::InForce,
        Ok(Some(now)) if now == change.old => State::NotMade,
        Ok(Some(now)) if change.detour.as_ref().is_some_and(|one| one.through == now) => {
            State::Halfway(now)
        }
        Ok(Some(now)) => State::Changed(now),
        Err(error) => State::Changed(format!("unreadable: {error}")),
    }
}

/// Sorts what is wanted into what is to be changed and what others hold otherwise. What is right
/// already is left out, unless another owner made it so: then both rely on it.
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

/// As [`planned`], among those who hold something now. Whoever may not read the journals is told
/// what is so without them.
///
/// # Errors
/// When a journal is damaged or not believed.
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

/// The right to change the machine, which one artis has at a time.
pub struct Transaction<'a> {
    host: &'a Host<'a>,
    store: Store<'a>,
    _lock: Flock<File>,
}

impl<'a> Transaction<'a> {
    /// Waits for the right.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn begin(host: &'a Host<'a>) -> Result<Self, journal::Error> {
        let store = Store::of(host);
        let lock = store.lock()?;
        Ok(Self {
            host,
            store,
            _lock: lock,
        })
    }

    /// Makes the changes, in their order. The owner must have nothing to undo.
    ///
    /// # Errors
    /// When the journal could not be kept (nothing was changed), or a change could not be made
    /// that the machine has no right to refuse (what had been changed is reverted).
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
        self.store.keep(&Journal {
            owner,
            boot_id: self.store.boot_id(),
            pid: std::process::id(),
            since: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            rt: rt.clone(),
            changes: changes.clone(),
        })?;
        for change in changes {
            match self.make(&change) {
                Ok(()) => applied.made.push(change),
                Err(error) if change.may_be_refused() && is_refusal(&error) => {
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

    /// Puts back what the owner changed, last change first, and removes its journal.
    ///
    /// What cannot be put back is told in [`Reverted::failed`]; the journal then stays, and a later
    /// call tries again.
    ///
    /// # Errors
    /// When the journal cannot be read, is not believed, or cannot be removed.
    pub fn revert(&self, owner: Owner) -> Result<Reverted, Error> {
        let mut reverted = Reverted::default();
        // One that could not be finished in its first place may stand in both.
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
                // Neither old nor new, it would be taken for somebody else's.
                let _ = self.host.set(&change.target, &change.old);
                Err(io::Error::other(format!(
                    "the kernel took it without an error, and made it {now:?}"
                )))
            }
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Sends interrupts back to where they were, and gives them the time to come there. Returns
    /// which ones.
    fn take_detours(&self, journal: &Journal, others: &[Journal]) -> Vec<Target> {
        let mut waiting: Vec<(&Target, &Detour)> = journal
            .changes
            .iter()
            .filter(|change| !is_wanted(&change.target, others))
            .filter(|change| state(self.host, change) == State::InForce)
            .filter_map(|change| Some((&change.target, change.detour.as_ref()?)))
            // Where they then stay is all that is at stake.
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

/// Does another owner rely on it?
fn is_wanted(target: &Target, others: &[Journal]) -> bool {
    others
        .iter()
        .flat_map(|journal| &journal.changes)
        .any(|other| other.target == *target)
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// The kernel's ways to say that this interrupt cannot be moved, or that thread not be changed.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [libc::EIO, libc::EINVAL, libc::ENOSPC, libc::EPERM];
    is_gone(error)
        || error
            .raw_os_error()
            .is_some_and(|errno| refusals.contains(&errno))
}

#[cfg(test)]
mod tests;
