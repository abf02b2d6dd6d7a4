// SPDX-License-Identifier: GPL-2.0-only
//! How long tasks that are less urgent may hold up a busy window: by a section that lets nobody
//! else run, and by locks.
//!
//! Sources: L. Sha, R. Rajkumar, J. Lehoczky, "Priority inheritance protocols", 1990, theorems 6
//! and 12 (inheritance: each less urgent task once, each lock once; ceiling: one section alone);
//! T. Baker, "Stack-based scheduling of realtime processes", 1991, for ceilings under EDF, with
//! S. Baruah, "Resource sharing in EDF-scheduled systems", 2006, for the length of an interval.
//!
//! A task's urgency is a number, and the smaller one is more urgent: the priority turned round, or
//! the relative deadline. Locks are not nested: a nested one belongs to the outer one's time.

use crate::model::Protocol;

/// With more uses of locks on a CPU, each counts against every task.
const USERS_MAX: usize = 2000;

/// A task takes a lock, with that task's urgency.
#[derive(Clone, Copy, Debug)]
pub struct User {
    pub task: usize,
    pub urgency: u64,
    pub lock: usize,
    pub held_ns: u64,
}

/// All that may hold up tasks of one CPU.
#[derive(Clone, Debug, Default)]
pub struct Blocking {
    /// The platform's, which anybody may be in.
    section_ns: u64,
    /// Urgencies, ascending, with the longest section of that urgency or a lesser one.
    sections: Vec<(u64, u64)>,
    users: Vec<User>,
    /// For each lock the most urgent user.
    ceilings: Vec<u64>,
    protocols: Vec<Protocol>,
    /// A bound for every level, where there are too many users to look at each of them each time.
    rough: Option<u64>,
    /// What it costs that a task waits for a lock: to the holder, and back.
    switches_ns: u64,
}

impl Blocking {
    /// `sections`: urgency and longest section of each task.
    pub fn new(
        section_ns: u64,
        mut sections: Vec<(u64, u64)>,
        users: Vec<User>,
        protocols: &[Protocol],
        switches_ns: u64,
    ) -> Self {
        sections.sort_unstable();
        let mut longest = 0;
        for one in sections.iter_mut().rev() {
            longest = longest.max(one.1);
            one.1 = longest;
        }
        let mut ceilings = vec![u64::MAX; protocols.len()];
        for user in &users {
            ceilings[user.lock] = ceilings[user.lock].min(user.urgency);
        }
        let is_rough = users.len() > USERS_MAX;
        let by_lock = longest_of_each(users.iter().map(|user| (user.lock, user.held_ns)));
        let each = by_lock.iter().map(|ns| ns.saturating_add(switches_ns));
        let all = each.fold(longest.max(section_ns), u64::saturating_add);
        Self {
            rough: is_rough.then_some(all),
            section_ns,
            sections,
            users,
            ceilings,
            protocols: protocols.to_vec(),
            switches_ns,
        }
    }

    /// How long less urgent tasks may hold up a window in which jobs of this urgency and more
    /// urgent ones run.
    pub fn at(&self, level: u64) -> u64 {
        if let Some(rough) = self.rough {
            return rough;
        }
        let after = self.sections.partition_point(|one| one.0 <= level);
        let section = self.sections.get(after).map_or(0, |one| one.1);
        let alone = section.max(self.section_ns);
        let relevant = |protocol: Protocol| {
            self.users.iter().filter(move |user| {
                user.urgency > level
                    && self.ceilings[user.lock] <= level
                    && self.protocols[user.lock] == protocol
            })
        };
        let ceiling = relevant(Protocol::Ceiling).map(|user| user.held_ns).max();
        let inherited = relevant(Protocol::Inheritance);
        let by_task = longest_of_each(inherited.clone().map(|user| (user.task, user.held_ns)));
        let by_lock = longest_of_each(inherited.map(|user| (user.lock, user.held_ns)));
        let sum = |all: &[u64]| {
            let each = all.iter().map(|ns| ns.saturating_add(self.switches_ns));
            each.fold(0, u64::saturating_add)
        };
        let inherited = sum(&by_task).min(sum(&by_lock));
        alone.max(ceiling.unwrap_or(0)).saturating_add(inherited)
    }

    /// A bound for every level.
    pub fn most(&self) -> u64 {
        let levels = self.sections.iter().map(|one| one.0);
        let locks = self.users.iter().map(|user| user.urgency);
        let below = self
            .sections
            .first()
            .map_or(0, |one| one.0.saturating_sub(1));
        let all = levels.chain(locks).chain([below]);
        match self.users.is_empty() {
            // Without locks it falls with the level.
            true => self.at(below),
            false => all.map(|level| self.at(level)).max().unwrap_or(0),
        }
    }

    /// Nobody holds up anybody.
    pub fn is_none(&self) -> bool {
        let longest = self.sections.first().map_or(0, |one| one.1);
        self.section_ns == 0 && longest == 0 && self.users.is_empty()
    }

    /// Urgencies at which [`at`](Self::at) may change, ascending.
    pub fn levels(&self) -> Vec<u64> {
        let mut levels: Vec<u64> = self.sections.iter().map(|one| one.0).collect();
        levels.extend(self.users.iter().map(|user| user.urgency));
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// A lock without a protocol that a more and a less urgent task share.
    pub fn unbounded(&self) -> Option<usize> {
        let shared = |user: &&User| {
            self.protocols[user.lock] == Protocol::None && self.ceilings[user.lock] != user.urgency
        };
        self.users.iter().find(shared).map(|user| user.lock)
    }
}

/// The longest time of each key.
fn longest_of_each(pairs: impl Iterator<Item = (usize, u64)>) -> Vec<u64> {
    let mut longest = std::collections::BTreeMap::new();
    for (key, ns) in pairs {
        let one = longest.entry(key).or_insert(0);
        *one = ns.max(*one);
    }
    longest.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(task: usize, lock: usize, held_ns: u64) -> User {
        User {
            task,
            urgency: task as u64,
            lock,
            held_ns,
        }
    }

    #[test]
    fn each_lower_task_and_each_lock_holds_up_once() {
        // Task 0 takes both locks, 1 none, 2 both, 3 the first.
        let users = vec![
            user(0, 0, 1),
            user(0, 1, 1),
            user(2, 0, 4),
            user(2, 1, 9),
            user(3, 0, 6),
        ];
        let of = |protocol| Blocking::new(2, vec![], users.clone(), &[protocol; 2], 0);
        let inheritance = of(Protocol::Inheritance);
        // By task 9 + 6, by lock 6 + 9, and the platform's section.
        assert_eq!(inheritance.at(0), 2 + 15);
        // Task 1 takes no lock, and is held up all the same.
        assert_eq!(inheritance.at(1), 2 + 15);
        assert_eq!(inheritance.at(2), 2 + 6);
        assert_eq!(inheritance.at(3), 2);
        let ceiling = of(Protocol::Ceiling);
        assert_eq!([0, 1, 2, 3].map(|level| ceiling.at(level)), [9, 9, 6, 2]);
        assert_eq!(of(Protocol::None).unbounded(), Some(0));
        assert_eq!(inheritance.unbounded(), None);
    }

    #[test]
    fn only_what_is_less_urgent_counts() {
        let sections = vec![(10, 3), (20, 7), (30, 5)];
        let blocking = Blocking::new(0, sections, vec![], &[], 0);
        assert_eq!(
            [5, 10, 20, 30].map(|level| blocking.at(level)),
            [7, 7, 5, 0]
        );
        assert_eq!(blocking.most(), 7);
        assert!(!blocking.is_none() && Blocking::default().is_none());
    }
}
