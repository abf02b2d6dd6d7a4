// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure exec`: how much the time of a fixed piece of work varies.

use super::session::{self, Common, Session};
use super::{cpus, piece, warnings};
use crate::cli::output::stdout;
use crate::cli::progress::LiveLine;
use crate::cli::result::tables;
use crate::cli::value;
use crate::measure::audit;
use crate::measure::exec::{self, Live, Samples};
use crate::measure::memory;
use crate::measure::routine::Work;
use crate::measure::thread::Policy;
use crate::result::{Distribution, Document, Kind, PERCENTILES, Series, Unit};
use anyhow::Context;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

/// Measure how much the execution time of a fixed piece of work varies
#[derive(clap::Args)]
#[command(
    mut_arg("count", |arg| arg.help("Steps in a piece of work [default: 1000000; 100000 of memory and syscall]")),
    after_help = "The work is done over and over on one CPU by one thread, memory locked, CPUs kept out of\n\
             deep idle states. What it takes at least without load (Tmin) is measured first; the\n\
             excess over it is what interrupts, other tasks and shared hardware cost. The thread\n\
             rests for a tenth of the time, so that the machine goes on.\n\n\
             Example:\n  artis measure exec -a 1 -D 1m --json exec.json"
)]
pub struct Args {
    /// CPU to bind the thread to [default: the last that is allowed]
    #[arg(short = 'a', long, value_name = "N", value_parser = value::cpus::one)]
    cpu: Option<u32>,
    #[command(flatten)]
    piece: piece::Options,
    #[command(flatten)]
    common: Common,
}

/// What the result calls the measured quantities.
pub(super) const TIME: &str = "execution_time";
pub(super) const UNLOADED: &str = "execution_time_unloaded";
pub(super) const EXCESS: &str = "excess";

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let chosen = cpus::resolve(args.cpu.map(|cpu| [cpu].into_iter().collect()).as_ref())?;
    let cpu = chosen.last().context("this process may use no CPU")?;
    let policy = args.piece.policy();
    let count = args.piece.count(args.piece.routine.default_count())?;
    let settings = args.piece.settings(count, ("cpu", json!(cpu)));
    let mut session = Session::begin(&args.common, settings)?;
    let stop = session.stop_flag();
    // Before the work's memory is made: it is then brought in and locked as it comes.
    let locked = memory::lock_and_prefault();
    let awake = session::keep_awake();
    let work = Work::new(args.piece.routine, count);
    let mut plan = exec::Plan {
        work: &work,
        cpu,
        policy,
        duration: args.piece.unloaded,
        t_min_ns: None,
    };
    let unloaded = exec::measure(&plan, &stop, &mut |_| ())?;
    let t_min_ns = piece::shortest_ns(&unloaded.time);
    plan.t_min_ns = Some(t_min_ns);
    plan.duration = args.piece.duration;

    session.start()?;
    let audit = warnings::begin(&audit::Plan {
        cpus: [cpu].into_iter().collect(),
        policy,
        wants_real_time: true,
        memory_locked: locked.is_ok(),
        dma_latency_held: awake.is_some(),
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
        let what = format!("{count} {}", args.piece.routine.steps());
        let table = table(&document, &what, cpu, policy, t_min_ns);
        stdout().write_all(table.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
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
