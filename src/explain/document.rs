// SPDX-License-Identifier: GPL-2.0-only
//! The document that `artis explain` writes, `artis.explain/1`.

use crate::advice::{Advice, advice};
use crate::cut::{Segment, cut};
use crate::recording::{self, Event, Events, Recording};
use crate::summary::{Row, summary};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the format.
pub const SCHEMA: &str = "artis.explain/1";

/// A thread that was watched, and what it lost in all; times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    pub tid: u32,
    pub name: String,
    /// It had ended before the watching did.
    pub ended: bool,
    pub wakeups: Counts,
    pub locks: Counts,
    pub activations: Counts,
}

/// How often a thread lost time in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub count: u64,
    pub ns_sum: u64,
    pub ns_max: u64,
}

/// What the recorder could not keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// Events that came while the same hook was at work; of system calls and page faults, those of
    /// watched threads.
    pub events: u64,
    /// Losses above the bar that could not be looked at before they were overwritten.
    pub losses: u64,
    /// Losses above the bar that were given up, because those that were worse needed the memory.
    #[serde(default)]
    pub without_room: u64,
    /// Wakeups that the kernel did not trace: how late they were is unknown.
    #[serde(default)]
    pub untraced: u64,
    /// Those that are here, and have a hole in their record.
    pub incomplete: u64,
}

/// One loss, recorded and cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    pub segments: Vec<Segment>,
    #[serde(serialize_with = "without_events")]
    pub recording: Recording,
    /// Which of the document's events it has: from one place to before another.
    #[serde(default)]
    pub events: Vec<(usize, usize)>,
}

/// The events stand in the document, once for all that have them.
fn without_events<S: Serializer>(recording: &Recording, serializer: S) -> Result<S::Ok, S::Error> {
    let rest = Recording {
        events: Events::default(),
        subject: recording.subject.clone(),
        holes: recording.holes.clone(),
        ..*recording
    };
    rest.serialize(serializer)
}

/// The whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub schema: String,
    /// The version of artis.
    pub tool: String,
    pub kernel: String,
    /// Who was watched, in words.
    pub watched: String,
    pub seconds: f64,
    /// Why it ended before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_early: Option<String>,
    /// What the recorder's memory is, bytes: the same from beginning to end.
    pub memory_bytes: u64,
    pub events: u64,
    pub missed: Missed,
    /// What this kernel does not show, a sentence each.
    pub absent: Vec<String>,
    pub threads: Vec<Thread>,
    /// What happened about the worst, in the order of time.
    #[serde(default)]
    pub history: Events,
    /// The worst first.
    pub worst: Vec<Explained>,
    pub culprits: Vec<Row>,
    pub advice: Vec<Advice>,
}

/// What is wrong with a document.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(
        "the schema is {0:?}, and {SCHEMA:?} is needed here; give the file to the command that \
         reads it, or take an artis that knows this schema"
    )]
    Schema(String),
    #[error("number {0} of the worst has events that are not there")]
    Events(usize),
    #[error("number {number} of the worst: {reason}")]
    Recording {
        number: usize,
        reason: recording::Error,
    },
}

/// The events of all of these, each once, in the order of time, and which of them each has. Events
/// that are the same one in memory are one.
fn share(recordings: &mut [Recording]) -> (Events, Vec<Vec<(usize, usize)>>) {
    let mut places: BTreeMap<*const Event, usize> = BTreeMap::new();
    let mut history: Vec<Arc<Event>> = Vec::new();
    for event in recordings.iter().flat_map(|one| &one.events) {
        places.entry(Arc::as_ptr(event)).or_insert_with(|| {
            history.push(Arc::clone(event));
            0
        });
    }
    history.sort_by_key(|event| event.ns);
    for (at, event) in history.iter().enumerate() {
        places.insert(Arc::as_ptr(event), at);
    }
    let parts = recordings.iter_mut().map(|one| {
        let mut own: Vec<usize> = one
            .events
            .iter()
            .map(|event| places[&Arc::as_ptr(event)])
            .collect();
        own.sort_unstable();
        own.dedup();
        let events: Vec<_> = own.iter().map(|at| Arc::clone(&history[*at])).collect();
        one.events = events.into();
        own.chunk_by(|one, next| one + 1 == *next)
            .map(|run| (run[0], run[0] + run.len()))
            .collect()
    });
    let parts = parts.collect();
    (history.into(), parts)
}

impl Document {
    /// Cuts the recordings, the worst first, and sums up.
    pub fn explain(mut self, mut recordings: Vec<Recording>) -> Self {
        recordings.sort_by_key(|one| std::cmp::Reverse(one.subject.lost_ns));
        self.missed.incomplete = recordings.iter().filter(|one| one.is_incomplete()).count() as u64;
        let (history, parts) = share(&mut recordings);
        self.history = history;
        let worst = recordings.into_iter().zip(parts);
        self.worst = worst
            .map(|(recording, events)| Explained {
                segments: cut(&recording),
                recording,
                events,
            })
            .collect();
        self.culprits = summary(self.worst.iter().map(|one| &one.segments[..]));
        self.advice = advice(&self.culprits);
        self
    }

    /// Reads a document. The segments are cut anew from the events, so what is read is consistent.
    ///
    /// # Errors
    /// When it is no such document, or one that no recorder writes.
    pub fn read(text: &[u8]) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }

        let head: Head = serde_json::from_slice(text)?;
        if head.schema != SCHEMA {
            return Err(Error::Schema(head.schema));
        }
        let mut document: Self = serde_json::from_slice(text)?;
        let history: Vec<Arc<Event>> = document.history.iter().cloned().collect();
        let mut recordings = Vec::new();
        for mut explained in std::mem::take(&mut document.worst) {
            if !explained.events.is_empty() {
                let parts = explained.events.iter();
                let parts = parts.map(|(from, to)| history.get(*from..*to));
                let parts: Option<Vec<_>> = parts.collect();
                let events = parts.ok_or(Error::Events(recordings.len() + 1))?.concat();
                explained.recording.events = events.into();
            }
            recordings.push(explained.recording);
        }
        for (at, recording) in recordings.iter().enumerate() {
            recording.check().map_err(|reason| Error::Recording {
                number: at + 1,
                reason,
            })?;
        }
        Ok(document.explain(recordings))
    }
}
