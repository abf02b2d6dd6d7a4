// SPDX-License-Identifier: GPL-2.0-only
//! What a scenario says and its author hardly means: waits that nobody ends.

use crate::model::*;
use std::collections::BTreeSet;

/// Who gives and who takes, of each kind of object.
#[derive(Default)]
struct Uses {
    signalled: BTreeSet<usize>,
    waited: BTreeSet<usize>,
    posted: BTreeSet<usize>,
    acquired: BTreeSet<usize>,
    sent: BTreeSet<usize>,
    received: BTreeSet<usize>,
    raised: BTreeSet<usize>,
    forked: BTreeSet<usize>,
}

impl Uses {
    fn add(&mut self, op: &Op) {
        match op {
            Op::Wait { condition, .. } => drop(self.waited.insert(*condition)),
            Op::Signal(it) | Op::Broadcast(it) => drop(self.signalled.insert(*it)),
            Op::Post(it) => drop(self.posted.insert(*it)),
            Op::Acquire(it) => drop(self.acquired.insert(*it)),
            Op::Send { channel, .. } => drop(self.sent.insert(*channel)),
            Op::Receive { channel, .. } => drop(self.received.insert(*channel)),
            Op::Raise { task } => drop(self.raised.insert(*task)),
            Op::Fork { task } => drop(self.forked.insert(*task)),
            Op::Poll(sources) => {
                for source in sources {
                    if let Source::Channel { channel, .. } = source {
                        self.received.insert(*channel);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A sentence for each.
pub fn of(scenario: &Scenario) -> Vec<String> {
    let mut uses = Uses::default();
    for op in scenario.tasks.iter().flat_map(|task| task.program.ops()) {
        uses.add(op);
    }
    let objects = &scenario.objects;
    let mut doubts = Vec::new();
    for it in uses.waited.difference(&uses.signalled) {
        let name = &objects.conditions[*it];
        doubts.push(format!("{name} is waited for, and nobody signals it"));
    }
    for it in uses.acquired.difference(&uses.posted) {
        let semaphore = &objects.semaphores[*it];
        let (name, value) = (&semaphore.name, semaphore.value);
        doubts.push(format!(
            "semaphore {name} begins as {value} and is acquired, and nobody posts to it"
        ));
    }
    for it in uses.received.difference(&uses.sent) {
        let name = &objects.channels[*it].name;
        doubts.push(format!("channel {name} is read, and nobody sends to it"));
    }
    for it in uses.sent.difference(&uses.received) {
        let name = &objects.channels[*it].name;
        doubts.push(format!("channel {name} is written to, and nobody reads it"));
    }
    for (place, task) in scenario.tasks.iter().enumerate() {
        let waits = |op: &Op| match op {
            Op::AwaitSignal { .. } => true,
            Op::Poll(sources) => *sources == [Source::Signal],
            _ => false,
        };
        if task.program.ops().any(waits) && !uses.raised.contains(&place) {
            let name = &task.name;
            doubts.push(format!("task {name} waits for a signal that nobody sends"));
        }
        if task.count == 0 && !uses.forked.contains(&place) {
            doubts.push(format!("task {} never starts", task.name));
        }
    }
    let overfull = objects.barriers.iter().filter(|it| it.parties < 2);
    doubts.extend(overfull.map(|it| format!("barrier {} has one party only", it.name)));
    doubts
}
