// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab explain`: who made the worst samples of one guest of an experiment.

use super::exit::UsageError;
use super::explain::files::Files;
use super::lab_experiment::{Releases, failed, options};
use super::progress::Stderr;
use super::value;
use crate::lab::distribution::Distro;
use crate::lab::experiment::plan::Experiment;
use crate::lab::explain::{Error, Wanted, Which, explain};
use crate::lab::progress::Progress;
use crate::result::file::Target;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say who made the worst samples of one guest of an experiment
#[derive(clap::Args)]
#[command(
    after_help = "Runs the guest once more in the deterministic engine, which reports calls and\n\
                  interrupts of the RT CPU and does not disturb it. When the sample is not that of\n\
                  the plain run, it says so. What the lines mean: docs/explain.md.\n\n\
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
    /// How many CPUs the guest has, where the file has several; its first when absent
    #[arg(long, value_name = "N", value_parser = value::number::whole(1..=u32::MAX))]
    cpus: Option<u32>,
    /// The name of the guest's loads, where the file has several; its first when absent
    #[arg(long, value_name = "NAME")]
    loads: Option<String>,
    /// Explain RT0's longest activations, and not its worst wakeups
    #[arg(long)]
    activations: bool,
    /// How many to explain
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value::number::whole(1..=100_u16))]
    worst: u16,
    /// Write what the RT CPU called in each, in order, to FILE
    #[arg(long, value_name = "FILE")]
    calls: Option<PathBuf>,
    #[command(flatten)]
    releases: Releases,
    #[command(flatten)]
    files: Files,
}

/// Runs it.
pub fn run(kernels: &dyn Distro, args: Args) -> anyhow::Result<ExitCode> {
    let experiment = Experiment::read(&args.file)?;
    let wanted = Wanted {
        configuration: &args.configuration,
        seed: args.seed,
        cpus: args.cpus,
        loads: args.loads.as_deref(),
    };
    let wanted = wanted
        .of(&experiment)
        .map_err(|error| UsageError(error.to_string()))?;
    let files = args.files.open()?;
    let calls = args.calls.as_deref().map(Target::open).transpose()?;
    let options = options(args.releases)?;
    let mut progress = Stderr::default();
    let which = match args.activations {
        true => Which::Activations,
        false => Which::Wakeups,
    };
    let explained = match explain(
        &experiment,
        &wanted,
        (which, usize::from(args.worst)),
        kernels,
        &options,
        &mut progress,
    ) {
        Err(Error::Run(error)) => return failed(error, &mut progress),
        other => other?,
    };
    progress.note(if explained.is_same {
        "the sample is that of the plain run, to the last count"
    } else {
        "warning: the sample is NOT that of the plain run: what is explained is another run"
    });
    let written = calls.map_or(Ok(()), |target| {
        target.write_or_rescue(explained.calls.as_bytes())
    });
    files.publish(&explained.document)?;
    written?;
    Ok(ExitCode::SUCCESS)
}
