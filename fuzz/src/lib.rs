// SPDX-License-Identifier: GPL-2.0-only
//! What every fuzz target does with its bytes.

use artis::decide::compare::figures::of_experiment;
use artis::explain::{Document, rtla};
use artis::report::explain::rtla::text as in_words;
use artis::report::explain::text;
use artis::result::experiment::Experiment;
use artis::result::file::parse_as;
use artis::result::import::{self, parse};
use std::path::Path;

/// Reads `content` in the named format.
pub fn import(format: &str, content: &[u8]) {
    read_as(Some(format), content);
}

/// Reads `content` in the format that it looks like, also within a log.
pub fn any(content: &[u8]) {
    read_as(None, content);
}

/// What was accepted must be written and read again: an importer that lets nonsense through is as
/// wrong as one that panics.
fn read_as(format: Option<&str>, content: &[u8]) {
    let path = Path::new("fuzzed");
    let Ok(document) = parse(path, content, format, None) else {
        return;
    };
    let text = serde_json::to_vec(&document).expect("a result can be written");
    let read = parse(path, &text, Some("artis"), None).expect("what was written can be read");
    assert_eq!(read.series.len(), document.series.len());
}

/// Reads `content` as an experiment, and its rows as configurations.
pub fn experiment(content: &[u8]) {
    if let Ok(experiment) = parse_as::<Experiment>(Path::new("fuzzed"), content) {
        let _ = of_experiment(&experiment);
    }
}

/// Reads `content` as rtla's analysis of late wakeups.
pub fn analysis(content: &[u8]) {
    if let Some(all) = import::analysis(content).and_then(|text| rtla::read(&text).ok()) {
        let _ = in_words(&all);
    }
}

/// Reads `content` as an explanation: what was accepted is cut into segments that sum to the whole.
pub fn explain(content: &[u8]) {
    let Ok(document) = Document::read(content) else {
        return;
    };
    for explained in &document.worst {
        let subject = &explained.recording.subject;
        let sum: u64 = explained.segments.iter().map(|one| one.ns()).sum();
        assert_eq!(sum, subject.end_ns - subject.due_ns);
    }
    let _ = text(&document);
}
