// SPDX-License-Identifier: GPL-2.0-only
//! `artis lab experiment`: runs what a file describes and prints its table.

use super::exit::UsageError;
use super::output::stdout;
use super::progress::Stderr;
use super::signals::stop_on_signals;
use super::value;
use crate::lab::experiment::plan::{self, Experiment};
use crate::lab::experiment::{rows, run};
use crate::lab::kernel::Kernels;
use crate::lab::progress::Progress;
use crate::report::experiment::table;
use crate::result::file::Target;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run an experiment in the deterministic engine, and print its table
#[derive(clap::Args)]
#[command(
    after_help = "Each sample is one guest, booted for it alone, and kept in the cache: the same command \
             goes on where it was interrupted, and gives the same figures again.\n\n\
             Example:\n  artis lab experiment lab/table1.toml --json table1.json"
)]
pub struct Args {
    /// Experiment file (lab/*.toml)
    file: PathBuf,
    /// Write the rows as JSON (artis.experiment/1) to FILE; - is standard output, without the table
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Forget this experiment's samples in the cache and start over
    #[arg(long)]
    fresh: bool,
    /// Guests side by side [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = value::number::whole(1..=256_u16))]
    jobs: Option<u16>,
    /// Release to use where the file means the newest kernel
    #[arg(long, value_name = "RELEASE")]
    kernel: Option<String>,
    /// Release to use where it means the newest PREEMPT_RT kernel
    #[arg(long, value_name = "RELEASE")]
    kernel_rt: Option<String>,
}

/// Runs it.
pub fn run(kernels: &Kernels, args: Args) -> anyhow::Result<ExitCode> {
    let experiment = Experiment::read(&args.file).map_err(|error| match error {
        plan::Error::Malformed { .. } => anyhow::Error::new(UsageError(error.to_string())),
        plan::Error::Unreadable { .. } => error.into(),
    })?;
    let to_stdout = args.json.as_deref() == Some(Path::new("-"));
    let target = args.json.as_deref().map(Target::open).transpose()?;
    let mut progress = Stderr::default();
    let mut named = BTreeMap::new();
    for (name, release) in [("newest", args.kernel), ("newest-rt", args.kernel_rt)] {
        if let Some(release) = release {
            named.insert(name.to_owned(), release);
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = run::Options {
        jobs: args.jobs.map_or(cores, usize::from),
        fresh: args.fresh,
        stop: stop_on_signals()?,
        kernels: named,
    };
    let measured = match run::run(&experiment, kernels, &options, &mut progress) {
        Err(error @ run::Error::Interrupted { signal, .. }) => {
            progress.note(&error.to_string());
            return Ok(ExitCode::from(
                u8::try_from(128 + signal).unwrap_or(u8::MAX),
            ));
        }
        other => other?,
    };
    let document = rows::document(&experiment, &measured);
    if let Some(target) = target {
        target.write_document(&document)?;
    }
    if !to_stdout {
        write!(stdout(), "{}", table(&experiment.title, &document))?;
    }
    Ok(ExitCode::SUCCESS)
}
