// SPDX-License-Identifier: GPL-2.0-only
//! `artis load`: named loads without a measurement of ours, for any command or for a time.

mod command;

use super::duration;
use super::measure::session::{Common, Session};
use super::output::{print_json, stdout};
use super::value;
use crate::load::preset::{Preset, Presets};
use crate::machine::CpuList;
use crate::result::LoadDone;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
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
    /// Say which loads there are
    #[command(after_help = "Example:\n  artis load list")]
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Run loads beside a command, for a time, or until Ctrl-C
#[derive(clap::Args)]
#[command(
    after_help = "The command is started when every load was seen at work. The loads end with the command, and
\
                  the command ends with the time (SIGTERM; exit status 124). Otherwise the exit status is
\
                  the command's own, and 1 when a load failed. What the loads did is printed on standard
\
                  output; with a command, on standard error. Their files are in TMPDIR, or in /var/tmp.

\
                  Example:
  artis load run hackbench io --cpus 0 -D 10m -- cyclictest -q -m -p 90"
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
    let common = Common {
        json: args.json,
        load: Some(presets.clone()),
        load_cpus: args.cpus,
    };
    let limit_s = args.duration.map(|limit| limit.as_secs_f64());
    let options = BTreeMap::from([("duration_s".to_owned(), json!(limit_s))]);
    let mut session = Session::begin(&common, options)?;
    session.start()?;
    let stop = session.stop_flag();
    if stop.load(Ordering::Relaxed) == 0 {
        eprintln!("artis: at work: {presets}");
    }
    let status = command::run(&args.command, args.duration, &stop);
    // Also when the command could not be started: the loads end first.
    let (document, table_wanted) = session.finish(|_| ())?;
    let table = table(&document.load);
    if !args.command.is_empty() {
        eprint!("{table}");
    } else if table_wanted {
        stdout().write_all(table.as_bytes())?;
    }
    status
}

fn table(loads: &[LoadDone]) -> String {
    let mut text = format!(
        "{:<11}{:<8}{:>16}  {:<10}{:>10}{:>16}{:>9}\n",
        "load", "CPUs", "work", "unit", "seconds", "work/second", "CPU s"
    );
    for load in loads {
        let cpus = load.cpus.as_deref().unwrap_or("all");
        let cpu_s = load
            .cpu_seconds
            .map_or_else(String::new, |cpu_s| format!("{cpu_s:.1}"));
        let _ = writeln!(
            text,
            "{:<11}{cpus:<8}{:>16.0}  {:<10}{:>10.1}{:>16.1}{cpu_s:>9}",
            load.name,
            load.work,
            load.unit,
            load.seconds,
            load.work / load.seconds
        );
    }
    text
}

fn list(json: bool) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    if json {
        let all: Vec<_> = Preset::ALL
            .iter()
            .map(|preset| json!({"name": preset.name(), "description": preset.description()}))
            .collect();
        print_json(&mut out, &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    for preset in Preset::ALL {
        writeln!(out, "{:<11}{}", preset.name(), preset.description())?;
    }
    writeln!(out, "{:<11}every one of these", "all")?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_work_and_rate() {
        let done = LoadDone {
            name: "io".to_owned(),
            cpus: Some("0-1".to_owned()),
            command: "stress-ng".to_owned(),
            work: 300.0,
            unit: "bogo-ops".to_owned(),
            seconds: 2.0,
            cpu_seconds: None,
        };
        let text = table(&[done]);
        let line = text.lines().nth(1).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["io", "0-1", "300", "bogo-ops", "2.0", "150.0"]);
    }
}
