// SPDX-License-Identifier: GPL-2.0-only
//! What is in force of the changes in the journals.

use crate::change::Change;
use crate::host::Host;
use crate::journal::{self, OWNERS, Owner, Store};
use artis_machine::CpuList;
use serde::Serialize;

/// The state of a change in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state", content = "now")]
pub enum State {
    InForce,
    /// Somebody else has changed it since, to this value.
    Changed(String),
    /// An interrupt may run only on the CPU where it was before: an artis died while it reverted
    /// the change, or somebody sent it there.
    Halfway(String),
    NotMade,
    Gone,
}

/// One change of the journal and its state.
#[derive(Debug, Serialize)]
pub struct Standing {
    #[serde(flatten)]
    pub change: Change,
    #[serde(flatten)]
    pub state: State,
}

/// The changes that one owner has in force.
#[derive(Debug, Serialize)]
pub struct InForce {
    pub owner: Owner,
    pub pid: u32,
    pub since: String,
    pub rt: CpuList,
    pub changes: Vec<Standing>,
}

impl InForce {
    /// Is every change still in force?
    pub fn is_whole(&self) -> bool {
        self.changes
            .iter()
            .all(|one| matches!(one.state, State::InForce | State::Gone))
    }
}

/// What is in force, by owner. Changes nothing.
///
/// # Errors
/// When a journal cannot be read or is not trusted.
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

pub(super) fn state(host: &Host<'_>, change: &Change) -> State {
    match host.get(&change.target) {
        Ok(None) => State::Gone,
        Ok(Some(now)) if now == change.new => State::InForce,
        // It shows a new value some seconds later.
        Ok(Some(now)) if now == change.old && change.target.is_slow() => State::InForce,
        Ok(Some(now)) if now == change.old => State::NotMade,
        Ok(Some(now)) if change.detour.as_ref().is_some_and(|one| one.through == now) => {
            State::Halfway(now)
        }
        Ok(Some(now)) => State::Changed(now),
        Err(error) => State::Changed(format!("unreadable: {error}")),
    }
}
