// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure all`: latency, execution-time variation and the load's throughput of one
//! interval.
//!
//! Each thread is a small control loop: it wakes up periodically, which gives a latency, and
//! then does a fixed piece of work, which gives an execution time. Neither disturbs the other,
//! and both meet the same load.

use super::exec::{EXCESS, TIME, UNLOADED, under_load};
use super::latency::LATENCY;
use super::session::{self, Common, Session};
use super::{cpus, exec as exec_command, latency as latency_command, piece, warnings};
use crate::cli::exit::UsageError;
use crate::cli::output::stdout;
use crate::cli::progress::LiveLine;
use crate::cli::result::tables;
use crate::cli::value;
use crate::machine::CpuList;
use crate::measure::audit;
use crate::measure::exec;
use crate::measure::latency::sampler::{Limits, Task};
use crate::measure::latency::source::{Request, SourceKind};
use crate::measure::latency::{self, Plan, ThreadPlan};
use crate::measure::memory;
use crate::measure::routine::Work;
use crate::measure::thread::Policy;
use crate::result::{Distribution, Document};
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicUsize;

/// Measure latency, execution-time variation and the load's throughput in one run
#[derive(clap::Args)]
#[command(
    mut_arg("count", |arg| arg.help("Steps in a piece of work; it must leave half of the period free [default: 10000]")),
    mut_arg("unloaded", |arg| arg.default_value("500ms")),
    after_help = "One thread per CPU wakes up periodically and then does a fixed piece of work, as a\n\
             control loop does. What the work takes without load (Tmin) is measured first.\n\n\
             Example:\n  artis measure all -a 1 --load hackbench,cache -D 1m --json all.json"
)]
pub struct Args {
    /// CPUs to measure, one thread on each [default: all that are allowed]
    #[arg(short, long, value_name = "LIST", value_parser = value::cpus::list)]
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

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let chosen = cpus::resolve(args.affinity.as_ref())?;
    let count = args.piece.count(COUNT)?;
    let policy = args.piece.policy();
    let settings = args
        .piece
        .settings(count, ("interval_us", json!(args.interval)));
    let mut session = Session::begin(&args.common, settings)?;
    let stop = session.stop_flag();
    // Before the threads' memory is made: it is then brought in and locked as it comes.
    let locked = memory::lock_and_prefault();
    let awake = session::keep_awake();
    let work = Work::new(args.piece.routine, count);
    let unloaded = args.unloaded(&chosen, policy, &work, &stop)?;
    let cpus: Vec<u32> = chosen.iter().collect();
    let plan = Plan {
        threads: args.threads(&chosen, policy, &work, &unloaded),
        duration: Some(args.piece.duration),
        limits: Limits::default(),
        freeze_trace: None,
        split: None,
    };
    session.start()?;
    let audit = warnings::begin(&audit::Plan {
        cpus: chosen,
        policy,
        wants_real_time: true,
        memory_locked: locked.is_ok(),
        dma_latency_held: awake.is_some(),
        sleeps: true,
    });
    let line = LiveLine::new();
    let outcome = latency::measure(&plan, &stop, &mut |threads| {
        line.show(|| latency_command::told(threads));
    })?;
    drop(line);
    let (document, table_wanted) = session.finish(|document| {
        document.seconds = Some(outcome.seconds);
        let mut series = latency_command::series(&outcome, &cpus);
        for ((measured, unloaded), cpu) in outcome.threads.iter().zip(&unloaded).zip(&cpus) {
            if let Some(work) = &measured.samples.work {
                series.extend(exec_command::series(*cpu, unloaded, work));
            }
        }
        let doubts = outcome
            .threads
            .iter()
            .zip(&unloaded)
            .flat_map(|(measured, unloaded)| {
                let fastest = measured.samples.work.as_ref();
                let fastest_ns = fastest.map_or(u64::MAX, |work| piece::shortest_ns(&work.time));
                piece::doubts(piece::shortest_ns(&unloaded.time), fastest_ns)
            });
        let doubts = doubts.collect();
        warnings::conclude(document, audit, &latency_command::samples(&series), doubts);
        document.series = series;
    })?;
    if let Some(failure) = latency_command::failure(&outcome, SourceKind::Timer) {
        return Err(failure);
    }
    if table_wanted {
        let what = format!("{count} {}", args.piece.routine.steps());
        let table = table(&document, &what, args.interval);
        stdout().write_all(table.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// What the work takes on each CPU while nothing else is measured, one after the other.
    fn unloaded(
        &self,
        cpus: &CpuList,
        policy: Policy,
        work: &Work,
        stop: &AtomicUsize,
    ) -> anyhow::Result<Vec<exec::Samples>> {
        let mut all = Vec::new();
        for cpu in cpus.iter() {
            let plan = exec::Plan {
                work,
                cpu,
                policy,
                duration: self.piece.unloaded,
                t_min_ns: None,
            };
            let samples = exec::measure(&plan, stop, &mut |_| ())?;
            let t_min_ns = piece::shortest_ns(&samples.time);
            if t_min_ns > self.interval * 1000 / PERIOD_DIVISOR {
                let t_min_us = t_min_ns / 1000;
                return Err(UsageError(format!(
                    "the work takes {t_min_us} us on CPU {cpu}, more than half of the period of {} us; \
                     choose a longer period (-i) or less work (--count)",
                    self.interval
                ))
                .into());
            }
            all.push(samples);
        }
        Ok(all)
    }

    fn threads<'a>(
        &self,
        cpus: &CpuList,
        policy: Policy,
        work: &'a Work,
        unloaded: &[exec::Samples],
    ) -> Vec<ThreadPlan<'a>> {
        let threads = cpus.iter().zip(unloaded).map(|(cpu, unloaded)| ThreadPlan {
            request: Request {
                kind: SourceKind::Timer,
                interval_ns: self.interval * 1000,
                cpu: Some(cpu),
                allowed: cpus.clone(),
                rtc: PathBuf::new(),
                gpio: None,
            },
            policy,
            task: Some(Task {
                work,
                t_min_ns: piece::shortest_ns(&unloaded.time),
            }),
        });
        threads.collect()
    }
}

/// The result for people: three figures and what they rest on.
fn table(document: &Document, what: &str, interval_us: u64) -> String {
    if document.is_emulated() {
        return tables(document);
    }
    let mut text = String::new();
    let seconds = document.seconds.unwrap_or(0.0);
    let _ = writeln!(
        text,
        "{seconds:.1} s, every {interval_us} us {what}; {}\n\n\
         {:<22} {:>10} {:>10} {:>10} {:>10}",
        under_load(document),
        "us",
        "min",
        "mean",
        "99.9 %",
        "max"
    );
    let quantities = [
        ("wakeup latency", LATENCY),
        ("execution time", TIME),
        ("  of it excess", EXCESS),
    ];
    for (name, series) in quantities {
        if let Some(line) = document.merged(series).as_ref().and_then(figures) {
            let _ = writeln!(text, "{name:<22} {line}");
        }
    }
    let shortest = document.merged(UNLOADED).and_then(|all| all.moments());
    let excess = document.merged(EXCESS).and_then(|all| all.moments());
    if let (Some(t_min), Some(excess)) = (shortest.map(|all| all.min), excess) {
        let _ = writeln!(
            text,
            "  at most {:.1} % of Tmin, {:.3} us",
            excess.max as f64 * 100.0 / t_min as f64,
            t_min as f64 / 1000.0
        );
    }
    if !document.load.is_empty() {
        let _ = writeln!(
            text,
            "\n{:<22} {:>14} {:>14} {:>12}",
            "load", "work", "per second", "CPU seconds"
        );
    }
    for load in &document.load {
        let per_second = load.work / load.seconds.max(f64::MIN_POSITIVE);
        let cpu = load
            .cpu_seconds
            .map_or_else(|| "-".to_owned(), |s| format!("{s:.2}"));
        let _ = writeln!(
            text,
            "{:<22} {:>14.0} {per_second:>14.1} {cpu:>12} {}",
            load.name, load.work, load.unit
        );
    }
    text
}

fn figures(values: &Distribution) -> Option<String> {
    let moments = values.moments()?;
    let us = |ns: f64| format!("{:>10.3}", ns / 1000.0);
    let p99_9 = values.supported_percentile(99.9);
    Some(
        [
            us(moments.min as f64),
            us(moments.mean),
            p99_9.map_or_else(|| format!("{:>10}", "-"), |ns| us(ns as f64)),
            us(moments.max as f64),
        ]
        .join(" "),
    )
}
