// SPDX-License-Identifier: GPL-2.0-only
//! When a measurement of something that is done over and over ends: the options that say it.

use crate::cli::duration;
use crate::cli::progress::Sign;
use crate::cli::value;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Without any option.
const DURATION: Duration = Duration::from_secs(10);

/// A command says with `mut_arg` what it is that `loops` counts.
#[derive(clap::Args)]
pub(super) struct Until {
    /// How long: seconds, or with a unit: 90s, 5m, 12h, 1d [default: 10s, without -l]
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// How often
    #[arg(short, long, value_name = "N", value_parser = value::number::whole(1..=u64::MAX))]
    loops: Option<u64>,
}

impl Until {
    /// The end, unless only a number was given.
    pub(super) fn duration(&self) -> Option<Duration> {
        self.duration.or(match self.loops {
            None => Some(DURATION),
            Some(_) => None,
        })
    }

    pub(super) fn loops(&self) -> Option<u64> {
        self.loops
    }

    /// Shows how much of what is counted is done: `count` by all of so many who do it.
    pub(super) fn show_part(&self, sign: &Sign, count: u64, doers: usize) {
        if let Some(loops) = self.loops {
            sign.done(count as f64 / (loops as f64 * doers as f64));
        }
    }

    /// What the result says of them.
    pub(super) fn settings(&self) -> BTreeMap<String, Value> {
        let seconds = self.duration().map(|duration| duration.as_secs_f64());
        let seconds = seconds.map(|seconds| ("duration_s".to_owned(), json!(seconds)));
        let loops = self.loops.map(|loops| ("loops".to_owned(), json!(loops)));
        seconds.into_iter().chain(loops).collect()
    }
}
