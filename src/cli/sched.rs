// SPDX-License-Identifier: GPL-2.0-only
//! `artis sched`: load, look at and stop the scheduler.

use super::exit::{NOT_RUNNING, UsageError};
use super::output::{print_json, stdout};
use crate::machine::{CpuList, Root};
use crate::report::scheduler::{Counters, in_words};
use crate::sched::announce::{announce, announce_restored, announce_warnings};
use crate::sched::detector::Detector;
use crate::sched::runtime::Runtime;
use crate::sched::service::{self, Outcome};
use crate::sched::status::Status;
use crate::sched::{control, ending::Ending};
use crate::task::scheduler::SCHED_EXT;
use anyhow::Context;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis sched run --rt 1")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Run(RunArgs),
    Status(StatusArgs),
    Stop(StopArgs),
}

/// Schedule in the foreground until SIGINT, SIGTERM or `artis sched stop`
///
/// RT CPUs run RT0 tasks (SCHED_FIFO, SCHED_RR, SCHED_DEADLINE) at once, and everybody else
/// while in user mode. Says "ready" to systemd when NOTIFY_SOCKET is set.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis sched run --rt 2-3")]
struct RunArgs {
    /// RT CPUs, such as 1 or 2-3,6; the other online CPUs are NRT
    #[arg(long, value_name = "LIST")]
    rt: CpuList,
    /// How to notice that a task enters the kernel
    #[arg(long, value_enum, default_value_t = DetectorArg::Auto)]
    detector: DetectorArg,
    /// Take the RT CPUs offline and online before the start: timers and deferred work of others
    /// that once began there go elsewhere, as if the CPUs had been isolated at boot
    #[arg(long)]
    cycle: bool,
    /// At the end, print the last status and why it ended as JSON
    #[arg(long)]
    json: bool,
    /// Print warnings and errors only
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

/// Is the scheduler on, since when, with which CPUs, and what has it counted?
///
/// Ends with 3 when it is not on, as systemctl does.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis sched status --verbose")]
struct StatusArgs {
    /// Print JSON, with every counter
    #[arg(long)]
    json: bool,
    /// Show every counter, also those that are 0
    #[arg(short, long)]
    verbose: bool,
}

/// Stop the scheduler; the kernel's own takes over, and what artis changed is put back
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis sched stop")]
struct StopArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print warnings and errors only
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DetectorArg {
    /// What suits this machine: syscall
    Auto,
    /// The system call tracepoint: works everywhere, costs a little on every CPU
    Syscall,
    /// Context tracking: costs NRT CPUs nothing, needs nohz_full on the RT CPUs
    Entry,
}

impl DetectorArg {
    fn resolve(self) -> Detector {
        match self {
            // The entry detector needs nohz_full, which costs RT0 more at each wakeup than the
            // tracepoint costs the others. So only who asks for it gets it.
            Self::Auto | Self::Syscall => Detector::Syscall,
            Self::Entry => Detector::Entry,
        }
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Run(args) => schedule(&args),
        Command::Status(args) => status(&args),
        Command::Stop(args) => stop(&args),
    }
}

/// What `artis sched run --json` prints at the end.
#[derive(Serialize)]
struct Report<'a> {
    status: &'a Status,
    ending: &'a Ending,
    ending_in_words: String,
}

fn schedule(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let mut said = if args.quiet {
        announce_warnings
    } else {
        announce
    };
    let outcome = match service::run(&args.rt, args.detector.resolve(), args.cycle, &mut said) {
        Err(service::Error::Cpus(message)) => return Err(UsageError(message).into()),
        outcome => outcome?,
    };
    let Outcome { last, ending } = outcome;
    let mut stdout = stdout();
    if args.json {
        let report = Report {
            status: &last,
            ending: &ending,
            ending_in_words: ending.in_words(),
        };
        print_json(&mut stdout, &report)?;
    } else if let Some(details) = last.details.as_ref().filter(|_| !args.quiet) {
        write!(stdout, "{}", in_words(details, Counters::NotZero))?;
    }
    drop(stdout);
    if ending.was_asked_for() {
        Ok(ExitCode::SUCCESS)
    } else {
        anyhow::bail!("{}", ending.in_words())
    }
}

/// Puts back what a killed artis left, and says so.
fn clean_up() -> anyhow::Result<()> {
    let restored = service::clean_up().context("could not put back what an earlier artis left")?;
    if !restored.is_empty() {
        announce_restored(&restored);
    }
    Ok(())
}

fn status(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let status = match control::ask_status(&Runtime::default().socket())? {
        Some(status) => status,
        None => {
            clean_up()?;
            Status::off()
        }
    };
    let mut stdout = stdout();
    if args.json {
        print_json(&mut stdout, &status)?;
    } else {
        match &status.details {
            Some(details) => {
                let counters = match args.verbose {
                    true => Counters::All,
                    false => Counters::NotZero,
                };
                write!(stdout, "{}", in_words(details, counters))?;
            }
            None => writeln!(stdout, "artis is not scheduling; {}", next_step())?,
        }
    }
    Ok(match status.enabled {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(NOT_RUNNING),
    })
}

/// What to do where the scheduler is off.
fn next_step() -> &'static str {
    match Root::default().exists(SCHED_EXT) {
        true => "`artis sched run --rt LIST` starts it",
        false => "this kernel has no sched_ext for it",
    }
}

fn stop(args: &StopArgs) -> anyhow::Result<ExitCode> {
    let stopped = control::ask_stop(&Runtime::default().socket())?;
    if !stopped {
        clean_up()?;
    }
    let mut stdout = stdout();
    if args.json {
        print_json(&mut stdout, &serde_json::json!({ "stopped": stopped }))?;
    } else if args.quiet {
        // What was put back is a warning, and clean_up has printed it.
    } else if stopped {
        writeln!(
            stdout,
            "artis has stopped; the kernel's own scheduler has every task"
        )?;
    } else {
        writeln!(stdout, "artis was not scheduling")?;
    }
    Ok(ExitCode::SUCCESS)
}
