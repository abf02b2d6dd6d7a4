// SPDX-License-Identifier: GPL-2.0-only
//! `artis partition`: plan, make, show and revert the changes that give CPUs to real-time tasks.

use super::exit::{BOUND_MISSED, UsageError};
use super::output::{print_json, stdout};
use super::progress::Sign;
use super::{value, width};
use crate::machine::cpusets::Claim;
use crate::machine::{CpuList, Root};
use crate::partition::apply::{self, Notice, Partitioned};
use crate::partition::change::Change;
use crate::partition::export::{self, Tool};
use crate::partition::host::Host;
use crate::partition::journal::{self, Owner};
use crate::partition::plan::{self, EXIT_LATENCY_US_MAX, Left, Plan, Request};
use crate::partition::transaction::{Refused, Reverted, Transaction, in_force};
use crate::report::partition as text;
use anyhow::Context;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis partition plan --rt 2-3\n  \
                        sudo artis partition apply --rt 2-3\n  sudo artis partition reset")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Plan(PlanArgs),
    Apply(ApplyArgs),
    /// Show what is in force, and who owns it
    #[command(after_help = "Example:\n  sudo artis partition show")]
    Show(ReportArgs),
    /// Put the old values back, last change first; report what somebody else changed meanwhile
    #[command(after_help = "Example:\n  sudo artis partition reset")]
    Reset(ResetArgs),
}

/// What the user asks for.
#[derive(clap::Args)]
struct RequestArgs {
    /// RT CPUs, such as 1 or 2-3,6; the other online CPUs are NRT
    #[arg(long, value_name = "LIST")]
    rt: CpuList,
    /// Lowest priority of any RT0 task: kernel threads that serve all tasks go below it
    #[arg(long, value_name = "P", default_value_t = 99,
          value_parser = value::number::whole(1..=99_u32))]
    priority: u32,
    /// Interrupts that RT0 waits for: they go to the RT CPUs, their threads above RT0
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    #[arg(value_parser = value::number::interrupt)]
    rt0_irq: Vec<u32>,
    /// Switch off idle states of RT CPUs that take longer to leave, microseconds
    #[arg(long, value_name = "US", default_value_t = EXIT_LATENCY_US_MAX)]
    #[arg(value_parser = value::duration::microseconds(0..=u32::MAX))]
    exit_latency: u32,
    /// Keep all other tasks off the RT CPUs (cgroup v2): safe and wasteful; not with artis sched
    #[arg(long)]
    shield: bool,
    /// Shield CPUs although a group of somebody else has no other
    #[arg(long, requires = "shield")]
    force: bool,
    /// Let real-time tasks use all of a CPU
    #[arg(long)]
    no_throttling: bool,
}

/// Print every change that apply would make, and touch nothing
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis partition plan --rt 3 --export cmdline")]
struct PlanArgs {
    #[command(flatten)]
    request: RequestArgs,
    /// Print the plan in the format of a tool that keeps it in force permanently
    #[arg(long, value_enum, value_name = "TOOL", conflicts_with = "json")]
    export: Option<ToolArg>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Make the changes that plan prints; until reset or reboot
///
/// A partition that is in force for other CPUs, or was not finished, is reverted first. Ends with 2
/// when a part of the plan was not permitted, or refused by the kernel, or no shield is possible.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sudo artis partition apply --rt 3 --priority 80")]
struct ApplyArgs {
    #[command(flatten)]
    request: RequestArgs,
    /// Print only warnings, and what the kernel refused
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct ReportArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct ResetArgs {
    /// Wait for the end of standard input; do nothing when a byte comes before it
    #[arg(long, hide = true)]
    when_input_ends: bool,
    /// Print only errors
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ToolArg {
    /// A tuned profile
    Tuned,
    /// sysctl.d, tmpfiles.d and slices
    Systemd,
    /// Boot arguments
    Cmdline,
    /// Kubelet configuration
    Kubernetes,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Plan(args) => plan(&args),
        Command::Apply(args) => apply(&args),
        Command::Show(args) => show(&args),
        Command::Reset(args) => reset(&args),
    }
}

const SCHEMA: &str = "artis.partition/1";

/// What `plan --json` and `apply --json` print.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    rt: &'a CpuList,
    nrt: &'a CpuList,
    changes: &'a [Change],
    left: &'a [Left],
    /// What this process may not change, and why.
    missing: &'a [Refused],
    /// What the kernel did not let be changed.
    refused: &'a [Refused],
    /// Groups of others that have RT CPUs.
    claims: &'a [Claim],
    warnings: &'a [String],
}

impl RequestArgs {
    fn resolve(&self, root: &Root) -> anyhow::Result<Request> {
        let request = Request::new(root, &self.rt)
            .and_then(|request| request.with_rt0_irqs(root, &self.rt0_irq));
        let request = match request {
            Err(plan::Error::Refused(message)) => return Err(UsageError(message).into()),
            request => request?,
        };
        Ok(Request {
            rt0_priority: self.priority,
            exit_latency_us_max: self.exit_latency,
            shield: self.shield,
            force: self.force,
            unthrottle: self.no_throttling,
            ..request
        })
    }
}

fn plan(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let host = Host::default();
    let request = args.request.resolve(&host.root)?;
    let mut stdout = stdout();
    if let Some(tool) = args.export {
        let tool = match tool {
            ToolArg::Tuned => Tool::Tuned,
            ToolArg::Systemd => Tool::Systemd,
            ToolArg::Cmdline => Tool::Cmdline,
            ToolArg::Kubernetes => Tool::Kubernetes,
        };
        let plan = Plan::make(&host.root, &request);
        write!(stdout, "{}", export::render(tool, &plan, &request))?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = apply::needed(&host, &request)?;
    let (_, missing) = apply::permitted(&host, plan.changes.clone())?;
    if args.json {
        print_json(&mut stdout, &report(&request, &plan, &missing, &[]))?;
    } else {
        stdout.text(&text::plan(&request, &plan, width::of_stdout()))?;
        warn(&missing, &plan.warnings);
    }
    Ok(ExitCode::SUCCESS)
}

fn report<'a>(
    request: &'a Request,
    plan: &'a Plan,
    missing: &'a [Refused],
    refused: &'a [Refused],
) -> Report<'a> {
    Report {
        schema: SCHEMA,
        rt: &request.rt,
        nrt: &request.nrt,
        changes: &plan.changes,
        left: &plan.left,
        missing,
        refused,
        claims: &plan.claims,
        warnings: &plan.warnings,
    }
}

/// Prints what this process may not change, each reason once, and the plan's warnings.
pub(super) fn warn(missing: &[Refused], warnings: &[String]) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in missing {
        let kinds = by_reason.entry(&one.why).or_default();
        if !kinds.contains(&one.change.kind.id()) {
            kinds.push(one.change.kind.id());
        }
    }
    for (why, kinds) in by_reason {
        say!(
            "artis: not possible for this user: {}: {why}",
            kinds.join(", ")
        );
    }
    for warning in warnings {
        say!("artis: warning: {warning}");
    }
}

fn apply(args: &ApplyArgs) -> anyhow::Result<ExitCode> {
    let host = Host::default();
    let request = args.request.resolve(&host.root)?;
    let mut notice = |notice: Notice<'_>| match notice {
        Notice::Earlier(reverted) if !args.quiet => {
            say_text!(
                "{}",
                text::reverted(reverted, "an earlier partition", width::of_stderr())
            );
        }
        Notice::Earlier(_) => {}
        Notice::Limits { missing, warnings } => warn(missing, warnings),
    };
    let sign = Sign::new(!args.quiet, None);
    sign.step("changing the machine");
    let Partitioned {
        plan,
        missing,
        refused,
        was_there,
    } = match apply::apply(&host, &request, &mut notice) {
        Err(error @ (apply::Error::ShieldWithScheduler | apply::Error::Claimed(_))) => {
            return Err(UsageError(error.to_string()).into());
        }
        made => made?,
    };
    drop(sign);
    let mut stdout = stdout();
    if args.json {
        print_json(&mut stdout, &report(&request, &plan, &missing, &refused))?;
    } else if args.quiet {
        for one in &refused {
            say!("artis: {one}");
        }
    } else if was_there {
        writeln!(stdout, "RT CPUs {} are partitioned already", request.rt)?;
    } else {
        stdout.text(&text::applied(
            &request,
            &plan,
            &refused,
            width::of_stdout(),
        ))?;
    }
    let lacks_shield = request.shield && plan.lacks_shield();
    Ok(
        if missing.is_empty() && refused.is_empty() && !lacks_shield {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(BOUND_MISSED)
        },
    )
}

fn show(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let in_force = in_force(&Host::default()).map_err(|error| match error {
        // Only root can read the journals.
        journal::Error::Journal { .. } if !nix::unistd::geteuid().is_root() => {
            anyhow::Error::new(error).context("only root may see what is in force; use sudo")
        }
        error => error.into(),
    })?;
    let mut stdout = stdout();
    if args.json {
        let document = serde_json::json!({ "schema": SCHEMA, "in_force": in_force });
        print_json(&mut stdout, &document)?;
    } else {
        stdout.text(&text::in_force(&in_force, width::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn reset(args: &ResetArgs) -> anyhow::Result<ExitCode> {
    if args.when_input_ends {
        let mut first = [0];
        let bytes = std::io::stdin().read(&mut first);
        if bytes.context("could not wait for the end of standard input")? > 0 {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let host = Host::default();
    let sign = Sign::new(!args.quiet, None);
    sign.step("putting back");
    let transaction = Transaction::begin(&host)?;
    let revert = |owner| {
        let reverted = transaction.revert(owner);
        reverted.context("could not revert the changes")
    };
    // What a killed `artis run` left: this process has the lock, so none is at it now.
    let reverted: Reverted = revert(Owner::Reservation)?.and(revert(Owner::Partition)?);
    drop(transaction);
    drop(sign);
    let mut stdout = stdout();
    if args.json {
        print_json(&mut stdout, &reverted)?;
    } else if args.quiet {
        // What could not be put back is an error below.
    } else if reverted.is_empty() {
        writeln!(stdout, "nothing was partitioned")?;
    } else {
        stdout.text(&text::reverted(
            &reverted,
            "the partition",
            width::of_stdout(),
        ))?;
    }
    reverted.whole()?;
    Ok(ExitCode::SUCCESS)
}
