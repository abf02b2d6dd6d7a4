// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure exec`: how much the time of a fixed piece of work varies.

use super::session::{Common, Session};
use super::{cpus, piece, warnings};
use crate::cli::duration;
use crate::cli::output::stdout;
use crate::cli::progress::LiveLine;
use crate::cli::result::tables;
use crate::machine::Root;
use crate::measure::audit;
use crate::measure::dma_latency::DmaLatency;
use crate::measure::exec::{self, Live, Samples};
use crate::measure::memory;
use crate::measure::routine::{Routine, Work};
use crate::measure::thread::{PRIORITY, Policy};
use crate::result::{Distribution, Document, Kind, PERCENTILES, Series, Unit};
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

/// Measure how much the execution time of a fixed piece of work varies
#[derive(clap::Args)]
#[command(
    after_help = "The work is done over and over on one CPU by one thread, memory locked, CPUs kept out of\n\
             deep idle states. What it takes at least without load (Tmin) is measured first; the\n\
             excess over it is what interrupts, other tasks and shared hardware cost. The thread\n\
             rests for a tenth of the time, so that the machine goes on.\n\n\
             Example:\n  artis measure exec -a 1 -D 1m --json exec.json"
)]
pub struct Args {
    /// CPU to bind the thread to [default: the last that is allowed]
    #[arg(short = 'a', long, value_name = "N")]
    cpu: Option<u32>,
    /// SCHED_FIFO priority of the thread, 1 to 99; 0 is the normal policy
    #[arg(short, long, value_name = "PRIO", default_value_t = PRIORITY)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=99))]
    priority: u8,
    /// Kind of work: integer or float (divisions), memory (loads), syscall
    #[arg(long, value_enum, default_value_t = Routine::Integer, hide_possible_values = true)]
    routine: Routine,
    /// Steps in a piece of work [default: 1000000; 100000 of memory and syscall]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// How long: seconds, or with a unit: 90s, 5m, 12h, 1d
    #[arg(short = 'D', long, value_name = "TIME", default_value = "10s", value_parser = duration::parse)]
    duration: Duration,
    /// How long the run for Tmin is, before any load
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse)]
    unloaded: Duration,
    #[command(flatten)]
    common: Common,
}

/// What the result calls the measured quantities.
pub(super) const TIME: &str = "execution_time";
pub(super) const UNLOADED: &str = "execution_time_unloaded";
pub(super) const EXCESS: &str = "excess";

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let chosen = cpus::resolve(args.cpu.map(|cpu| [cpu].into_iter().collect()).as_ref())?;
    let cpu = chosen.last().context("this process may use no CPU")?;
    let policy = Policy::from_priority(args.priority);
    let count = piece::count(args.routine, args.count, args.routine.default_count())?;
    let mut session = Session::begin(&args.common, args.settings(cpu, count))?;
    let stop = session.stop_flag();
    // Before the work's memory is made: it is then brought in and locked as it comes.
    let locked = memory::lock_and_prefault();
    let awake = DmaLatency::hold(&root, 0);
    if awake.is_ok() {
        eprintln!("artis: holding /dev/cpu_dma_latency at 0 us: no CPU idles deeply meanwhile");
    }
    let work = Work::new(args.routine, count);
    let mut plan = exec::Plan {
        work: &work,
        cpu,
        policy,
        duration: args.unloaded,
        t_min_ns: None,
    };
    let unloaded = exec::measure(&plan, &stop, &mut |_| ())?;
    let t_min_ns = piece::shortest_ns(&unloaded.time);
    plan.t_min_ns = Some(t_min_ns);
    plan.duration = args.duration;

    session.start()?;
    let audit = warnings::begin(&audit::Plan {
        cpus: [cpu].into_iter().collect(),
        policy,
        wants_real_time: true,
        memory_locked: locked.is_ok(),
        dma_latency_held: awake.is_ok(),
        sleeps: true,
    });
    let line = LiveLine::new();
    let loaded = exec::measure(&plan, &stop, &mut |live| line.show(|| told(live, t_min_ns)))?;
    drop(line);
    let (document, table_wanted) = session.finish(|document| {
        document.seconds = Some(loaded.seconds);
        let doubts = piece::doubts(t_min_ns, piece::shortest_ns(&loaded.time));
        warnings::conclude(document, audit, &samples(&loaded), doubts);
        document.series = series(cpu, &unloaded, &loaded);
    })?;
    if table_wanted {
        let what = format!("{count} {}", args.routine.steps());
        let table = table(&document, &what, cpu, policy, t_min_ns);
        stdout().write_all(table.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// What the result says of the options.
    fn settings(&self, cpu: u32, count: u32) -> BTreeMap<String, Value> {
        BTreeMap::from(
            [
                ("cpu", json!(cpu)),
                ("priority", json!(self.priority)),
                ("routine", json!(self.routine.name())),
                ("count", json!(count)),
                ("duration_s", json!(self.duration.as_secs_f64())),
                ("unloaded_s", json!(self.unloaded.as_secs_f64())),
            ]
            .map(|(key, value)| (key.to_owned(), value)),
        )
    }
}

fn told(live: &Live, t_min_ns: u64) -> String {
    let excess_us = live.max_ns().saturating_sub(t_min_ns) as f64 / 1000.0;
    format!("{} samples, worst excess {excess_us:.1} us", live.count())
}

fn samples(loaded: &Samples) -> [audit::Samples<'static>; 1] {
    [audit::Samples {
        series: TIME,
        count: loaded.time.count(),
    }]
}

pub(super) fn series(cpu: u32, unloaded: &Samples, loaded: &Samples) -> Vec<Series> {
    let series = |name, kind, values: &Distribution| Series {
        cpu: Some(cpu),
        ..Series::new(name, kind, Unit::Nanoseconds, values.clone())
    };
    vec![
        Series {
            max_at_s: Some(loaded.max_at_s),
            ..series(TIME, Kind::ExecutionTime, &loaded.time)
        },
        series(EXCESS, Kind::Noise, &loaded.excess),
        series(UNLOADED, Kind::ExecutionTime, &unloaded.time),
    ]
}

/// The result for people.
fn table(document: &Document, what: &str, cpu: u32, policy: Policy, t_min_ns: u64) -> String {
    if document.is_emulated() {
        return tables(document);
    }
    let mut text = String::new();
    let us = |ns: i64| ns as f64 / 1000.0;
    let t_min_us = t_min_ns as f64 / 1000.0;
    let of = |name: &str| document.series.iter().find(|series| series.name == name);
    let (Some(time), Some(excess), Some(unloaded)) = (of(TIME), of(EXCESS), of(UNLOADED)) else {
        return text;
    };
    let Some(moments) = excess.distribution.moments() else {
        return text;
    };
    let _ = writeln!(
        text,
        "{what} on CPU {cpu}, {policy}\n\
         Tmin {t_min_us:.3} us, of {} samples before any load\n\
         {} samples in {:.1} s, the longest after {:.2} s, {}\n\n\
         {:8} {:>14} {:>14} {:>10}",
        unloaded.distribution.count(),
        moments.count,
        document.seconds.unwrap_or(0.0),
        time.max_at_s.unwrap_or(0.0),
        under_load(document),
        "",
        "time us",
        "excess us",
        "excess %"
    );
    let mut row = |name: &str, excess_ns: i64| {
        let excess_us = us(excess_ns);
        let _ = writeln!(
            text,
            "{name:8} {:14.3} {excess_us:14.3} {:10.3}",
            t_min_us + excess_us,
            excess_us * 100.0 / t_min_us
        );
    };
    row("min", moments.min);
    row("mean", moments.mean.round() as i64);
    for (name, percent) in PERCENTILES {
        if let Some(value) = excess.distribution.supported_percentile(percent) {
            row(&format!("{name} %"), value);
        }
    }
    row("max", moments.max);
    text
}

/// The loads of a measurement, for its table.
pub(super) fn under_load(document: &Document) -> String {
    let names: Vec<&str> = document
        .load
        .iter()
        .map(|load| load.name.as_str())
        .collect();
    match names.as_slice() {
        [] => "without --load".to_owned(),
        names => format!("load: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Setup;

    fn values(all: &[i64]) -> Distribution {
        let mut distribution = Distribution::signed();
        for value in all {
            distribution.record(*value);
        }
        distribution
    }

    #[test]
    fn the_table_tells_excess_in_us_and_per_cent() {
        let samples = |time: &[i64], excess: &[i64]| Samples {
            time: values(time),
            excess: values(excess),
            max_at_s: 0.25,
            seconds: 1.0,
        };
        let mut document = Document::new(Setup::default());
        document.seconds = Some(1.0);
        document.series = series(
            1,
            &samples(&[1_000_000], &[]),
            &samples(&[1_000_500, 1_020_600], &[500, 20_600]),
        );
        let text = table(&document, "10 steps", 1, Policy::Fifo(98), 1_000_000);
        let row = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().skip(1).collect::<Vec<_>>()
        };
        assert_eq!(row("max"), ["1020.600", "20.600", "2.060"]);
        assert_eq!(row("min"), ["1000.500", "0.500", "0.050"]);
        assert!(text.contains("50 %") && !text.contains("90 %"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
