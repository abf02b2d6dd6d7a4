// SPDX-License-Identifier: GPL-2.0-only
//! The flight recorder beside a measurement: it watches the measuring threads.

use crate::watching::document;
use artis_explain::Document;
use artis_measure::live::Live;
use artis_recorder::{Error, Recorder, Settings, Storage, Watched};
use std::collections::BTreeSet;
use std::time::Instant;

/// How many are explained.
const WORST: usize = 10;

/// A recorder, and the threads that it watches.
pub struct Explainer<'obj> {
    recorder: Recorder<'obj>,
    watched: BTreeSet<u32>,
    began: Instant,
}

impl<'obj> Explainer<'obj> {
    /// Loads the recorder; what is later than `until_us` ends its recording.
    pub fn load(storage: &'obj mut Storage, until_us: Option<u64>) -> Result<Self, Error> {
        let settings = Settings {
            worst: WORST,
            threshold_ns: 0,
            until_ns: until_us.map(|us| us.saturating_mul(1000)),
        };
        Ok(Self {
            recorder: Recorder::load(storage, settings)?,
            watched: BTreeSet::new(),
            began: Instant::now(),
        })
    }

    /// Watches the threads that have begun, and keeps what is worth it.
    pub fn look(&mut self, threads: &[Live]) {
        for thread in threads {
            let tid = u32::try_from(thread.tid().as_raw()).unwrap_or(0);
            if tid != 0 && !self.watched.contains(&tid) {
                // There is room for many more threads than can measure.
                let added = self.recorder.watch(&Watched::Thread(tid));
                if added.is_ok_and(|added| added > 0) {
                    self.watched.insert(tid);
                }
            }
        }
        self.recorder.poll();
    }

    /// Keeps what is worth it and was not looked at yet. To be called at once, before it is written
    /// over.
    pub fn finish(&mut self) {
        self.recorder.finish();
    }

    /// Who made the worst.
    pub fn explain(self) -> Document {
        let words = "the measuring threads".to_owned();
        document(&self.recorder, words, self.began, None)
    }
}
