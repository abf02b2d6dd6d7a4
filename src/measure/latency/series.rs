// SPDX-License-Identifier: GPL-2.0-only
//! A latency measurement as the series of a result.

use super::Outcome;
use artis_result::names::{DUE_TO_HANDLER, HANDLER_TO_TASK, LATENCY};
use artis_result::{Distribution, Kind, Series, Unit};

/// The series of each thread; `cpus` are those that the threads are bound to, in their order.
pub fn series(outcome: &Outcome, cpus: impl IntoIterator<Item = Option<u32>>) -> Vec<Series> {
    let mut all = Vec::new();
    for (thread, (measured, cpu)) in (0..).zip(outcome.threads.iter().zip(cpus)) {
        let samples = &measured.samples;
        let series = |name, distribution: &Distribution| Series {
            cpu,
            thread: Some(thread),
            ..Series::new(name, Kind::Latency, Unit::Nanoseconds, distribution.clone())
        };
        all.push(Series {
            max_at_s: samples.max_at_s,
            missed: Some(samples.missed),
            blocks: samples.maxima.blocks(),
            ..series(LATENCY, &samples.latency)
        });
        if let Some(parts) = &samples.split {
            all.push(series(DUE_TO_HANDLER, &parts.due_to_handler));
            all.push(series(HANDLER_TO_TASK, &parts.handler_to_task));
        }
    }
    all
}
