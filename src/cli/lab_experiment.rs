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
use crate::lab::experiment::{missing, part, rows, run};
use crate::lab::progress::Progress;
use crate::report::experiment::{table, to_run};
use crate::report::experiment_brief;
use crate::result::file::Target;
use artis_run::shard::{self, Head, Shard};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run an experiment in the deterministic engine, and print its table
#[derive(clap::Args)]
#[command(
    after_help = "Each sample is one guest, booted for it alone, and kept in the cache. So after\n\
                  an interruption the same command continues where it was, and gives the same\n\
                  figures. --shard 2/4 measures the second quarter and prints its samples, a line\n\
                  each; --merge makes of the lines of all shards what one machine would have\n\
                  written. The format of the file: docs/experiments.md.\n\n\
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
    /// Measure part I of N, and print its samples as lines
    #[arg(long, value_name = "I/N", value_parser = shard::parse, conflicts_with_all = ["json", "brief"])]
    shard: Option<Shard>,
    /// Run nothing: take the samples that shards have printed
    #[arg(long, value_name = "PART", num_args = 1.., conflicts_with_all = ["shard", "list", "fresh"])]
    merge: Vec<PathBuf>,
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

/// Runs it, or its part, or puts parts together.
pub fn run(kernels: &dyn Distro, args: Args) -> anyhow::Result<ExitCode> {
    let mut experiment = Experiment::read(&args.file)?;
    if !args.only.is_empty() {
        experiment.keep_only(&args.only).map_err(UsageError)?;
    }
    let target = args.json.as_deref().map(Target::open).transpose()?;
    if !args.merge.is_empty() {
        let lines = shard::merge(&args.merge, "sample")?;
        let measured = part::measured(&experiment, &lines).map_err(UsageError)?;
        return publish(&experiment, &measured, args.brief, target);
    }
    let mut progress = Stderr::default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = run::Options {
        jobs: args.jobs.map_or(cores, usize::from),
        fresh: args.fresh,
        ..options(args.releases)?
    };
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let has = |place| shard.has(place);
    if args.list {
        let missing = missing::missing(&experiment, kernels, &options, &has, &mut progress)?;
        let jobs = u32::try_from(options.jobs.clamp(1, missing.guests.len().max(1)))?;
        let (all, time) = (missing.all, missing.host / jobs);
        stdout().text(&to_run(&experiment.name, all, &missing.guests, time))?;
        return Ok(ExitCode::SUCCESS);
    }
    let part = match run::run_part(&experiment, kernels, &options, &has, &mut progress) {
        Err(error) => return failed(error, &mut progress),
        Ok(part) => part,
    };
    if args.shard.is_some() {
        return print_part(&experiment, &part);
    }
    let measured: Vec<run::Measured> = part.measured.into_values().collect();
    publish(&experiment, &measured, args.brief, target)
}

/// The samples of a part, a line each.
fn print_part(experiment: &Experiment, part: &run::Part) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    for (place, measured) in &part.measured {
        let head = Head {
            number: *place,
            of: part.of,
            whole: part.whole.clone(),
        };
        writeln!(out, "{}", head.line(&part::line(experiment, measured)?))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The table, and the document.
fn publish(
    experiment: &Experiment,
    measured: &[run::Measured],
    is_brief: bool,
    json: Option<Target>,
) -> anyhow::Result<ExitCode> {
    let document = rows::document(experiment, measured);
    let layout = match is_brief {
        true => experiment_brief::table,
        false => table,
    };
    Outcome {
        text: &layout(&experiment.title, &document),
        document: &document,
        json,
        files: Vec::new(),
        failures: Vec::new(),
    }
    .publish()?;
    Ok(ExitCode::SUCCESS)
}
