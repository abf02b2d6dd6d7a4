// SPDX-License-Identifier: GPL-2.0-only
//! `artis sched run`: schedule, with a partition where the configuration file asks for one.

use super::settings::{Options, Settings};
use super::voice::Voice;
use super::{clean_up_partition, in_words};
use crate::cli::output::{print_json, stdout};
use crate::machine::Root;
use crate::machine::cpusets::Claim;
use crate::partition::host::Host;
use crate::partition::plan::Left;
use crate::report::scheduler::Counters;
use crate::sched::control;
use crate::sched::detector::Detector;
use crate::sched::ending::Ending;
use crate::sched::prospect::Prospect;
use crate::sched::runtime::Runtime;
use crate::sched::service::{self, Outcome};
use crate::sched::status::Status;
use crate::service::partition::Lease;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Schedule in the foreground until SIGINT, SIGTERM, SIGHUP or `artis sched stop`
///
/// RT CPUs run RT0 tasks (SCHED_FIFO, SCHED_RR, SCHED_DEADLINE) at once, and everybody else
/// while in user mode. Says "ready" to systemd when NOTIFY_SOCKET is set.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis sched run --rt 2-3")]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// Only check the file and the options, and say what would be done; start nothing
    #[arg(long)]
    check: bool,
    /// At the end, print the last status and why it ended as JSON
    #[arg(long)]
    json: bool,
    /// Print warnings and errors only
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

/// What `--json` prints at the end.
#[derive(Serialize)]
struct Report<'a> {
    status: &'a Status,
    ending: &'a Ending,
    ending_in_words: String,
}

/// What `--check --json` prints.
#[derive(Serialize)]
struct Checked<'a> {
    #[serde(flatten)]
    settings: &'a Settings,
    partition: bool,
    /// What would stay as it is, and groups of others that have RT CPUs; none where it cannot run.
    #[serde(flatten)]
    outlook: Option<Outlook>,
}

#[derive(Serialize)]
struct Outlook {
    left: Vec<Left>,
    claims: Vec<Claim>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let settings = args.options.resolve(&Root::default())?;
    if args.check {
        check(args, &settings)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut voice = Voice::new(args.quiet, settings.heading());
    let Outcome { last, ending, .. } = schedule(&settings, &mut voice)?;
    let mut stdout = stdout();
    if args.json {
        let report = Report {
            status: &last,
            ending: &ending,
            ending_in_words: ending.in_words(),
        };
        print_json(&mut stdout, &report)?;
    } else if let Some(details) = last.details.as_ref().filter(|_| !args.quiet) {
        stdout.text(&in_words(details, Counters::NotZero))?;
    }
    drop(stdout);
    if ending.was_asked_for() {
        Ok(ExitCode::SUCCESS)
    } else {
        anyhow::bail!("{}", ending.in_words())
    }
}

/// Says what would be done, and fails where `artis sched run` would.
fn check(args: &Args, settings: &Settings) -> anyhow::Result<()> {
    let partition = settings.partition.is_some();
    let running = control::ask_status(&Runtime::default().socket())?.is_some();
    let prospect = match running {
        true => Err(service::Error::Running(Runtime::default().state()?)),
        false => Prospect::of(&Root::default(), &settings.rt, settings.detector),
    };
    let (outlook, error) = match prospect {
        Ok(Prospect { left, claims, .. }) => (Some(Outlook { left, claims }), None),
        Err(error) => (None, Some(error)),
    };
    let mut stdout = stdout();
    if args.json {
        let checked = Checked {
            settings,
            partition,
            outlook,
        };
        print_json(&mut stdout, &checked)?;
    } else if !args.quiet {
        for line in settings.heading() {
            writeln!(stdout, "{line}")?;
        }
        for claim in outlook.iter().flat_map(|outlook| &outlook.claims) {
            writeln!(stdout, "{claim}")?;
        }
        for left in outlook.iter().flat_map(|outlook| &outlook.left) {
            writeln!(stdout, "{left}")?;
        }
        let more = match partition {
            true => "the machine is partitioned for the RT CPUs, until the scheduler stops",
            false => "the machine is not partitioned",
        };
        writeln!(stdout, "{more}")?;
    }
    Ok(error.map_or(Ok(()), Err)?)
}

/// Runs the scheduler, inside the partition where one is wanted.
fn schedule(settings: &Settings, voice: &mut Voice) -> anyhow::Result<Outcome> {
    let Settings {
        rt,
        detector,
        cycle,
        ..
    } = settings;
    let host = Host::default();
    let mut lease = None;
    // The scheduler says itself that another one runs; that is no reason to partition first.
    if control::ask_status(&Runtime::default().socket())?.is_none() {
        clean_up_partition(&host)?;
        if let Some(request) = &settings.partition {
            Prospect::of(&host.root, rt, *detector)?;
            voice.begin();
            let begun = Lease::begin(&host, request, &mut |notice| voice.notice(notice))?;
            voice.partitioned(&begun.1);
            lease = Some(begun.0);
        }
    }
    let mut outcome = service::run(
        rt,
        *detector,
        *cycle,
        settings.may_improve(),
        &mut |event| {
            voice.event(event);
        },
    );
    if outcome.as_ref().is_ok_and(|outcome| outcome.better) {
        say!("artis: breakpoints can be had now: it begins again with them");
        outcome = service::run(rt, Detector::Breakpoint, false, false, &mut |event| {
            voice.event(event);
        });
    }
    voice.done();
    // After a failure, too, and then it is the failure that counts.
    if let Some(ended) = lease.map(Lease::end) {
        match ended {
            Ok(reverted) => voice.departitioned(reverted.as_ref()),
            Err(error) if outcome.is_ok() => return Err(error.into()),
            Err(error) => say!("artis: {:#}", anyhow::Error::from(error)),
        }
    }
    Ok(outcome?)
}
