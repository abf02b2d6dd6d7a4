// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure throughput`: real, user and system time and context switches of a workload.

use super::common::Common;
use super::words::refuse_stray;
use crate::cli::exit::UsageError;
use crate::cli::value;
use crate::measure::program::in_words;
use crate::measure::throughput::permutation::Setting;
use crate::measure::throughput::series::series;
use crate::measure::throughput::workload::{BuiltIn, Workload};
use crate::measure::throughput::{self, Plan, Run};
use crate::report::throughput::{permutations_table, progress, runs_table};
use crate::task::syscall;
use anyhow::Context;
use artis_run::session::{Figures, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

/// Measure how long work takes: real, user and system time, context switches
#[derive(clap::Args)]
#[command(
    after_help = "A first run is made and not recorded: caches are warm afterwards. A run counts everything \
                  that its command waits for; what the command prints is discarded. It is a normal task on \
                  all CPUs unless --permutations says otherwise. Ctrl-C keeps the runs that are \
                  complete.\n\n\
                  Examples:\n  artis measure throughput --workload build --permutations\n  \
                  artis measure throughput --runs 10 -- make -C linux -j8"
)]
pub struct Args {
    /// Run a built-in workload instead of a command
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    #[arg(
        help = "Run a built-in workload instead of a command: build, hackbench-processes, \
                pingpong, compute"
    )]
    workload: Option<BuiltIn>,
    /// Recorded runs
    #[arg(long, value_name = "R", default_value_t = 5)]
    #[arg(value_parser = value::number::whole(1..=1_000_000_u32))]
    runs: u32,
    /// Measure ten settings: one CPU (1 or 2 instances) and all CPUs (1, 2 or 4), each as
    /// SCHED_NORMAL and as SCHED_FIFO
    #[arg(long)]
    permutations: bool,
    #[command(flatten)]
    common: Common,
    /// A command without `--` before it
    #[arg(hide = true)]
    stray: Vec<OsString>,
    /// Command to run, with its arguments
    #[arg(value_name = "CMD", last = true)]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let settings = args.settings();
    let plan = Plan {
        workload: args.resolve_workload()?,
        settings: resolve_settings(args.permutations)?,
        runs: args.runs,
    };
    let measurement = Session::begin(&args.common, settings)?.start()?;
    let stop = measurement.stop_flag();
    let voice = measurement.voice();
    // Begun when the runs have: their process is forked, and must not meet another thread.
    let mut sign = None;
    let outcome = throughput::measure(&plan, &stop, &mut |runs| {
        let sign = sign.get_or_insert_with(|| voice.sign(None));
        sign.done(done(&plan, runs));
        sign.show(|| progress(plan.settings.len() * plan.runs as usize, runs));
    });
    drop(sign);
    let outcome = outcome?;
    let finished = measurement.finish(Figures {
        series: series(&plan.settings, &outcome.runs),
        failure: outcome.failed.map(Into::into),
        ..Figures::default()
    });
    finished.publish(&match args.permutations {
        true => permutations_table(&plan.settings, &outcome.runs),
        false => runs_table(&outcome.runs[0]),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// How much of it is done, 0 to 1. Of each setting one run is not recorded.
fn done(plan: &Plan, runs: &[Vec<Run>]) -> f64 {
    let begun = runs.iter().filter(|of_setting| !of_setting.is_empty());
    let done: usize = begun.map(|of_setting| of_setting.len() + 1).sum();
    done as f64 / (runs.len() as f64 * (f64::from(plan.runs) + 1.0))
}

impl Args {
    /// What the result says of the options.
    fn settings(&self) -> BTreeMap<String, Value> {
        let workload = self.workload.map_or_else(
            || in_words(&self.command),
            |which| format!("{which:?}").to_lowercase(),
        );
        BTreeMap::from([
            ("workload".to_owned(), json!(workload)),
            ("runs".to_owned(), json!(self.runs)),
            ("permutations".to_owned(), json!(self.permutations)),
            ("unrecorded_runs".to_owned(), json!(1)),
        ])
    }

    /// What to run, found on this machine.
    fn resolve_workload(&self) -> anyhow::Result<Workload> {
        let start = format!("artis measure throughput --runs {}", self.runs);
        refuse_stray(&self.stray, &self.command, &start)?;
        match (self.workload, self.command.is_empty()) {
            (Some(which), true) => Ok(Workload::built_in(which)?),
            (None, false) => Ok(Workload::command(&self.command)?),
            (Some(_), false) => Err(UsageError(
                "--workload runs a built-in workload instead of a command; leave one of them out"
                    .to_owned(),
            )
            .into()),
            (None, true) => Err(UsageError(
                "nothing to run; name a command after `--`, or a built-in workload: --workload build"
                    .to_owned(),
            )
            .into()),
        }
    }
}

fn resolve_settings(permutations: bool) -> anyhow::Result<Vec<Setting>> {
    if !permutations {
        return Ok(vec![Setting::plain()]);
    }
    let allowed = syscall::affinity(0).context("cannot ask which CPUs may be used")?;
    let ten = Setting::ten(&allowed).ok_or_else(|| {
        UsageError(format!(
            "--permutations compares one CPU with all, and only CPU {allowed} may be used; leave \
             it out"
        ))
    })?;
    for setting in &ten {
        setting.check()?;
    }
    Ok(ten)
}
