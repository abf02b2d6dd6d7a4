// SPDX-License-Identifier: GPL-2.0-only
//! What each reader of files does with any bytes: it never panics, and what it accepts makes sense.

use artis::admit::Set;
use artis::admit::model::Platform;
use artis::decide::compare::figures::of_experiment;
use artis::explain::{Document, rtla};
use artis::lab::experiment::plan::Experiment as Plan;
use artis::report::explain::rtla::text as in_words;
use artis::report::explain::text;
use artis::result::experiment::Experiment;
use artis::result::file::parse_as;
use artis::result::import;
use artis::sim::Costs;
use artis_field::hand_on::HandOn;
use artis_scenario::Format;
use std::path::Path;

type Reader = fn(&[u8]);

/// Those that are no importer of a result.
const OTHERS: &[(&str, Reader)] = &[
    ("log", |content| read_as(None, content)),
    ("experiment", experiment),
    ("rtla-analysis", analysis),
    ("explain", explain),
    ("scenario", |content| scenario(None, content)),
    ("scenario-lb-micro", |content| scenario(Some(Format::LbMicro), content)),
    ("scenario-rt-app", |content| scenario(Some(Format::RtApp), content)),
    ("scenario-toml", |content| scenario(Some(Format::Toml), content)),
    ("task-set", |content| in_text(content, |text| drop(Set::parse(text)))),
    ("platform", |content| in_text(content, |text| drop(Platform::parse(text)))),
    ("lab", |content| in_text(content, |text| drop(Plan::parse(text)))),
    ("costs", |content| in_text(content, |text| drop(Costs::parse(text)))),
    ("machine", |content| drop(HandOn::parse(path(), content))),
];

/// All of them.
pub fn names() -> Vec<&'static str> {
    let others = OTHERS.iter().map(|(name, _)| *name);
    import::names().into_iter().chain(others).collect()
}

/// What reads files of this name.
pub fn reader(name: &str) -> Option<Box<dyn Fn(&[u8]) + Send + Sync>> {
    if let Some((_, reader)) = OTHERS.iter().find(|(other, _)| *other == name) {
        return Some(Box::new(reader));
    }
    let format = import::names().into_iter().find(|format| *format == name)?;
    Some(Box::new(move |content| read_as(Some(format), content)))
}

fn path() -> &'static Path {
    Path::new("fuzzed")
}

fn in_text(content: &[u8], read: fn(&str)) {
    if let Ok(text) = std::str::from_utf8(content) {
        read(text);
    }
}

/// What was accepted must be written and read again: an importer that lets nonsense through is as
/// wrong as one that panics.
fn read_as(format: Option<&str>, content: &[u8]) {
    let Ok(document) = import::parse(path(), content, format, None) else {
        return;
    };
    let text = serde_json::to_vec(&document).expect("a result can be written");
    let read = import::parse(path(), &text, Some("artis"), None);
    let read = read.expect("what was written can be read");
    assert_eq!(read.series.len(), document.series.len());
}

/// Its rows are read as configurations, too.
fn experiment(content: &[u8]) {
    if let Ok(experiment) = parse_as::<Experiment>(path(), content) {
        let _ = of_experiment(&experiment);
    }
}

fn analysis(content: &[u8]) {
    if let Some(all) = import::analysis(content).and_then(|text| rtla::read(&text).ok()) {
        let _ = in_words(&all);
    }
}

/// What was accepted is cut into segments that sum to the whole.
fn explain(content: &[u8]) {
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

/// What was accepted is read again from its own words.
fn scenario(format: Option<Format>, content: &[u8]) {
    let Ok(given) = std::str::from_utf8(content) else {
        return;
    };
    if let Ok(reading) = artis_scenario::read(given, format, "fuzzed") {
        let _ = serde_json::to_string(&reading.scenario).expect("a scenario can be written");
    }
}
