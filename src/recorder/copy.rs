// SPDX-License-Identifier: GPL-2.0-only
//! What was copied out of the rings for one loss. It has no names yet: most copies make room for a
//! worse loss before anybody reads them, and who is watched pays for the time that naming takes.

use crate::convert::Names;
use crate::skeleton::types::recorder_event;
use artis_explain::recording::{Hole, Recording, Subject};

/// An event, and the stack that was taken at it.
pub(crate) struct CopiedEvent {
    pub cpu: u32,
    pub event: recorder_event,
    /// Return addresses, the innermost first.
    pub stack: Box<[u64]>,
}

/// The parts of all rings that concern a loss.
pub(crate) struct Copied {
    pub subject: Subject,
    /// CPU by CPU.
    pub events: Vec<CopiedEvent>,
    pub holes: Vec<Hole>,
    /// System management interrupts since the copy before.
    pub smi: u64,
}

impl Copied {
    /// The same with names, in the order of time.
    pub fn recording(&self, names: &Names<'_>, virtual_machine: bool) -> Recording {
        let named = self.events.iter().flat_map(|one| names.events(one));
        let mut events: Vec<_> = named.collect();
        events.sort_by_key(|event| event.ns);
        Recording {
            subject: self.subject.clone(),
            events,
            holes: self.holes.clone(),
            smi: self.smi,
            virtual_machine,
        }
    }
}
