// SPDX-License-Identifier: GPL-2.0-only
//! Dispatch queues: tasks in turn, or by virtual time.

use crate::sys;
use crate::task::Id;
use std::collections::BTreeMap;

/// A queue. What the scheduler reads of it is kept as the kernel keeps it.
pub struct Dsq {
    /// By virtual time, which may wrap around, and turn.
    tasks: BTreeMap<(i64, i64), Id>,
    turn: i64,
    pub seen: Box<sys::scx_dispatch_q>,
}

/// A task's place in a queue.
pub type Place = (i64, i64);

impl Dsq {
    pub fn new(id: u64) -> Self {
        let mut seen: Box<sys::scx_dispatch_q> = Box::default();
        seen.id = id;
        Self {
            tasks: BTreeMap::new(),
            turn: 0,
            seen,
        }
    }

    /// One more: by its virtual time, or first, or last.
    pub fn insert(&mut self, id: Id, vtime: Option<u64>, head: bool) -> Place {
        self.turn += 1;
        let turn = if head { -self.turn } else { self.turn };
        let place = (vtime.unwrap_or(0) as i64, turn);
        self.tasks.insert(place, id);
        place
    }

    pub fn remove(&mut self, place: Place) -> bool {
        self.tasks.remove(&place).is_some()
    }

    pub fn first(&self) -> Option<Id> {
        self.tasks.first_key_value().map(|(_, id)| *id)
    }

    /// The first behind a place.
    pub fn after(&self, place: Option<Place>) -> Option<(Place, Id)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = place.map_or(Unbounded, Excluded);
        let mut rest = self.tasks.range((from, Unbounded));
        rest.next().map(|(place, id)| (*place, *id))
    }

    pub fn iter(&self) -> impl Iterator<Item = Id> + '_ {
        self.tasks.values().copied()
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }
}
