// SPDX-License-Identifier: GPL-2.0-only
//! The document that `artis explain` writes, `artis.explain/1`.

use crate::advice::{Advice, advice};
use crate::cut::{Segment, cut};
use crate::recording::{self, Recording};
use crate::summary::{Row, summary};
use serde::{Deserialize, Serialize};

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
    /// Those that are here, and have a hole in their record.
    pub incomplete: u64,
}

/// One loss, recorded and cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    pub segments: Vec<Segment>,
    pub recording: Recording,
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
    #[error("number {number} of the worst: {reason}")]
    Recording {
        number: usize,
        reason: recording::Error,
    },
}

impl Document {
    /// Cuts the recordings, the worst first, and sums up.
    pub fn explain(mut self, mut recordings: Vec<Recording>) -> Self {
        recordings.sort_by_key(|one| std::cmp::Reverse(one.subject.lost_ns));
        self.missed.incomplete = recordings.iter().filter(|one| one.is_incomplete()).count() as u64;
        self.worst = recordings
            .into_iter()
            .map(|recording| Explained {
                segments: cut(&recording),
                recording,
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
        let worst = std::mem::take(&mut document.worst);
        let recordings: Vec<Recording> = worst.into_iter().map(|one| one.recording).collect();
        for (at, recording) in recordings.iter().enumerate() {
            recording.check().map_err(|reason| Error::Recording {
                number: at + 1,
                reason,
            })?;
        }
        Ok(document.explain(recordings))
    }
}
