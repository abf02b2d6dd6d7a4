// SPDX-License-Identifier: GPL-2.0-only
//! `artis sched`: load, look at and stop the scheduler.

use super::exit::UsageError;
use super::output::{print_json, stdout};
use crate::machine::CpuList;
use crate::sched::announce::{announce, announce_restored};
use crate::sched::detector::Detector;
use crate::sched::runtime::Runtime;
use crate::sched::service::{self, Outcome};
use crate::sched::status::{Details, Status};
use crate::sched::{control, ending::Ending};
use anyhow::Context;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis sched run --rt 1")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Run(RunArgs),
    Status(ReportArgs),
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
}

/// Is the scheduler on, since when, with which CPUs, and what has it counted?
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis sched status --json")]
struct ReportArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Stop the scheduler; the kernel's own takes over, and what artis changed is put back
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis sched stop")]
struct StopArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
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
            // nohz_full costs RT0 more at each wakeup than the tracepoint costs the others,
            // so it takes a wish to get the entry detector.
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
    let outcome = match service::run(&args.rt, args.detector.resolve(), args.cycle, &mut announce) {
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
    } else if let Some(details) = &last.details {
        write!(stdout, "{}", in_words(details))?;
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

fn status(args: &ReportArgs) -> anyhow::Result<ExitCode> {
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
            Some(details) => write!(stdout, "{}", in_words(details))?,
            None => writeln!(stdout, "artis is not scheduling")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn stop(args: &StopArgs) -> anyhow::Result<ExitCode> {
    let stopped = control::ask_stop(&Runtime::default().socket())?;
    if !stopped {
        clean_up()?;
    }
    let mut stdout = stdout();
    if args.json {
        print_json(&mut stdout, &serde_json::json!({ "stopped": stopped }))?;
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

/// The status as text: the facts, the time of each RT CPU, the counters by what they mean.
fn in_words(details: &Details) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "scheduling since {} ({}), process {}, kernel {}",
        details.since,
        humantime::format_duration(Duration::from_secs(details.uptime_s)),
        details.pid,
        details.kernel
    );
    let _ = write!(
        text,
        "RT CPUs {}, NRT CPUs {}",
        details.rt_cpus, details.nrt_cpus
    );
    if !details.rt_cpus_offline.is_empty() {
        let _ = write!(text, ", offline {}", details.rt_cpus_offline);
    }
    let _ = writeln!(text, "\ndetector {}, which cannot see", details.detector);
    for spot in &details.detector_blind_spots {
        let _ = writeln!(text, "  - {spot}");
    }
    let _ = writeln!(
        text,
        "\n{:<8}{:>10}{:>10}{:>10}{:>10}{:>22}",
        "RT CPU", "Linux", "RT1+", "kthreads", "idle", "RT0 and interrupts"
    );
    for times in &details.rt_cpu_times {
        let all = times.linux_ns
            + times.rt1_ns
            + times.kthread_ns
            + times.idle_ns
            + times.rt0_and_interrupts_ns;
        let share = |ns: u64| format!("{:.1} %", ns as f64 * 100.0 / all.max(1) as f64);
        let _ = writeln!(
            text,
            "{:<8}{:>10}{:>10}{:>10}{:>10}{:>22}",
            times.cpu,
            share(times.linux_ns),
            share(times.rt1_ns),
            share(times.kthread_ns),
            share(times.idle_ns),
            share(times.rt0_and_interrupts_ns)
        );
    }
    let _ = writeln!(
        text,
        "\nlongest wait of a runnable Linux task: {:.1} ms",
        details.linux_wait_ns_max as f64 / 1e6
    );
    let _ = writeln!(
        text,
        "longest time from a kernel entry on an RT CPU to leaving it: {:.3} ms",
        details.leave_ns_max as f64 / 1e6
    );
    for (name, meaning) in crate::sched::COUNTERS {
        let value = details.counters.get(name).copied().unwrap_or(0);
        let _ = writeln!(text, "{value:>12}  {meaning}");
    }
    text
}
