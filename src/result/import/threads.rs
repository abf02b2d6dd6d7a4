// SPDX-License-Identifier: GPL-2.0-only
//! The latencies of numbered threads, which most formats hold, as series of a document; most call
//! them `latency`.

use super::tally::{Budget, Tally};
use crate::{Distribution, Document, Kind, Series, Unit};

/// Adds the latency of a thread as a series, and what is to be said of it as warnings.
///
/// # Errors
/// How the tally contradicts itself, with the thread's number.
pub fn add_tally(
    document: &mut Document,
    name: &str,
    thread: u32,
    cpu: Option<u32>,
    tally: &Tally,
    budget: &mut Budget,
) -> Result<(), String> {
    let values = tally
        .distribution(budget)
        .map_err(|reason| format!("thread {thread}: {reason}"))?;
    let named = format!("{name} of thread {thread}");
    document.audit.extend(tally.warnings(&named));
    add(document, name, thread, cpu, values);
    Ok(())
}

/// Adds the latency of a thread as a series.
pub fn add(
    document: &mut Document,
    name: &str,
    thread: u32,
    cpu: Option<u32>,
    values: Distribution,
) {
    document.series.push(Series {
        cpu,
        thread: Some(thread),
        ..Series::new(name, Kind::Latency, Unit::Nanoseconds, values)
    });
}
