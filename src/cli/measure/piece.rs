// SPDX-License-Identifier: GPL-2.0-only
//! The piece of work that is timed: the options that choose it, the shortest time that it took
//! before any load, which all others are compared with, and when to doubt that time.

use crate::cli::duration;
use crate::cli::exit::UsageError;
use crate::cli::value;
use crate::measure::clock::now_ns;
use crate::measure::routine::{Routine, Work};
use crate::measure::thread::{PRIORITY, Policy};
use crate::result::{Distribution, Warning};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The options of every command that times a piece of work. A command with other defaults says
/// them with `mut_arg`.
#[derive(clap::Args)]
pub(super) struct Options {
    /// SCHED_FIFO priority of the threads, 1 to 99; 0 is the normal policy
    #[arg(short, long, value_name = "PRIO", default_value_t = PRIORITY)]
    #[arg(value_parser = value::number::whole(0..=99_u8))]
    priority: u8,
    /// Kind of work: integer or float (divisions), memory (loads), syscall
    #[arg(long, value_enum, default_value_t = Routine::Integer, hide_possible_values = true)]
    pub routine: Routine,
    /// Steps in a piece of work
    #[arg(long, value_name = "N", value_parser = value::number::whole(1..=u32::MAX))]
    count: Option<u32>,
    /// How long: seconds, or with a unit: 90s, 5m, 12h, 1d
    #[arg(short = 'D', long, value_name = "TIME", default_value = "10s", value_parser = duration::parse)]
    pub duration: Duration,
    /// How long the run without load is, which comes first
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse)]
    pub unloaded: Duration,
}

impl Options {
    pub(super) fn policy(&self) -> Policy {
        Policy::from_priority(self.priority)
    }

    /// How many steps a piece has: what the user asked for, or `default`.
    pub(super) fn count(&self, default: u32) -> anyhow::Result<u32> {
        count(self.routine, self.count, default)
    }

    /// What the result says of the options, beside those that are the command's `own`.
    pub(super) fn settings(&self, count: u32, own: (&str, Value)) -> BTreeMap<String, Value> {
        BTreeMap::from(
            [
                own,
                ("priority", json!(self.priority)),
                ("routine", json!(self.routine.name())),
                ("count", json!(count)),
                ("duration_s", json!(self.duration.as_secs_f64())),
                ("unloaded_s", json!(self.unloaded.as_secs_f64())),
            ]
            .map(|(key, value)| (key.to_owned(), value)),
        )
    }
}

/// A piece of work should be this many times longer than reading the clock.
const CLOCK_READS: f64 = 100.0;
/// Measured times below the shortest one without load: this part of it is the clock's grain.
const GRAIN: f64 = 0.001;

/// More memory for one piece of work is a slip of the finger, and locked memory hurts everybody.
const BYTES_MAX: u64 = 1 << 30;

fn count(routine: Routine, asked: Option<u32>, default: u32) -> anyhow::Result<u32> {
    let count = asked.unwrap_or(default);
    let bytes = Work::bytes(routine, count);
    if bytes > BYTES_MAX {
        return Err(UsageError(format!(
            "--count {count} of {} takes {} MiB of memory for each thread; {} MiB is the most",
            routine.steps(),
            bytes >> 20,
            BYTES_MAX >> 20
        ))
        .into());
    }
    Ok(count)
}

/// The shortest of these times.
pub(super) fn shortest_ns(times: &Distribution) -> u64 {
    times
        .moments()
        .map_or(0, |moments| moments.min.unsigned_abs())
}

/// What speaks against comparing times with `ideal_ns`: the shortest one in the unloaded run,
/// where `fastest_ns` is the shortest one in the measurement.
pub(super) fn doubts(ideal_ns: u64, fastest_ns: u64) -> Vec<Warning> {
    judge(ideal_ns, fastest_ns, clock_read_ns())
}

fn judge(ideal_ns: u64, fastest_ns: u64, clock_read_ns: f64) -> Vec<Warning> {
    let mut found = Vec::new();
    let ideal = ideal_ns as f64;
    if (fastest_ns as f64) < ideal * (1.0 - GRAIN) {
        found.push(Warning {
            id: "unloaded_run".to_owned(),
            seen: format!(
                "the work took {:.3} us at least in the run without load, and only {:.3} us once in \
                 the measurement",
                ideal / 1000.0,
                fastest_ns as f64 / 1000.0
            ),
            why: "the reference is not the shortest possible time, so the excess is told too small"
                .to_owned(),
            mend: Some("measure it for longer with --unloaded, on an idle machine".to_owned()),
        });
    }
    if ideal < clock_read_ns * CLOCK_READS {
        found.push(Warning {
            id: "short_work".to_owned(),
            seen: format!(
                "the work takes {:.3} us, and reading the clock {clock_read_ns:.0} ns",
                ideal / 1000.0
            ),
            why: "reading the clock is more than 1 % of each sample".to_owned(),
            mend: Some("give it more work with --count".to_owned()),
        });
    }
    found
}

/// What reading the clock costs here.
fn clock_read_ns() -> f64 {
    const READS: u32 = 1000;
    let began_ns = now_ns();
    let mut now = began_ns;
    for _ in 0..READS {
        now = now_ns();
    }
    (now - began_ns) as f64 / f64::from(READS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_that_was_beaten_and_work_too_short_are_told() {
        let ids = |ideal_ns, fastest_ns| {
            let found = judge(ideal_ns, fastest_ns, 30.0);
            found
                .into_iter()
                .map(|warning| warning.id)
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(1_000_000, 999_500), [""; 0]);
        assert_eq!(ids(1_000_000, 998_000), ["unloaded_run"]);
        assert_eq!(ids(2000, 2000), ["short_work"]);
        assert!(clock_read_ns() > 0.0);
    }

    #[test]
    fn a_piece_too_large_is_refused() {
        let error = count(Routine::Memory, Some(u32::MAX), 1).unwrap_err();
        assert!(error.is::<UsageError>());
        assert_eq!(count(Routine::Integer, None, 7).unwrap(), 7);
    }
}
