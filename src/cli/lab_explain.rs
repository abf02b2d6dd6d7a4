// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab explain`: who made the worst samples of one guest of an experiment.

use super::exit::UsageError;
use super::explain::files::Files;
use super::lab::{ended_by, system};
use super::progress::Stderr;
use super::signals::stop_on_signals;
use super::value;
use crate::lab::debian::kernel::Kernels;
use crate::lab::engine::Kind;
use crate::lab::experiment::plan::{self, Experiment};
use crate::lab::experiment::run;
use crate::lab::explain::{Error, explain, guest};
use crate::lab::progress::Progress;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say who made the worst samples of one guest of an experiment
#[derive(clap::Args)]
#[command(
    after_help = "Runs the guest once more in the deterministic engine, which tells of the calls\n\
                  and interrupts of the RT CPU and does not disturb it. When the sample is not\n\
                  that of the plain run, it says so. What the lines mean: docs/explain.md.\n\n\
                  Example:\n  artis lab explain lab/smoke.toml --configuration artis --seed 1"
)]
pub struct Args {
    /// Experiment file (lab/*.toml)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// One of its configurations
    #[arg(long, value_name = "NAME")]
    configuration: String,
    /// One of its seeds
    #[arg(long, value_name = "N", value_parser = value::number::whole(0..=u64::MAX))]
    seed: u64,
    /// Explain so many
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value::number::whole(1..=100_u16))]
    worst: u16,
    /// Release to use where the file means the newest kernel
    #[arg(long, value_name = "RELEASE")]
    kernel: Option<String>,
    /// Release to use where it means the newest PREEMPT_RT kernel
    #[arg(long, value_name = "RELEASE")]
    kernel_rt: Option<String>,
    #[command(flatten)]
    files: Files,
}

/// Runs it.
pub fn run(kernels: &Kernels, args: Args) -> anyhow::Result<ExitCode> {
    let experiment = Experiment::read(&args.file).map_err(|error| match error {
        plan::Error::Malformed { .. } => anyhow::Error::new(UsageError(error.to_string())),
        plan::Error::Unreadable { .. } => error.into(),
    })?;
    let wanted = guest(&experiment, &args.configuration, args.seed)
        .map_err(|error| UsageError(error.to_string()))?;
    let files = args.files.open()?;
    let named = [("newest", args.kernel), ("newest-rt", args.kernel_rt)];
    let named = named
        .into_iter()
        .filter_map(|(name, release)| Some((name.to_owned(), release?)));
    let options = run::Options {
        engine: Kind::Bochs.engine(),
        system: system(run::PROGRAMS)?,
        jobs: 1,
        fresh: false,
        stop: stop_on_signals()?,
        kernels: BTreeMap::from_iter(named),
    };
    let mut progress = Stderr::default();
    let worst = usize::from(args.worst);
    let explained = match explain(
        &experiment,
        &wanted,
        worst,
        kernels,
        &options,
        &mut progress,
    ) {
        Err(Error::Run(
            error @ (run::Error::Interrupted { signal, .. }
            | run::Error::InterruptedBuild { signal }),
        )) => {
            progress.note(&error.to_string());
            return Ok(ended_by(i32::try_from(signal)?));
        }
        other => other?,
    };
    progress.note(if explained.is_same {
        "the sample is that of the plain run, to the last count"
    } else {
        "warning: the sample is NOT that of the plain run: what is explained is another run"
    });
    files.publish(&explained.document)?;
    Ok(ExitCode::SUCCESS)
}
