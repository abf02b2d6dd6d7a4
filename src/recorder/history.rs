// SPDX-License-Identifier: GPL-2.0-only
//! What was copied out of the rings, each part once, however many losses point into it.
//!
//! It has no names yet: most copies make room for a worse loss before anybody reads them, and who
//! is watched pays for the time that naming takes.

use crate::convert::{Names, stack_number};
use crate::skeleton::types::recorder_event;
use artis_explain::recording::{Event, Hole, Recording, Subject};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Events of a block: as many as a word has bits.
pub(crate) const BLOCK: u64 = 64;
/// Blocks that are kept at most, of all CPUs.
pub(crate) const BLOCKS_MAX: usize = 8192;

/// What an event takes about, copied and with its names.
pub(crate) const EVENT_BYTES: usize =
    2 * size_of::<CopiedEvent>() + size_of::<Event>() + size_of::<Arc<Event>>();

/// An event, and the stack that was taken at it.
pub(crate) struct CopiedEvent {
    pub cpu: u32,
    pub event: recorder_event,
    /// Return addresses, the innermost first.
    pub stack: Box<[u64]>,
}

/// Neighbours in a ring; those that could not be read are not there.
pub(crate) struct Block(Box<[Option<CopiedEvent>]>);

impl Block {
    /// The event with this number.
    pub fn get(&self, number: u64) -> Option<&CopiedEvent> {
        self.0.get((number % BLOCK) as usize)?.as_ref()
    }
}

/// The blocks that some loss points into.
#[derive(Default)]
pub(crate) struct History(BTreeMap<(u32, u64), Weak<Block>>);

impl History {
    /// The block with this event. One that is not written to its end, or has lost an event, is
    /// copied again for the next loss.
    pub fn block(
        &mut self,
        cpu: u32,
        number: u64,
        read: impl Fn(u64) -> Option<recorder_event>,
        stack: impl Fn(u32, u64) -> Box<[u64]>,
    ) -> Arc<Block> {
        let at = (cpu, number / BLOCK);
        if let Some(block) = self.0.get(&at).and_then(Weak::upgrade) {
            return block;
        }
        let first = number - number % BLOCK;
        let copied = |number| {
            let event = read(number)?;
            Some(CopiedEvent {
                cpu,
                stack: stack(stack_number(&event), event.ns),
                event,
            })
        };
        let events: Box<[_]> = (first..first + BLOCK).map(copied).collect();
        let is_whole = events.iter().all(Option::is_some);
        let block = Arc::new(Block(events));
        if is_whole {
            self.0.insert(at, Arc::downgrade(&block));
        }
        block
    }

    /// Forgets blocks that no loss points into any more.
    pub fn tidy(&mut self) {
        self.0.retain(|_, block| block.strong_count() > 0);
    }
}

/// The parts of all rings that concern a loss.
pub(crate) struct Copied {
    pub subject: Subject,
    /// Blocks, CPU by CPU, and which of their events belong to it: a bit for each.
    pub blocks: Vec<(Arc<Block>, u64)>,
    pub holes: Vec<Hole>,
    /// System management interrupts since the copy before.
    pub smi: u64,
}

impl Copied {
    /// Adds an event of a block.
    pub fn add(&mut self, block: &Arc<Block>, number: u64) {
        let bit = 1 << (number % BLOCK);
        match self.blocks.last_mut() {
            Some((last, bits)) if Arc::ptr_eq(last, block) => *bits |= bit,
            _ => self.blocks.push((Arc::clone(block), bit)),
        }
    }
}

/// How many blocks these losses have, each counted once.
pub(crate) fn blocks_of(all: &[Copied]) -> usize {
    let blocks = all.iter().flat_map(|one| &one.blocks);
    let mut blocks: Vec<_> = blocks.map(|(block, _)| Arc::as_ptr(block)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.len()
}

/// The same with names, in the order of time. What several losses have in common they share.
pub(crate) fn recordings(
    all: &[Copied],
    names: &Names<'_>,
    virtual_machine: bool,
) -> Vec<Recording> {
    let mut named: BTreeMap<*const CopiedEvent, Vec<Arc<Event>>> = BTreeMap::new();
    let recording = |one: &Copied| {
        let copied = one.blocks.iter().flat_map(|(block, bits)| {
            let has = move |at: &usize| bits & 1 << at != 0;
            (0..block.0.len())
                .filter(has)
                .filter_map(|at| block.0[at].as_ref())
        });
        let mut events = Vec::new();
        for copied in copied {
            let known = named.entry(std::ptr::from_ref(copied));
            let known = known.or_insert_with(|| names.events(copied).map(Arc::new).collect());
            events.extend(known.iter().cloned());
        }
        events.sort_by_key(|event| event.ns);
        Recording {
            subject: one.subject.clone(),
            events: events.into(),
            holes: one.holes.clone(),
            smi: one.smi,
            virtual_machine,
        }
    };
    all.iter().map(recording).collect()
}
