// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure completion`: when work is done, against how long it is.

use super::common::Common;
use super::cpus;
use super::policy::{self, Scheduling};
use crate::cli::duration;
use crate::cli::value;
use crate::measure::completion::{self, LENGTHS_US, Plan, Steps, Unit, series};
use crate::measure::thread::{PRIORITY, Policy};
use crate::report::completion as report;
use crate::report::live::so_far;
use crate::result::{Nature, file};
use anyhow::Context;
use artis_run::session::{Figures, Session, Threads};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The setting that must be the same where results are compared.
const STEPS: &str = "steps_per_us";

/// The policy where nobody asks for one.
const DEFAULT: Policy = Policy::Fifo(PRIORITY);

/// Measure when work is done, from the event on, for work from 1 us to 100 ms
#[derive(clap::Args)]
#[command(
    mut_arg("priority", |arg| policy::help(arg, DEFAULT, "the thread")),
    after_help = "One thread on one CPU waits for an event, does a unit of work, rests, and goes on to \
                  the next length: instructions in user mode, system calls, and input and output \
                  through the page cache. Reported are the start delay, the time of the work and \
                  the completion time. The number of steps of a unit is found at first, without \
                  load; for another kernel or setting, take those of the first result with --like, \
                  or the two are not comparable.\n\n\
                  Examples:\n  sudo artis measure completion -a 1 -D 1m --load hackbench \\\n    --json stock.json\n  \
                  sudo artis measure completion -a 1 -D 1m --load hackbench \\\n    --like stock.json --json rt.json"
)]
pub struct Args {
    /// CPU to bind the thread to [default: the last that is allowed]
    #[arg(short = 'a', long, value_name = "N", value_parser = value::cpus::one)]
    cpu: Option<u32>,
    /// How long: seconds, or with a unit: 90s, 5m, 12h, 1d
    #[arg(short = 'D', long, value_name = "TIME", default_value = "30s", value_parser = duration::parse)]
    duration: Duration,
    /// Longest unit of work, microseconds
    #[arg(long, value_name = "US", default_value_t = 100_000)]
    #[arg(value_parser = value::duration::microseconds(1..=100_000_u32))]
    longest: u32,
    /// Do as many steps as in this result of artis measure completion
    #[arg(long, value_name = "FILE")]
    like: Option<PathBuf>,
    #[command(flatten)]
    policy: Scheduling,
    #[command(flatten)]
    common: Common,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let chosen = cpus::resolve(args.cpu.map(|cpu| [cpu].into_iter().collect()).as_ref())?;
    let cpu = chosen.last().context("this process may use no CPU")?;
    let policy = args.policy.resolve(DEFAULT)?;
    let like = args.like.as_deref().map(steps_of).transpose()?;
    let mut settings = policy::settings(policy);
    settings.extend(
        [
            ("cpu", json!(cpu)),
            ("duration_s", json!(args.duration.as_secs_f64())),
            ("longest_us", json!(args.longest)),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    );
    let mut session = Session::begin(&args.common, settings)?;
    let stop = session.stop_flag();
    let steps = match like {
        Some(steps) => steps,
        None => completion::steps_per_us().with_context(cannot_write)?,
    };
    session.set(STEPS, json!(steps));
    session.prepare(Threads {
        cpus: [cpu].into_iter().collect(),
        policy,
        wants_real_time: false,
        sleeps: true,
        exit_latency_us: 0,
    });
    let lengths = LENGTHS_US.into_iter().filter(|us| *us <= args.longest);
    let units = Nature::ALL
        .into_iter()
        .flat_map(|nature| lengths.clone().map(move |us| (nature, us)))
        .map(|(nature, us)| Unit::new(nature, us, &steps))
        .collect::<Result<Vec<Unit>, _>>()
        .with_context(cannot_write)?;
    let plan = Plan {
        units,
        cpu,
        policy,
        duration: args.duration,
    };
    let measurement = session.start()?;
    let sign = measurement.voice().sign(Some(args.duration));
    let samples = completion::measure(&plan, &stop, &mut |live| {
        sign.show(|| {
            so_far(
                "worst start delay",
                live.max_ns(),
                live.count(),
                "units of work",
            )
        });
    })?;
    drop(sign);
    let finished = measurement.finish(Figures {
        seconds: Some(samples.seconds),
        series: series::series(cpu, &samples),
        ..Figures::default()
    });
    finished.publish_table(|document| report::table(document, cpu, policy))?;
    Ok(ExitCode::SUCCESS)
}

fn cannot_write() -> String {
    format!(
        "cannot write a temporary file in {} for input and output; set TMPDIR to a folder that can \
         be written",
        std::env::temp_dir().display()
    )
}

/// The steps of another result.
fn steps_of(path: &Path) -> anyhow::Result<Steps> {
    let document = file::read(path)?;
    let steps = document.setup.options.get(STEPS).cloned();
    let steps = steps.with_context(|| {
        format!(
            "{} has no {STEPS}; give a result of artis measure completion",
            path.display()
        )
    })?;
    serde_json::from_value(steps)
        .with_context(|| format!("{}: its {STEPS} are damaged", path.display()))
}
