// SPDX-License-Identifier: GPL-2.0-only
//! The options of `artis decide --measure`.

use crate::cli::output::stdout;
use crate::cli::value::{cpus, duration, number};
use crate::decide::job::Job;
use crate::report::field::{Configuration, Outline, plan};
use crate::result::file::Target;
use artis_run::ways::{Measured, Plan, Prepared, allowed};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub struct Candidates {
    /// Measure first what this machine can be without another kernel: stock, tuned, shield, artis
    #[arg(long)]
    measure: bool,
    /// How long each run is: seconds, or with a unit: 90s, 5m, 12h
    #[arg(
        short = 'D',
        long,
        value_name = "TIME",
        default_value = "1m",
        requires = "measure"
    )]
    #[arg(value_parser = duration::parse)]
    duration: Duration,
    /// How many runs of each, in turn, that nobody disturbed; from 2 on there are intervals
    #[arg(long, value_name = "N", default_value_t = 1, requires = "measure")]
    #[arg(value_parser = number::whole(1..=1000_u32))]
    runs: u32,
    /// The CPU that real-time tasks get [default: the last one]
    #[arg(long, value_name = "CPU", value_parser = cpus::one, requires = "measure")]
    rt: Option<u32>,
    /// Keep the runs in this folder; the same command goes on there, also on another kernel
    #[arg(long, value_name = "DIR", requires = "measure")]
    keep: Option<PathBuf>,
    /// Print what would be measured, changed and stopped, and do nothing
    #[arg(long, requires = "measure")]
    plan: bool,
    /// Also write a page with pictures, as artis report does
    #[arg(long, value_name = "FILE", requires = "measure")]
    page: Option<PathBuf>,
    /// Also write a file for others, with nothing personal in it; artis report joins such files
    #[arg(long, value_name = "FILE", requires = "measure")]
    hand_on: Option<PathBuf>,
}

/// Files that are written when it is measured, opened before.
pub struct Outputs {
    pub page: Option<Target>,
    pub hand_on: Option<Target>,
}

impl Candidates {
    /// Whether there is something to measure.
    pub fn are_wanted(&self) -> bool {
        self.measure
    }

    /// Whether only the plan is wanted.
    pub fn is_plan(&self) -> bool {
        self.plan
    }

    /// Opens what is written in the end: what cannot be is found out now.
    ///
    /// # Errors
    /// As [`Target::open`].
    pub fn outputs(&self) -> anyhow::Result<Outputs> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Target::open).transpose();
        Ok(Outputs {
            page: open(&self.page)?,
            hand_on: open(&self.hand_on)?,
        })
    }

    fn prepared(&self, job: &Job, inputs: &[&Path]) -> anyhow::Result<Prepared> {
        let plan = Plan {
            duration: self.duration,
            runs: self.runs,
            rt: self.rt,
            keep: self.keep.clone(),
        };
        plan.prepared(job, inputs)
    }

    fn outline(&self, prepared: &Prepared) -> String {
        let folder = self
            .keep
            .as_ref()
            .map(|folder| folder.display().to_string());
        plan(&Outline {
            rt: prepared.rt,
            load: &prepared.load,
            run: prepared.duration,
            time: prepared.time(),
            boot: &prepared.boot.to_string(),
            cpu_model: prepared.machine.cpu_model.as_deref(),
            folder: folder.as_deref(),
            configurations: prepared
                .wanted
                .iter()
                .map(|one| Configuration {
                    name: one.name,
                    how: &one.how,
                    changes: one.changes,
                    done: one.done,
                    left_out: one.left_out,
                    missing: one.missing.as_ref().copied().map_err(String::as_str),
                })
                .collect(),
            seen: &prepared.seen,
            interrupted: prepared.interrupted.as_deref(),
            damaged: &prepared.damaged,
        })
    }

    /// Prints what would be measured.
    ///
    /// # Errors
    /// As [`Plan::prepared`].
    pub fn print_plan(&self, job: &Job, inputs: &[&Path]) -> anyhow::Result<()> {
        let prepared = self.prepared(job, inputs)?;
        Ok(stdout().text(&self.outline(&prepared))?)
    }

    /// Measures, when it is asked for.
    ///
    /// # Errors
    /// As [`Plan::prepared`] and [`Prepared::measured`].
    pub fn measured(&self, job: &Job, inputs: &[&Path]) -> anyhow::Result<Option<Measured>> {
        if !self.measure {
            return Ok(None);
        }
        allowed()?;
        let prepared = self.prepared(job, inputs)?;
        say_text!("{}\n", self.outline(&prepared));
        prepared.measured(job).map(Some)
    }
}
