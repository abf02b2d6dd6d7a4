// SPDX-License-Identifier: GPL-2.0-only
//! The piece of work that is timed: the options that choose it, and what they resolve to.

use crate::cli::duration;
use crate::cli::exit::UsageError;
use crate::cli::value;
use crate::measure::routine::{Routine, Work};
use crate::measure::thread::{PRIORITY, Policy};
use humantime::format_duration;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

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
    routine: Routine,
    /// Steps in a piece of work
    #[arg(long, value_name = "N", value_parser = value::number::whole(1..=u32::MAX))]
    count: Option<u32>,
    /// How long: seconds, or with a unit: 90s, 5m, 12h, 1d
    #[arg(short = 'D', long, value_name = "TIME", default_value = "10s", value_parser = duration::parse)]
    duration: Duration,
    /// How long the run without load is, which comes first
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse)]
    unloaded: Duration,
}

/// The piece of work, resolved.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    priority: u8,
    pub routine: Routine,
    pub count: u32,
    pub duration: Duration,
    pub unloaded: Duration,
}

impl Options {
    /// `default` gives the number of steps where the user asked for none.
    pub(super) fn resolve(&self, default: fn(Routine) -> u32) -> anyhow::Result<Piece> {
        let count = count(self.routine, self.count, default(self.routine))?;
        refuse_long(self.routine, count, self.duration)?;
        Ok(Piece {
            priority: self.priority,
            routine: self.routine,
            count,
            duration: self.duration,
            unloaded: self.unloaded,
        })
    }
}

impl Piece {
    pub(super) fn policy(&self) -> Policy {
        Policy::from_priority(self.priority)
    }

    pub(super) fn work(&self) -> Work {
        Work::new(self.routine, self.count)
    }

    /// The work in words: `1000000 integer divisions`.
    pub(super) fn in_words(&self) -> String {
        format!("{} {}", self.count, self.routine.steps())
    }

    /// What the result says of the options, and the command's `own`.
    pub(super) fn settings(&self, own: (&str, Value)) -> BTreeMap<String, Value> {
        BTreeMap::from(
            [
                own,
                ("priority", json!(self.priority)),
                ("routine", json!(self.routine.name())),
                ("count", json!(self.count)),
                ("duration_s", json!(self.duration.as_secs_f64())),
                ("unloaded_s", json!(self.unloaded.as_secs_f64())),
            ]
            .map(|(key, value)| (key.to_owned(), value)),
        )
    }
}

/// More memory for one piece of work is a typing error, and locked memory hurts everybody.
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

/// A piece that takes less is no mistake, whatever the duration.
const PIECE_MIN: Duration = Duration::from_millis(500);
/// Steps that are tried to say how long a piece takes.
const TRIED: u32 = 10_000;

/// Refuses a piece that takes longer than the measurement: that would not end in time.
fn refuse_long(routine: Routine, count: u32, duration: Duration) -> anyhow::Result<()> {
    let work = Work::new(routine, TRIED);
    let time = |_| {
        let begin = Instant::now();
        work.run();
        begin.elapsed()
    };
    // The shortest of some: losing the CPU only makes one longer.
    let shortest = (0..5).map(time).min().unwrap_or_default();
    let piece = shortest.mul_f64(f64::from(count) / f64::from(TRIED));
    if piece <= duration.max(PIECE_MIN) {
        return Ok(());
    }
    Err(UsageError(format!(
        "--count {count} of {} takes about {:.1} s, longer than the measurement, {}; choose less work \
         or a longer duration (-D)",
        routine.steps(),
        piece.as_secs_f64(),
        format_duration(duration)
    ))
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_longer_than_the_measurement_is_refused() {
        let second = Duration::from_secs(1);
        let error = refuse_long(Routine::Integer, u32::MAX, second).unwrap_err();
        assert!(
            error.is::<UsageError>() && error.to_string().contains("-D"),
            "{error}"
        );
        assert!(refuse_long(Routine::Integer, 1000, Duration::from_millis(1)).is_ok());
    }

    #[test]
    fn a_piece_too_large_is_refused() {
        let error = count(Routine::Memory, Some(u32::MAX), 1).unwrap_err();
        assert!(error.is::<UsageError>());
        assert_eq!(count(Routine::Integer, None, 7).unwrap(), 7);
    }
}
