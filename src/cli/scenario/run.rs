// SPDX-License-Identifier: GPL-2.0-only
//! `artis scenario run`: a scenario, live.

use super::super::exit::{self, UsageError};
use super::super::output::{print_json, stdout};
use super::super::progress::Sign;
use super::super::signals::stop_on_signals;
use super::super::{value, width};
use super::Source;
use crate::report::scenario as report;
use artis_fake::Progress;
use artis_scenario::format::NoteKind;
use artis_scenario::{Ended, Outcome, Reading};
use artis_task::syscall;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

/// Run a scenario on this machine, with fake tasks that start at one moment
///
/// Of each task: the time by the clock (wall), how long it ran, how long it waited for a CPU, the
/// share of the RT CPUs and of each CPU in its user work, how often it blocked, was preempted and
/// migrated, deadlines met and missed, and its latest wakeup. A dash: not known, or not ended.
/// Ctrl-C ends all tasks, leaves nothing behind and prints what there is.
#[derive(clap::Args)]
#[command(
    after_help = "Status: 0 it ran, 1 it could not, 2 with --deadlines when one was missed, 64 the \
                  file is wrong or does not fit this machine.\n\n\
                  Example:\n  sudo artis scenario run lab/scenario/control-loop-build.toml -D 5s"
)]
pub struct Args {
    #[command(flatten)]
    source: Source,
    /// End after this time, whatever the file says: 90, 90s, 5m
    #[arg(short = 'D', long, value_name = "TIME", value_parser = super::super::duration::parse)]
    duration: Option<Duration>,
    /// Random arrivals of another seed
    #[arg(long, value_name = "N", value_parser = value::number::whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// End with 2 when a deadline was missed
    #[arg(long)]
    deadlines: bool,
    /// Print JSON (artis.scenario-run/1)
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool: String,
    source: &'a str,
    name: &'a str,
    /// What of this machine differs from that of the scenario.
    differences: &'a [String],
    #[serde(flatten)]
    outcome: &'a Outcome,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut reading = args.source.read()?;
    let scenario = &mut reading.scenario;
    if let Some(duration) = args.duration {
        scenario.end.duration_ns = Some(u64::try_from(duration.as_nanos())?);
    }
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let here = syscall::affinity(0)?;
    let differences = artis_fake::fit(scenario, &here)
        .map_err(|error| UsageError(format!("{}: {error}", args.source.name())))?;
    say_before(&reading, &differences);
    let stop = stop_on_signals()?;
    let scenario = &reading.scenario;
    let total = scenario.end.duration_ns.map(Duration::from_nanos);
    let sign = Sign::new(true, total);
    let outcome = artis_fake::run(scenario, &stop, &mut |now| {
        sign.show(|| progress(&now));
    })?;
    drop(sign);
    let mut out = stdout();
    if args.json {
        let document = Document {
            schema: "artis.scenario-run/1",
            tool: format!("artis {}", env!("CARGO_PKG_VERSION")),
            source: &args.source.name(),
            name: &scenario.name,
            differences: &differences,
            outcome: &outcome,
        };
        print_json(&mut out, &document)?;
    } else {
        out.text(&report::run::text(&outcome, width::of_stdout()))?;
    }
    let missed = outcome.tasks.iter().any(|task| task.missed > 0);
    Ok(
        match missed && args.deadlines && outcome.ended != Ended::Interrupted {
            true => ExitCode::from(exit::BOUND_MISSED),
            false => ExitCode::SUCCESS,
        },
    )
}

/// What a reader should know before it runs.
fn say_before(reading: &Reading, differences: &[String]) {
    for sentence in differences {
        say!("artis: {sentence}");
    }
    for note in &reading.notes {
        if note.kind == NoteKind::Doubt {
            say!("artis: doubt: {}", note.text);
        }
    }
    if !reading.scenario.ends() {
        say!("artis: it does not end by itself: Ctrl-C ends it, and so does -D TIME");
    }
}

fn progress(now: &Progress) -> String {
    match now.ns {
        0 => format!("{} tasks get ready", now.tasks),
        _ => format!(
            "{} of {} tasks ended, {} deadlines missed",
            now.ended, now.tasks, now.missed
        ),
    }
}
