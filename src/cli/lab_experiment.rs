// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab experiment`: runs what a file describes and prints its table.

use super::exit::UsageError;
use super::lab::{ended_by, system};
use super::output::{Outcome, stdout};
use super::progress::Stderr;
use super::signals::stop_on_signals;
use super::value;
use crate::lab::distribution::Distro;
use crate::lab::engine::Kind;
use crate::lab::experiment::plan::Experiment;
use crate::lab::experiment::{rows, run};
use crate::lab::progress::Progress;
use crate::report::experiment::{table, to_run};
use crate::report::experiment_brief;
use crate::result::file::Target;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run an experiment in the deterministic engine, and print its table
#[derive(clap::Args)]
#[command(
    after_help = "Each sample is one guest, booted for it alone, and kept in the cache. So after\n\
                  an interruption the same command continues where it was, and gives the same\n\
                  figures. The format of the file: docs/experiments.md.\n\n\
                  Examples:\n  artis lab experiment lab/table1.toml --json table1.json\n\
                  \u{20} artis lab experiment lab/others.toml --only stock,isolcpus,artis"
)]
pub struct Args {
    /// Experiment file (lab/*.toml)
    file: PathBuf,
    /// Write the rows as JSON (artis.experiment/1), too; - is standard output, without the table
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// One row for each configuration: what real time gains, and what everybody else pays
    #[arg(long)]
    brief: bool,
    /// Only say which guests are not in the cache, and about how long they take
    #[arg(long, conflicts_with_all = ["json", "brief", "fresh"])]
    list: bool,
    /// Only these configurations of the file; rows are compared with the first that is left
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Remove this experiment's samples from the cache and measure all of them again
    #[arg(long)]
    fresh: bool,
    /// Guests at the same time [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = value::number::whole(1..=256_u16))]
    jobs: Option<u16>,
    #[command(flatten)]
    releases: Releases,
}

/// Kernels in the place of those that an experiment means.
#[derive(clap::Args)]
pub(super) struct Releases {
    /// Release to use where the file means the newest kernel
    #[arg(long, value_name = "RELEASE")]
    kernel: Option<String>,
    /// Release to use where it means the newest PREEMPT_RT kernel
    #[arg(long, value_name = "RELEASE")]
    kernel_rt: Option<String>,
}

/// How guests of experiments are run: one at a time, those in the cache not again.
pub(super) fn options(releases: Releases) -> anyhow::Result<run::Options> {
    let named = [
        ("newest", releases.kernel),
        ("newest-rt", releases.kernel_rt),
    ];
    let named = named.into_iter();
    Ok(run::Options {
        engine: Kind::Bochs.engine(),
        system: system(run::PROGRAMS)?,
        system_of_artis: system(run::PROGRAMS_OF_ARTIS)?,
        jobs: 1,
        fresh: false,
        stop: stop_on_signals()?,
        kernels: named
            .filter_map(|(name, release)| Some((name.to_owned(), release?)))
            .collect(),
    })
}

/// The end of a command whose run failed: a signal is no error of artis.
pub(super) fn failed(error: run::Error, progress: &mut Stderr) -> anyhow::Result<ExitCode> {
    let (run::Error::Interrupted { signal, .. } | run::Error::InterruptedBuild { signal }) = error
    else {
        return Err(error.into());
    };
    progress.note(&error.to_string());
    Ok(ended_by(i32::try_from(signal)?))
}

/// Runs it.
pub fn run(kernels: &dyn Distro, args: Args) -> anyhow::Result<ExitCode> {
    let mut experiment = Experiment::read(&args.file)?;
    if !args.only.is_empty() {
        experiment.keep_only(&args.only).map_err(UsageError)?;
    }
    let target = args.json.as_deref().map(Target::open).transpose()?;
    let mut progress = Stderr::default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = run::Options {
        jobs: args.jobs.map_or(cores, usize::from),
        fresh: args.fresh,
        ..options(args.releases)?
    };
    if args.list {
        let missing = run::missing(&experiment, kernels, &options, &mut progress)?;
        let jobs = u32::try_from(options.jobs.clamp(1, missing.guests.len().max(1)))?;
        let (all, time) = (missing.all, missing.host / jobs);
        stdout().text(&to_run(&experiment.name, all, &missing.guests, time))?;
        return Ok(ExitCode::SUCCESS);
    }
    let measured = match run::run(&experiment, kernels, &options, &mut progress) {
        Err(error) => return failed(error, &mut progress),
        Ok(measured) => measured,
    };
    let document = rows::document(&experiment, &measured);
    let layout = if args.brief {
        experiment_brief::table
    } else {
        table
    };
    Outcome {
        text: &layout(&experiment.title, &document),
        document: &document,
        json: target,
        files: Vec::new(),
        failures: Vec::new(),
    }
    .publish()?;
    Ok(ExitCode::SUCCESS)
}
