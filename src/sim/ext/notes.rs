// SPDX-License-Identifier: GPL-2.0-only
//! What the scheduler said of each task, in words, for who looks at a simulation step by step.

use crate::sim::Sim;
use crate::task::Id;

/// Something that the scheduler decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub at_ns: u64,
    /// The CPU that asked.
    pub cpu: u32,
    pub task: Id,
    pub what: String,
}

impl Sim<'_> {
    pub(super) fn note(&mut self, cpu: u32, id: Id, what: impl FnOnce() -> String) {
        let at_ns = self.now;
        let Some(notes) = self.ext.as_mut().and_then(|ext| ext.notes.as_mut()) else {
            return;
        };
        notes.push(Note {
            at_ns,
            cpu,
            task: id,
            what: what(),
        });
    }

    pub(super) fn note_place(&mut self, cpu: u32, id: Id, queue: u64, vtime: Option<u64>) {
        if self.ext().notes.is_none() {
            return;
        }
        let place = self.ext().tasks.at(id);
        let name = self.ext().scheduler.queue_name;
        let state = self.ext().scheduler.state_name;
        // SAFETY: the scheduler's names are constant strings, and the task stays where it is.
        let text = |text: *const std::ffi::c_char| unsafe {
            std::ffi::CStr::from_ptr(text)
                .to_string_lossy()
                .into_owned()
        };
        let name = name.map_or_else(String::new, |name| text(unsafe { name(queue) }));
        let state = state.map_or_else(String::new, |state| text(unsafe { state(place) }));
        let count = self.ext_queue(queue).map_or(0, |queue| queue.len());
        self.note(cpu, id, || {
            let by = vtime.map_or_else(String::new, |vtime| {
                format!(", by virtual deadline {:.3} ms", vtime as i64 as f64 / 1e6)
            });
            format!("is {state}: waits with {count} in the queue of {name}{by}")
        });
    }

    /// What was decided since the last time.
    pub fn take_notes(&mut self) -> Vec<Note> {
        let notes = self.ext.as_mut().and_then(|ext| ext.notes.as_mut());
        notes.map(std::mem::take).unwrap_or_default()
    }
}
