// SPDX-License-Identifier: GPL-2.0-only
//! `artis simulate`: a scenario on any machine, with any of the schedulers.

mod experiment;
mod interactive;
mod kept;
mod sweep;
mod work;

use super::exit::UsageError;
use super::output::{print_json, stdout};
use super::value::{duration, number};
use crate::machine::CpuList;
use crate::report::{simulation, timeline};
use crate::result::file::Target;
use crate::sim::{Outcome, Scheduler, Trace};
use artis_run::shard::{self, Shard};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use work::Work;

/// Runs of a picture or a trace at most: those after them are left out.
const RUNS_MAX: usize = 2_000_000;

/// Simulate a scenario: any machine, any of the schedulers, artis by its own program
#[derive(clap::Args)]
#[command(
    after_help = "FILE is a scenario: artis's TOML, rt-app's format, or that of the paper. Every \
                  choice of artis is made by its BPF program, compiled for this machine. The same \
                  seed gives the same bytes.\n\n\
                  Several --scheduler, --cpus or --seeds are a sweep: one line of JSON for each \
                  simulation, on all cores. --shard 2/4 does the second quarter of it; --merge puts \
                  the lines of shards in order again. With --keep it goes on after an \
                  interruption, also from a folder that several machines share.\n\n\
                  Example:\n  artis simulate mixed.toml --cpus 4 --rt 3 --scheduler artis"
)]
pub struct Args {
    /// A scenario, or with --merge the lines of shards
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Who schedules; default: artis where there are RT CPUs, else stock
    #[arg(long, value_enum)]
    scheduler: Vec<Name>,
    /// CPUs of the machine; default: the scenario's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    cpus: Vec<u32>,
    /// RT CPUs; default: the scenario's
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    rt: Option<CpuList>,
    /// What random arrivals depend on; default: the scenario's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// So many seeds, one after the other
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    seeds: u64,
    /// What things cost: lab, none, or a TOML file
    #[arg(long, value_name = "PROFILE", default_value = "lab")]
    costs: String,
    /// End there if the scenario does not before
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// Print JSON (artis.simulation/1)
    #[arg(long)]
    json: bool,
    /// Write a picture of who ran where
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a trace for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Print a result for artis compare and report (artis.experiment/1): a row for each scheduler
    #[arg(long, conflicts_with_all = ["shard", "merge", "interactive"])]
    experiment: bool,
    /// One event at a time, with what the scheduler decided and why
    #[arg(long, conflicts_with_all = ["json", "shard", "merge"])]
    interactive: bool,
    /// Do part I of N of a sweep
    #[arg(long, value_name = "I/N", value_parser = shard::parse)]
    shard: Option<Shard>,
    /// Put the lines of shards in order
    #[arg(long, conflicts_with = "shard")]
    merge: bool,
    /// Keep each finished simulation there, and do not simulate again what is there
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["interactive", "merge"])]
    keep: Option<PathBuf>,
    /// Simulations at the same time [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = number::whole(1..=1024_u16))]
    jobs: Option<u16>,
    /// What a process of a sweep does of it
    #[arg(long, hide = true, value_parser = shard::parse)]
    part: Option<Shard>,
}

/// The schedulers by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// The kernel's fair class, simplified
    Stock,
    /// The same, with RT CPUs for bound tasks alone
    Isolcpus,
    /// artis
    Artis,
}

impl From<Name> for Scheduler {
    fn from(name: Name) -> Self {
        match name {
            Name::Stock => Self::Stock,
            Name::Isolcpus => Self::Isolcpus,
            Name::Artis => Self::Artis,
        }
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.merge {
        return sweep::merge(&args.files);
    }
    let [path] = args.files.as_slice() else {
        let sentence = "give one scenario; --merge takes several files".to_owned();
        return Err(UsageError(sentence).into());
    };
    let scenario = super::scenario::read(path, None)?.scenario;
    let work = Work::new(args, &scenario)?;
    if args.experiment && args.part.is_none() {
        return experiment::run(&work);
    }
    if work.plan.len() > 1 || args.shard.is_some() || args.keep.is_some() {
        if args.svg.is_some() || args.perfetto.is_some() || args.interactive {
            let sentence = "pictures and single steps are of one simulation that is not kept; \
                            give one --scheduler, --cpus and seed";
            return Err(UsageError(sentence.to_owned()).into());
        }
        return sweep::run(&work);
    }
    if args.interactive {
        return interactive::run(work.begin(&work.plan[0])?);
    }
    let outcome = simulate(&work)?;
    let mut out = stdout();
    match args.json {
        true => print_json(&mut out, &outcome)?,
        false => out.text(&simulation::text(&outcome, super::width::of_stdout()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One simulation, and its pictures.
fn simulate(work: &Work<'_>) -> anyhow::Result<Outcome> {
    let args = work.args;
    let point = &work.plan[0];
    let mut sim = work.begin(point)?;
    let draws = args.svg.is_some() || args.perfetto.is_some();
    if draws {
        sim.trace(Trace::new(point.cpus, RUNS_MAX));
    }
    sim.run();
    let outcome = sim.outcome();
    let Some(trace) = sim.traced() else {
        return Ok(outcome);
    };
    if trace.is_full() {
        say!("artis: the first {RUNS_MAX} runs are drawn; draw a shorter time with --duration");
    }
    if let Some(path) = &args.svg {
        let picture = timeline::svg(&outcome, trace.runs());
        Target::open(path)?.write(picture.as_bytes())?;
    }
    if let Some(path) = &args.perfetto {
        Target::open(path)?.write(&timeline::perfetto(&outcome, trace.runs()))?;
    }
    Ok(outcome)
}

/// CPUs of the machine that is simulated, whatever this one has.
fn cpu_list(text: &str) -> Result<CpuList, String> {
    text.parse()
        .map_err(|error: crate::machine::cpulist::ParseError| error.to_string())
}
