// SPDX-License-Identifier: GPL-2.0-only
//! The options of `artis decide --measure`.

use crate::cli::value::{cpus, duration, number};
use crate::decide::job::Job;
use artis_run::ways::{Measured, Plan};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub struct Candidates {
    /// Measure first what this machine can be without another kernel: stock, tuned, shield, artis
    #[arg(long)]
    measure: bool,
    /// How long each is measured: seconds, or with a unit: 90s, 5m, 12h
    #[arg(
        short = 'D',
        long,
        value_name = "TIME",
        default_value = "1m",
        requires = "measure"
    )]
    #[arg(value_parser = duration::parse)]
    duration: Duration,
    /// How often each is measured, in turn; from 2 on its price has an interval
    #[arg(long, value_name = "N", default_value_t = 1, requires = "measure")]
    #[arg(value_parser = number::whole(1..=1000_u32))]
    runs: u32,
    /// The CPU that real-time tasks get [default: the last one]
    #[arg(long, value_name = "CPU", value_parser = cpus::one, requires = "measure")]
    rt: Option<u32>,
    /// Keep the results in this folder
    #[arg(long, value_name = "DIR", requires = "measure")]
    keep: Option<PathBuf>,
}

impl Candidates {
    /// Whether there is something to measure.
    pub fn are_wanted(&self) -> bool {
        self.measure
    }

    /// Measures, when it is asked for.
    ///
    /// # Errors
    /// As [`Plan::measured`].
    pub fn measured(&self, job: &Job, inputs: &[&Path]) -> anyhow::Result<Option<Measured>> {
        let plan = Plan {
            duration: self.duration,
            runs: self.runs,
            rt: self.rt,
            keep: self.keep.clone(),
        };
        let measured = self.measure.then(|| plan.measured(job, inputs));
        measured.transpose()
    }
}
