// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure all`: latency, execution-time variation and the load's throughput of one
//! interval.
//!
//! Each thread is a small control loop: it wakes up periodically, which gives a latency, and
//! then does a fixed piece of work, which gives an execution time. Neither disturbs the other,
//! and both meet the same load.

use super::common::Common;
use super::piece::{self, Piece};
use super::sentences::{failure, progress};
use super::{cpus, latency as latency_command};
use crate::cli::exit::UsageError;
use crate::cli::value;
use crate::machine::CpuList;
use crate::measure::exec;
use crate::measure::latency::sampler::{Limits, Task};
use crate::measure::latency::series::series;
use crate::measure::latency::source::{Request, SourceKind};
use crate::measure::latency::{self, Outcome, Plan, ThreadPlan};
use crate::measure::reference::{doubts, shortest_ns};
use crate::measure::routine::Work;
use crate::report::control_loop::table;
use crate::result::names::{BEGAN_NS, LATENCY};
use crate::result::{Series, Warning};
use artis_run::session::{Figures, Session, Threads};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// Measure latency, execution-time variation and the load's throughput in one run
#[derive(clap::Args)]
#[command(
    mut_arg("count", |arg| arg.help("Steps in a piece of work; it must leave half of the period free [default: 10000]")),
    mut_arg("unloaded", |arg| arg.default_value("500ms").help("How long the run without load is on each CPU, which comes first")),
    after_help = "One thread per CPU wakes up periodically and then does a fixed piece of work, as a \
                  control loop does. The shortest time of the work without load (Tmin) is measured \
                  first.\n\n\
                  Example:\n  artis measure all -a 1 --load hackbench,cache -D 1m --json all.json"
)]
pub struct Args {
    /// CPUs to measure, one thread on each [default: all that are allowed]
    #[arg(short, long, value_name = "LIST", value_parser = value::cpus::own)]
    affinity: Option<CpuList>,
    /// Period, microseconds
    #[arg(short, long, value_name = "US", default_value_t = 1000)]
    #[arg(value_parser = value::duration::microseconds(1..=3_600_000_000_u64))]
    interval: u64,
    #[command(flatten)]
    piece: piece::Options,
    #[command(flatten)]
    common: Common,
}

/// Some ten to a hundred microseconds, on any machine of this century.
const COUNT: u32 = 10_000;
/// Work longer than this part of the period would make the threads late for their own reasons.
const PERIOD_DIVISOR: u64 = 2;

/// The options, resolved.
struct Resolved {
    cpus: CpuList,
    interval_us: u64,
    piece: Piece,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let resolved = Resolved {
        cpus: cpus::resolve(args.affinity.as_ref())?,
        interval_us: args.interval,
        piece: args.piece.resolve(|_| COUNT)?,
    };
    let piece = resolved.piece;
    latency_command::refuse_long(Duration::from_micros(args.interval), piece.duration)?;
    let settings = piece.settings(("interval_us", json!(args.interval)));
    let mut session = Session::begin(&args.common, settings)?;
    let stop = session.stop_flag();
    session.prepare(Threads {
        cpus: resolved.cpus.clone(),
        policy: piece.policy(),
        wants_real_time: true,
        sleeps: true,
        exit_latency_us: 0,
    });
    let work = piece.work();
    let cpus = u32::try_from(resolved.cpus.len()).unwrap_or(u32::MAX);
    let sign = session.voice().sign(Some(piece.unloaded * cpus));
    sign.step("without load");
    let unloaded = resolved.unloaded(&work, &stop)?;
    drop(sign);
    let plan = Plan {
        threads: resolved.threads(&work, &unloaded),
        duration: Some(piece.duration),
        limits: Limits::default(),
        freeze_trace: None,
        split: None,
        tick: None,
    };

    let measurement = session.start()?;
    let sign = measurement.voice().sign(plan.duration);
    let outcome = latency::measure(&plan, &stop, &mut |threads| {
        sign.show(|| progress(threads));
    })?;
    drop(sign);
    let began = json!(outcome.began_ns);
    let mut finished = measurement.finish(Figures {
        seconds: Some(outcome.seconds),
        series: resolved.series(&outcome, &unloaded),
        counted: Some(LATENCY),
        doubts: all_doubts(&outcome, &unloaded),
        failure: failure(&outcome, SourceKind::Timer),
        ..Figures::default()
    });
    let options = &mut finished.document.setup.options;
    options.insert(BEGAN_NS.to_owned(), began);
    finished.publish_table(|document| table(document, &piece.in_words(), resolved.interval_us))?;
    Ok(ExitCode::SUCCESS)
}

impl Resolved {
    /// What the work takes on each CPU while nothing else is measured, one after the other.
    fn unloaded(&self, work: &Work, stop: &AtomicUsize) -> anyhow::Result<Vec<exec::Samples>> {
        let mut all = Vec::new();
        for cpu in self.cpus.iter() {
            let plan = exec::Plan {
                work,
                cpu,
                policy: self.piece.policy(),
                duration: self.piece.unloaded,
                t_min_ns: None,
            };
            let samples = exec::measure(&plan, stop, &mut |_| ())?;
            let t_min_ns = shortest_ns(&samples.time);
            if t_min_ns > self.interval_us * 1000 / PERIOD_DIVISOR {
                let t_min_us = t_min_ns / 1000;
                return Err(UsageError(format!(
                    "the work takes {t_min_us} us on CPU {cpu}, more than half of the period of {} us; \
                     choose a longer period (-i) or less work (--count)",
                    self.interval_us
                ))
                .into());
            }
            all.push(samples);
        }
        Ok(all)
    }

    fn threads<'a>(&self, work: &'a Work, unloaded: &[exec::Samples]) -> Vec<ThreadPlan<'a>> {
        let threads = self
            .cpus
            .iter()
            .zip(unloaded)
            .map(|(cpu, unloaded)| ThreadPlan {
                request: Request {
                    kind: SourceKind::Timer,
                    interval_ns: self.interval_us * 1000,
                    seed: None,
                    cpu: Some(cpu),
                    allowed: self.cpus.clone(),
                    rtc: PathBuf::new(),
                    gpio: None,
                },
                policy: self.piece.policy(),
                task: Some(Task {
                    work,
                    t_min_ns: shortest_ns(&unloaded.time),
                }),
            });
        threads.collect()
    }

    fn series(&self, outcome: &Outcome, unloaded: &[exec::Samples]) -> Vec<Series> {
        let cpus: Vec<u32> = self.cpus.iter().collect();
        let mut all = series(outcome, cpus.iter().copied().map(Some));
        for ((measured, unloaded), cpu) in outcome.threads.iter().zip(unloaded).zip(&cpus) {
            if let Some(work) = &measured.samples.work {
                all.extend(exec::series(*cpu, unloaded, work));
            }
        }
        all
    }
}

fn all_doubts(outcome: &Outcome, unloaded: &[exec::Samples]) -> Vec<Warning> {
    let threads = outcome.threads.iter().zip(unloaded);
    let found = threads.flat_map(|(measured, unloaded)| {
        let fastest = measured.samples.work.as_ref();
        let fastest_ns = fastest.map_or(u64::MAX, |work| shortest_ns(&work.time));
        doubts(shortest_ns(&unloaded.time), fastest_ns)
    });
    found.collect()
}
