// SPDX-License-Identifier: GPL-2.0-only
//! `artis check`: what on this machine speaks against real time.

use super::advice::followable;
use super::exit::{BOUND_MISSED, UsageError};
use super::output::{print_json, stdout};
use super::width;
use crate::check::{Report, Severity, Subject};
use crate::machine::facts::Facts;
use crate::machine::{CpuList, Root};
use crate::report::findings::{in_brief, in_words};
use crate::task::scheduler;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  sudo artis check --cpus 1")]
pub struct Args {
    /// CPUs for real-time tasks [default: those of artis sched, else isolated CPUs, else all]
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Print one screen: the verdict, what breaks real time, and the names of the other findings
    #[arg(long, conflicts_with = "json")]
    brief: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Read the copy of another machine's /proc, /sys, ... in this folder
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    root: PathBuf,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root(args.root);
    if root != Root::default() && !root.exists("/proc") {
        anyhow::bail!(
            "{} is no copy of a machine: it has no proc/",
            root.0.display()
        );
    }
    let facts = Facts::read(&root);
    if let (None, Some(problem)) = (facts.kernel.get(), &facts.kernel.problem) {
        anyhow::bail!("could not read facts of the machine: {problem}; is /proc mounted?");
    }
    let asked = args.cpus.map(|cpus| online(&facts, cpus)).transpose()?;
    let scheduler = match scheduler::running(&root) {
        Ok(running) => running.map(|running| running.rt_cpus),
        Err(error) => {
            say!("artis: warning: {:#}", anyhow::Error::from(error));
            None
        }
    };
    let subject = Subject::choose(&facts, asked, scheduler);
    let mut report = Report::new(facts, subject);
    // Of another machine nobody knows here who types it.
    if root == Root::default() {
        for finding in &mut report.findings {
            finding.fix = finding.fix.take().map(|fix| followable(&fix));
        }
    }
    let mut out = stdout();
    if args.json {
        print_json(&mut out, &report)?;
    } else if args.brief {
        out.text(&in_brief(&report, width::of_stdout()))?;
    } else {
        out.text(&in_words(&report, width::of_stdout()))?;
    }
    Ok(match report.count(Severity::Breaks) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(BOUND_MISSED),
    })
}

fn online(facts: &Facts, asked: CpuList) -> Result<CpuList, UsageError> {
    let online = facts.online();
    let missing = &asked - &online;
    if missing.is_empty() {
        return Ok(asked);
    }
    Err(UsageError(format!(
        "{} not online; choose among {online} with --cpus",
        missing.in_words_are()
    )))
}
