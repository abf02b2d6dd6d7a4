// SPDX-License-Identifier: GPL-2.0-only
//! `artis simulate`: a scenario on any machine, with any of the schedulers.

mod experiment;
mod interactive;
mod sweep;

use super::exit::UsageError;
use super::output::{print_json, stdout};
use super::value::duration;
use crate::machine::CpuList;
use crate::report::{simulation, timeline};
use crate::result::file::{self, Target};
use crate::sched::caches::Caches;
use crate::sim::layout::Part;
use crate::sim::{Costs, Layout, Outcome, Scheduler, Setup, Sim, Trace, costs};
use anyhow::Context;
use artis_scenario::Scenario;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Runs of a picture or a trace at most: those after them are left out.
const RUNS_MAX: usize = 2_000_000;

/// Simulate a scenario: any machine, any of the schedulers, artis by its own program
#[derive(clap::Args)]
#[command(
    after_help = "FILE is a scenario: artis's TOML, rt-app's format, or that of the paper. Every \
                  choice of artis is made by its BPF program, compiled for this machine. The same \
                  seed gives the same bytes.\n\n\
                  Several --scheduler, --cpus or --seeds are a sweep: one line of JSON for each \
                  simulation. --shard 2/4 does the second quarter of it; --merge puts the lines \
                  of shards in order again.\n\n\
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
    #[arg(long, value_name = "I/N", value_parser = sweep::shard)]
    shard: Option<sweep::Shard>,
    /// Put the lines of shards in order
    #[arg(long)]
    merge: bool,
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
    let plan = sweep::plan(args, &scenario)?;
    if args.experiment {
        let document = experiment::document(args, &scenario, &plan)?;
        print_json(&mut stdout(), &document)?;
        return Ok(ExitCode::SUCCESS);
    }
    if plan.len() > 1 || args.shard.is_some() {
        if args.svg.is_some() || args.perfetto.is_some() || args.interactive {
            let sentence = "pictures and single steps are of one simulation; give one \
                            --scheduler, --cpus and seed";
            return Err(UsageError(sentence.to_owned()).into());
        }
        return sweep::run(args, &scenario, &plan);
    }
    let setup = setup(args, &scenario, &plan[0])?;
    if args.interactive {
        return interactive::run(&scenario, setup);
    }
    let outcome = simulate(args, &scenario, setup)?;
    let mut out = stdout();
    match args.json {
        true => print_json(&mut out, &outcome)?,
        false => out.text(&simulation::text(&outcome, super::width::of_stdout()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The beginning of a simulation.
fn begin(scenario: &Scenario, setup: Setup) -> anyhow::Result<Sim<'_>> {
    Ok(Sim::new(scenario, setup).map_err(|error| UsageError(error.to_string()))?)
}

/// One simulation, and its pictures.
fn simulate(args: &Args, scenario: &Scenario, setup: Setup) -> anyhow::Result<Outcome> {
    let cpus = setup.layout.cpus;
    let mut sim = begin(scenario, setup)?;
    let draws = args.svg.is_some() || args.perfetto.is_some();
    if draws {
        sim.trace(Trace::new(cpus, RUNS_MAX));
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

/// One simulation of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Point {
    scheduler: Scheduler,
    cpus: u32,
    seed: u64,
}

/// The machine, the costs and the end.
fn setup(args: &Args, scenario: &Scenario, part: &Point) -> anyhow::Result<Setup> {
    let machine = &scenario.machine;
    let rt = args.rt.clone().unwrap_or_else(|| machine.rt_cpus.clone());
    let (per_cache, per_node) = (machine.cpus_per_cache, machine.cpus_per_node);
    let layout = Layout::new(part.cpus, rt, per_cache, per_node);
    let mut layout = layout.map_err(|error| UsageError(error.to_string()))?;
    let all: CpuList = (0..layout.cpus).collect();
    let caches = Caches::read(&layout.topology(), &all);
    let parts = caches.cpus().iter().enumerate();
    layout.parts = parts
        .map(|(number, cpus)| Part {
            cpus: cpus.clone(),
            near: caches.near(number),
        })
        .collect();
    let text = match args.costs.as_str() {
        "lab" => costs::LAB.to_owned(),
        "none" => costs::NONE.to_owned(),
        path => {
            let text = file::read_text(Path::new(path))?;
            String::from_utf8(text).with_context(|| format!("{path} is no text"))?
        }
    };
    let costs = Costs::parse(&text).map_err(|error| UsageError(error.to_string()))?;
    let most = args.duration.map(|it| it.as_nanos() as u64);
    let end_ns = match (most, scenario.end.duration_ns) {
        (None, None) if !scenario.ends() => {
            let sentence = "the scenario has no end; give --duration 10s".to_owned();
            return Err(UsageError(sentence).into());
        }
        (a, b) => a.unwrap_or(u64::MAX).min(b.unwrap_or(u64::MAX)),
    };
    Ok(Setup {
        layout,
        costs,
        scheduler: part.scheduler,
        seed: part.seed,
        end_ns,
    })
}

/// CPUs of the machine that is simulated, whatever this one has.
fn cpu_list(text: &str) -> Result<CpuList, String> {
    text.parse()
        .map_err(|error: crate::machine::cpulist::ParseError| error.to_string())
}
