// SPDX-License-Identifier: GPL-2.0-only
//! `artis load`: named loads beside any command, or for a time.

mod command;

use super::duration;
use super::measure::common;
use super::output::{print_json, stdout};
use super::value;
use crate::load::preset::{Preset, Presets};
use crate::machine::CpuList;
use crate::report::loads;
use artis_run::session::{Common, Figures, Session};
use artis_run::voice::Voice;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis load run compute,io --cpus 0 -D 1m -- ./test")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Run(Run),
    /// Print the loads and what each does
    #[command(after_help = "Example:\n  artis load list")]
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Run loads beside a command, for a time, or until Ctrl-C
///
/// The command starts when every load is at work. The loads end with the command, and the command
/// ends with the time (SIGTERM; exit status 124). Otherwise the exit status is the command's own,
/// and 1 when a load failed. What the loads did is printed on standard output; with a command, on
/// standard error. Their files are in TMPDIR, or in /var/tmp.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  artis load run hackbench io --cpus 0 -D 10m -- cyclictest -q -m -p 90"
)]
struct Run {
    /// Loads, such as compute,io or all
    #[arg(value_name = "NAME", required = true)]
    names: Vec<Presets>,
    /// CPUs that the loads run on [default: all]
    #[arg(long, value_name = "LIST", value_parser = value::cpus::list)]
    cpus: Option<CpuList>,
    /// How long at most: 90, 90s, 5m, 12h, 1d
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// Write the work done as a result file (artis.result/1) to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    voice: common::Voice,
    /// Command to run meanwhile, with its arguments
    #[arg(value_name = "CMD", last = true)]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Run(args) => run_loads(args),
        Command::List { json } => list(json),
    }
}

fn run_loads(args: Run) -> anyhow::Result<ExitCode> {
    let presets: Presets = args.names.iter().flat_map(Presets::iter).collect();
    let voice = Voice::from(args.voice);
    let common = Common {
        json: args.json,
        load: Some(presets.clone()),
        load_cpus: args.cpus,
        lava: None,
        voice,
    };
    let limit_s = args.duration.map(|limit| limit.as_secs_f64());
    let options = BTreeMap::from([("duration_s".to_owned(), json!(limit_s))]);
    let measurement = Session::beside(common, options)?.start()?;
    let stop = measurement.stop_flag();
    if stop.load(Ordering::Relaxed) == 0 {
        voice.say(&format!("at work: {presets}"));
    }
    let status = command::run(&args.command, args.duration, &stop, voice);
    // Also when the command could not be started: the loads end first.
    let finished = measurement.finish(Figures::default());
    let table = loads::table(&finished.document.load);
    if args.command.is_empty() {
        finished.publish(&table)?;
    } else {
        // Standard output is the command's.
        voice.aside(&table);
        finished.publish("")?;
    }
    status
}

fn list(json: bool) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    if json {
        let all: Vec<_> = Preset::all()
            .map(|preset| {
                json!({
                    "name": preset.name(),
                    "description": preset.description(),
                    "unit": preset.unit(),
                })
            })
            .collect();
        print_json(&mut out, &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let all: Vec<_> = Preset::all()
        .map(|preset| (preset.name(), preset.description()))
        .collect();
    out.text(&loads::list(&all))?;
    Ok(ExitCode::SUCCESS)
}
