// SPDX-License-Identifier: GPL-2.0-only
//! Makes a whole partition: plans it, reverts an earlier one that differs, leaves out what this
//! process may not change, and makes the rest under the journal of [`Owner::Partition`].

use super::change::Change;
use super::host::Host;
use super::journal::{self, Owner};
use super::plan::{Plan, Request};
use super::shield::losing;
use super::transaction::{self, Applied, Refused, Reverted, Transaction, in_force, planned_here};
use artis_machine::Unreadable;
use artis_machine::privilege::{Capability, Privilege};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "artis sched is running, and a shield keeps other tasks from sharing RT CPUs; leave out \
         --shield, or stop the scheduler with `artis sched stop`"
    )]
    ShieldWithScheduler,
    #[error("{}; choose other CPUs, leave out --shield, or add --force", .0)]
    Claimed(String),
    #[error("none of the planned changes can be made: {0}")]
    NothingPermitted(String),
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Changes(#[from] transaction::Error),
}

/// What the user should know before the changes are made.
#[derive(Debug)]
pub enum Notice<'a> {
    /// An earlier partition was put back.
    Earlier(&'a Reverted),
    /// What this process may not change, and what the plan warns of.
    Limits {
        missing: &'a [Refused],
        warnings: &'a [String],
    },
}

/// A partition that was made.
#[derive(Debug)]
pub struct Partitioned {
    /// The changes that were made, and what is left as it is.
    pub plan: Plan,
    /// What this process may not change, and why.
    pub missing: Vec<Refused>,
    /// What the kernel did not let be changed.
    pub refused: Vec<Refused>,
    /// It was in force before, and nothing was changed.
    pub was_there: bool,
}

/// Makes the partition. An earlier one, for other CPUs or not finished, is reverted first.
///
/// # Errors
/// When nothing may be changed, a journal cannot be kept or is not trusted, or a change failed; all
/// changes of this call are reverted then.
pub fn apply(
    host: &Host<'_>,
    request: &Request,
    notice: &mut dyn FnMut(Notice<'_>),
) -> Result<Partitioned, Error> {
    let transaction = Transaction::begin(host)?;
    let mut plan = needed(host, request)?;
    let in_force = in_force(host)?;
    if request.shield && in_force.iter().any(|one| one.owner == Owner::Sched) {
        return Err(Error::ShieldWithScheduler);
    }
    let ours = in_force.iter().find(|one| one.owner == Owner::Partition);
    let was_there =
        ours.is_some_and(|one| one.is_whole() && one.rt == request.rt) && plan.changes.is_empty();
    if !was_there {
        let losing: Vec<String> = losing(&host.root, request)?
            .iter()
            .map(|claim| format!("{claim}, and the shield would take it away"))
            .collect();
        if !losing.is_empty() {
            return Err(Error::Claimed(losing.join("; ")));
        }
        let reverted = transaction.revert(Owner::Partition)?.whole()?;
        if !reverted.is_empty() {
            notice(Notice::Earlier(&reverted));
            plan = needed(host, request)?;
        }
    }
    let (changes, missing) = permitted(host, std::mem::take(&mut plan.changes))?;
    notice(Notice::Limits {
        missing: &missing,
        warnings: &plan.warnings,
    });
    if let Some(first) = missing.first().filter(|_| changes.is_empty()) {
        return Err(Error::NothingPermitted(first.why.clone()));
    }
    let Applied { made, refused } = transaction.apply(Owner::Partition, &request.rt, changes)?;
    plan.changes = made;
    Ok(Partitioned {
        plan,
        missing,
        refused,
        was_there,
    })
}

/// The plan without what is right already and what other owners hold.
///
/// # Errors
/// When a journal is damaged or not trusted.
pub fn needed(host: &Host<'_>, request: &Request) -> Result<Plan, Error> {
    let mut plan = Plan::make(&host.root, request);
    let wanted = std::mem::take(&mut plan.changes);
    let (changes, left) = planned_here(host, Owner::Partition, wanted)?;
    plan.changes = changes;
    plan.left.extend(left);
    Ok(plan)
}

/// Sorts changes into those that this process may make and those that it may not.
///
/// # Errors
/// When the rights of this process cannot be read.
pub fn permitted(
    host: &Host<'_>,
    changes: Vec<Change>,
) -> Result<(Vec<Change>, Vec<Refused>), Unreadable> {
    let may_schedule = Privilege::of_self(&host.root)?.has(Capability::SysNice);
    let mut permitted = Vec::new();
    let mut missing = Vec::new();
    for change in changes {
        match host.obstacle(&change.target, may_schedule) {
            None => permitted.push(change),
            Some(why) => missing.push(Refused { change, why }),
        }
    }
    Ok((permitted, missing))
}
