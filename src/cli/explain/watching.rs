// SPDX-License-Identifier: GPL-2.0-only
//! Watching, from the recorder that is loaded to the document.

use crate::explain::document::{Document, SCHEMA};
use crate::machine::Root;
use crate::recorder::Recorder;
use std::time::{Duration, Instant};

/// How often the recorder's marks are looked at: far less than a ring takes to be written over.
pub const LOOK: Duration = Duration::from_millis(20);
/// How often new threads and names are looked for.
pub const REFRESH: Duration = Duration::from_secs(1);

/// The document of what was watched since `began`.
pub fn document(
    recorder: &Recorder,
    watched: String,
    began: Instant,
    ended_early: Option<String>,
) -> Document {
    let kernel = Root::default().hint("/proc/sys/kernel/osrelease");
    Document {
        schema: SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: kernel.unwrap_or_default().trim().to_owned(),
        watched,
        seconds: began.elapsed().as_secs_f64(),
        ended_early,
        memory_bytes: recorder.memory_bytes(),
        events: recorder.events(),
        missed: recorder.missed(),
        absent: recorder.absent().to_vec(),
        threads: recorder.threads(),
        history: Default::default(),
        worst: Vec::new(),
        culprits: Vec::new(),
        advice: Vec::new(),
    }
    .explain(recorder.kept())
}
