// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs a machine is judged for.

use artis_machine::CpuList;
use artis_machine::facts::Facts;
use serde::Serialize;
use std::fmt;

/// Where the choice of the CPUs for real-time tasks comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChosenBy {
    /// The user.
    Asked,
    /// The running artis scheduler: its RT CPUs.
    Scheduler,
    /// Boot arguments or cpuset partitions set them apart.
    Isolation,
    /// Nobody, so all that are online.
    Nobody,
}

impl fmt::Display for ChosenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "asked for",
            Self::Scheduler => "RT CPUs of artis sched",
            Self::Isolation => "isolated or nohz_full",
            Self::Nobody => "all; no CPU is set apart",
        })
    }
}

/// The CPUs that a machine is judged for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subject {
    pub cpus: CpuList,
    pub chosen_by: ChosenBy,
    /// The other online CPUs, which can do all other work.
    pub others: CpuList,
}

impl Subject {
    /// The CPUs that were asked for, else those of the running scheduler, else those that are
    /// set apart, else all.
    pub fn choose(facts: &Facts, asked: Option<CpuList>, scheduler: Option<CpuList>) -> Self {
        let online = facts.online();
        let apart = facts
            .cpus
            .get()
            .map(|cpus| &(&cpus.isolated | &cpus.nohz_full) & &online)
            .filter(|cpus| !cpus.is_empty());
        let chosen = asked
            .map(|cpus| (cpus, ChosenBy::Asked))
            .or_else(|| scheduler.map(|cpus| (cpus, ChosenBy::Scheduler)))
            .or_else(|| apart.map(|cpus| (cpus, ChosenBy::Isolation)));
        let (cpus, chosen_by) = chosen.unwrap_or_else(|| (online.clone(), ChosenBy::Nobody));
        Self {
            others: &online - &cpus,
            cpus,
            chosen_by,
        }
    }

    /// Whether something can be moved from these CPUs to others.
    pub fn is_apart(&self) -> bool {
        !self.others.is_empty()
    }

    /// Those of its CPUs that are in `cpus`; none when there are no such CPUs.
    pub(super) fn among(&self, cpus: &CpuList) -> Option<CpuList> {
        let common = &self.cpus & cpus;
        (!common.is_empty()).then_some(common)
    }

    /// The command that makes a partition for them, or, as it takes neither CPU 0 nor all CPUs, for
    /// those of them that it takes.
    pub(super) fn partition(&self) -> String {
        format!("`sudo artis partition apply --rt {}`", self.partitionable())
    }

    /// See [`Self::partition`].
    pub(super) fn partitionable(&self) -> CpuList {
        let boot = CpuList::from_iter([0]);
        let movable = &self.cpus - &boot;
        let last = || CpuList::from_iter(movable.last().or_else(|| self.others.last()));
        match movable.is_empty() || self.others.is_empty() {
            true if self.others.is_empty() && self.cpus.len() < 2 => self.cpus.clone(),
            true => last(),
            false => movable,
        }
    }
}
