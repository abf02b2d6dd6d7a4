// SPDX-License-Identifier: GPL-2.0-only
//! `artis sched`: load, look at and stop the scheduler.

mod run;
mod settings;
mod voice;

use super::exit::NOT_RUNNING;
use super::output::{print_json, stdout};
use super::progress::Sign;
use super::width;
use crate::machine::Root;
use crate::partition::host::Host;
use crate::report::partition::reverted as reverted_in_words;
use crate::report::scheduler::{self, Counters, restored as restored_in_words};
use crate::sched::COUNTERS;
use crate::sched::control::{self, Stopped};
use crate::sched::runtime::Runtime;
use crate::sched::service;
use crate::sched::status::{Details, Status};
use crate::service::partition;
use crate::task::scheduler::SCHED_EXT;
use anyhow::Context;
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
    Run(run::Args),
    Status(StatusArgs),
    Stop(StopArgs),
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

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Run(args) => run::run(&args),
        Command::Status(args) => status(&args),
        Command::Stop(args) => stop(&args),
    }
}

/// Puts back what a killed artis left, and says so.
fn clean_up() -> anyhow::Result<()> {
    let restored = service::clean_up().context("could not put back what an earlier artis left")?;
    if !restored.is_empty() {
        say!("artis: {}", restored_in_words(&restored));
    }
    clean_up_partition(&Host::default())
}

/// Ends the partition of a scheduler that was killed, and says so.
fn clean_up_partition(host: &Host<'_>) -> anyhow::Result<()> {
    if let Some(reverted) = partition::clean_up(host)? {
        let whose = "the partition of an artis that was killed";
        let text = reverted_in_words(&reverted, whose, width::of_stderr());
        say_text!("artis: {text}");
    }
    Ok(())
}

/// The status as text.
fn in_words(details: &Details, counters: Counters) -> String {
    let value = |name: &str| details.counters.get(name).copied().unwrap_or(0);
    let times = details.rt_cpu_times.iter();
    let times = times.map(|times| scheduler::CpuTimes {
        cpu: times.cpu,
        known_ns: [
            times.linux_ns,
            times.rt1_ns,
            times.kthread_ns,
            times.offline_ns,
        ],
        idle_ns: times.idle_ns,
        rt0_and_interrupts_ns: times.rt0_and_interrupts_ns,
    });
    let status = scheduler::Status {
        pid: details.pid,
        since: &details.since,
        uptime_s: details.uptime_s,
        kernel: &details.kernel,
        rt_cpus: &details.rt_cpus,
        nrt_cpus: &details.nrt_cpus,
        rt_cpus_offline: &details.rt_cpus_offline,
        detector: details.detector.to_string(),
        blind_spots: &details.detector_blind_spots,
        counters: COUNTERS
            .iter()
            .map(|(name, meaning)| (value(name), *meaning))
            .collect(),
        linux_wait_ns_max: details.linux_wait_ns_max,
        leave_ns_max: details.leave_ns_max,
        rt_cpu_times: times.collect(),
    };
    scheduler::in_words(&status, counters)
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
                stdout.text(&in_words(details, counters))?;
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
    let sign = Sign::new(!args.quiet, None);
    sign.step("stopping");
    let stopped = control::ask_stop(&Runtime::default().socket())?;
    match stopped {
        // Its own settings are back; its partition goes behind them.
        Stopped::Restored => partition::wait_for_end(&Host::default())?,
        Stopped::Off => {}
        Stopped::NotOn | Stopped::Ended => clean_up()?,
    }
    drop(sign);
    let mut stdout = stdout();
    if args.json {
        let (on, restored) = (stopped != Stopped::NotOn, stopped != Stopped::Off);
        let said = serde_json::json!({ "stopped": on, "restored": restored });
        print_json(&mut stdout, &said)?;
    } else if args.quiet {
        // What was put back is a warning, and clean_up has printed it.
    } else {
        writeln!(
            stdout,
            "{}",
            match stopped {
                Stopped::Restored | Stopped::Ended =>
                    "artis has stopped; the kernel's own scheduler has every task",
                Stopped::Off =>
                    "artis has stopped; the kernel's own scheduler has every task; settings are \
                     put back when real-time tasks leave the kernel a turn for it",
                Stopped::NotOn => "artis was not scheduling",
            }
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
