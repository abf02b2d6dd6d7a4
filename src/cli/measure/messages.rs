// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure messages`: threads that send each other messages over pipes.

use super::common::Common;
use super::cpus;
use super::policy::{self, Scheduling};
use super::until::Until;
use crate::cli::exit::UsageError;
use crate::cli::value;
use crate::machine::CpuList;
use crate::measure::live::Live;
use crate::measure::messages::series::series;
use crate::measure::messages::{self, Plan};
use crate::measure::thread::Policy;
use crate::report::live::so_far;
use crate::report::messages as report;
use crate::result::names::ROUND_TRIP;
use artis_run::session::{Figures, Session, Threads};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// More threads are a typing error, and all their memory is locked.
const THREADS_MAX: usize = 256;
/// A pair has a messenger and a worker at least.
const PAIRS_MAX: u16 = 128;
const WORKERS_MAX: u16 = 255;

/// The policy where nobody asks for one.
const DEFAULT: Policy = Policy::Normal;

/// Measure how fast threads that send each other messages over pipes wake each other up
#[derive(clap::Args)]
#[command(
    mut_arg("priority", |arg| policy::help(arg, DEFAULT, "the threads")),
    mut_arg("loops", |arg| arg.help("Number of round trips of each pair")),
    after_help = "A messenger writes 8 bytes to its worker and waits for the answer, over and over, as \
                  `perf bench sched pipe -T` does; with several workers it writes to each and waits for \
                  all answers, as schbench does. Reported are the time of a round trip, the time from a \
                  message's sending until its worker has it, and the messages (answers are some, too) \
                  per second and per second of CPU time. The threads are normal ones unless -p or \
                  --policy says otherwise, and none is bound to one CPU.\n\n\
                  Examples:\n  artis measure messages -D 30 --json messages.json\n  \
                  artis measure messages --pairs 2 --workers 16 --load compute"
)]
pub struct Args {
    /// Pairs of threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = value::number::whole(1..=PAIRS_MAX))]
    pairs: u16,
    /// Workers that the messenger of each pair has
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = value::number::whole(1..=WORKERS_MAX))]
    workers: u16,
    /// CPUs that all threads may use [default: all that are allowed]
    #[arg(short = 'a', long, value_name = "LIST", value_parser = value::cpus::own)]
    cpus: Option<CpuList>,
    #[command(flatten)]
    until: Until,
    #[command(flatten)]
    policy: Scheduling,
    #[command(flatten)]
    common: Common,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let plan = args.resolve()?;
    let mut session = Session::begin(&args.common, args.settings(&plan))?;
    session.prepare(Threads {
        cpus: cpus::resolve(args.cpus.as_ref())?,
        policy: plan.policy,
        wants_real_time: false,
        sleeps: true,
        exit_latency_us: 0,
    });
    let measurement = session.start()?;
    let stop = measurement.stop_flag();
    let sign = measurement.voice().sign(plan.duration);
    let outcome = messages::measure(&plan, &stop, &mut |live| {
        let rounds = live.iter().map(Live::count).sum();
        let max_ns = Live::worst_ns(live);
        args.until.show_part(&sign, rounds, plan.pairs);
        sign.show(|| so_far("longest", max_ns, rounds, "round trips"));
    })?;
    drop(sign);
    let finished = measurement.finish(Figures {
        seconds: Some(outcome.seconds),
        series: series(&outcome),
        counted: Some(ROUND_TRIP),
        ..Figures::default()
    });
    finished
        .publish_table(|document| report::table(document, plan.pairs, plan.workers, plan.policy))?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn resolve(&self) -> anyhow::Result<Plan> {
        let plan = Plan {
            pairs: self.pairs.into(),
            workers: self.workers.into(),
            cpus: self.cpus.clone(),
            policy: self.policy.resolve(DEFAULT)?,
            rounds: self.until.loops(),
            duration: self.until.duration(),
        };
        if plan.threads() > THREADS_MAX {
            return Err(UsageError(format!(
                "--pairs {} with --workers {} take {} threads; {THREADS_MAX} is the most",
                plan.pairs,
                plan.workers,
                plan.threads()
            ))
            .into());
        }
        Ok(plan)
    }

    /// What the result says of the options.
    fn settings(&self, plan: &Plan) -> BTreeMap<String, Value> {
        let mut settings = BTreeMap::from([
            ("pairs".to_owned(), json!(plan.pairs)),
            ("workers".to_owned(), json!(plan.workers)),
            ("cpus".to_owned(), json!(plan.cpus)),
        ]);
        settings.extend(policy::settings(plan.policy));
        settings.extend(self.until.settings());
        settings
    }
}
