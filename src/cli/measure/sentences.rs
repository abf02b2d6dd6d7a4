// SPDX-License-Identifier: GPL-2.0-only
//! What is said of a latency measurement.

use crate::measure::latency::Outcome;
use crate::measure::latency::source::SourceKind;
use crate::measure::live::Live;
use crate::report::latency as report;

/// What the sign of life says.
pub fn progress(threads: &[Live]) -> String {
    let samples = threads.iter().map(Live::count).sum();
    let last_ns = threads.iter().map(Live::last_ns);
    report::progress(samples, Live::worst_ns(threads), last_ns)
}

/// A source that failed in the middle.
pub fn failure(outcome: &Outcome, source: SourceKind) -> Option<anyhow::Error> {
    let (thread, samples, errno) = outcome.failed()?;
    let sentence = report::failure(&source.to_string(), thread, samples, errno);
    Some(anyhow::Error::msg(sentence))
}
