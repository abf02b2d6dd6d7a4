// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure jitter`: what the system costs threads that compute equal pieces and wait for
//! each other.

use super::exec::under_load;
use super::session::{self, Common, Session};
use super::{cpus, piece, warnings};
use crate::cli::output::stdout;
use crate::cli::result::tables;
use crate::cli::value;
use crate::machine::CpuList;
use crate::measure::audit;
use crate::measure::jitter::{self, Plan, Samples};
use crate::measure::memory;
use crate::measure::thread::Policy;
use crate::result::{Distribution, Document, Kind, Series, Unit};
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

/// Measure the OS noise of barrier-based computing
#[derive(clap::Args)]
#[command(
    mut_arg("priority", |arg| arg.default_value("0")),
    mut_arg("count", |arg| arg.help("Steps in a piece of work [default: 100000; 10000 of memory and syscall]")),
    after_help = "Threads compute equal pieces and meet at a barrier, round after round; all wait for\n\
             whoever was disturbed. Told are the time lost against the ideal, where every piece takes\n\
             as long as its shortest did before any load, the noise of each thread, and who was the\n\
             slowest how often. A normal policy by default, as such programs have; with a priority\n\
             the threads rest for a tenth of the time, so that the machine goes on.\n\n\
             Example:\n  artis measure jitter -a 0-3 -D 1m --json jitter.json"
)]
pub struct Args {
    /// CPUs, one thread on each [default: all that are allowed]
    #[arg(short = 'a', long, value_name = "LIST", value_parser = value::cpus::list)]
    cpus: Option<CpuList>,
    #[command(flatten)]
    piece: piece::Options,
    #[command(flatten)]
    common: Common,
}

/// What the result calls the measured quantities.
const ROUND: &str = "round";
const LOST: &str = "lost";
const NOISE: &str = "noise";
const SLOWEST: &str = "slowest";
const UNLOADED: &str = "piece_unloaded";

/// Programs of this kind synchronise about every millisecond at the finest.
const PIECE_OF_EXEC: u32 = 10;

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let chosen = cpus::resolve(args.cpus.as_ref())?;
    let policy = args.piece.policy();
    let default = args.piece.routine.default_count() / PIECE_OF_EXEC;
    let mut plan = Plan {
        cpus: chosen.iter().collect(),
        policy,
        routine: args.piece.routine,
        count: args.piece.count(default)?,
        duration: args.piece.unloaded,
        ideal_ns: Vec::new(),
    };
    let settings = args.piece.settings(plan.count, ("cpus", json!(chosen)));
    let mut session = Session::begin(&args.common, settings)?;
    let stop = session.stop_flag();
    // Before the threads' memory is made: it is then brought in and locked as it comes.
    let locked = memory::lock_and_prefault();
    // Threads that only compute never let their CPUs idle.
    let sleeps = policy != Policy::Normal;
    let awake = sleeps.then(session::keep_awake).flatten();
    let unloaded = jitter::measure(&plan, &stop)?;
    plan.ideal_ns = unloaded.pieces.iter().map(piece::shortest_ns).collect();
    plan.duration = args.piece.duration;

    session.start()?;
    let audit = warnings::begin(&audit::Plan {
        cpus: chosen.clone(),
        policy,
        wants_real_time: false,
        memory_locked: locked.is_ok(),
        dma_latency_held: awake.is_some(),
        sleeps,
    });
    let loaded = jitter::measure(&plan, &stop)?;
    let (document, table_wanted) = session.finish(|document| {
        document.seconds = Some(loaded.rounds.seconds);
        warnings::conclude(document, audit, &samples(&loaded), doubts(&plan, &loaded));
        document.series = series(&plan, &unloaded, &loaded);
    })?;
    if table_wanted {
        stdout().write_all(table(&document, &plan, &chosen).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn samples(loaded: &Samples) -> [audit::Samples<'static>; 1] {
    [audit::Samples {
        series: ROUND,
        count: loaded.rounds.time.count(),
    }]
}

/// Doubts about the ideal of the thread that was furthest below its own.
fn doubts(plan: &Plan, loaded: &Samples) -> Vec<crate::result::Warning> {
    let least_ns = |noise: &Distribution| noise.moments().map_or(0, |moments| moments.min);
    let below = plan
        .ideal_ns
        .iter()
        .zip(&loaded.pieces)
        .map(|(ideal_ns, noise)| (*ideal_ns, least_ns(noise)))
        .min_by_key(|(_, least_ns)| *least_ns);
    below.map_or_else(Vec::new, |(ideal_ns, least_ns)| {
        piece::doubts(ideal_ns, ideal_ns.saturating_add_signed(least_ns))
    })
}

fn series(plan: &Plan, unloaded: &Samples, loaded: &Samples) -> Vec<Series> {
    let whole = |name, kind, values: &Distribution| {
        Series::new(name, kind, Unit::Nanoseconds, values.clone())
    };
    let mut all = vec![
        Series {
            max_at_s: Some(loaded.rounds.max_at_s),
            ..whole(ROUND, Kind::Duration, &loaded.rounds.time)
        },
        whole(LOST, Kind::Noise, &loaded.rounds.lost),
    ];
    for (index, cpu) in plan.cpus.iter().enumerate() {
        let of_thread = |series| Series {
            cpu: Some(*cpu),
            thread: u32::try_from(index).ok(),
            ..series
        };
        let mut slowest = Distribution::new();
        slowest.record(loaded.rounds.slowest[index].cast_signed());
        all.push(of_thread(whole(NOISE, Kind::Noise, &loaded.pieces[index])));
        all.push(of_thread(Series::new(
            SLOWEST,
            Kind::Count,
            Unit::Count,
            slowest,
        )));
        all.push(of_thread(whole(
            UNLOADED,
            Kind::ExecutionTime,
            &unloaded.pieces[index],
        )));
    }
    all
}

fn us(ns: f64) -> f64 {
    ns / 1000.0
}

/// The result for people.
fn table(document: &Document, plan: &Plan, cpus: &CpuList) -> String {
    if document.is_emulated() {
        return tables(document);
    }
    let mut text = String::new();
    let of = |name: &'static str| {
        document
            .series
            .iter()
            .filter(move |series| series.name == name)
    };
    let (Some(round), Some(lost)) = (of(ROUND).next(), of(LOST).next()) else {
        return text;
    };
    let (Some(time), Some(loss)) = (round.distribution.moments(), lost.distribution.moments())
    else {
        return text;
    };
    let ideal_us = us((time.min - loss.min) as f64);
    let _ = writeln!(
        text,
        "{} rounds of {} x {} {}, CPUs {cpus}, {}\n\
         ideal {ideal_us:.3} us a round, from the shortest pieces before any load\n\
         {:.2} % of {:.1} s lost, {}\n\
         the longest round lost {:.1} us, after {:.2} s\n\n\
         {:8} {:>9} {:>11} {:>11} {:>11} {:>11} {:>11}",
        time.count,
        plan.cpus.len(),
        plan.count,
        plan.routine.steps(),
        plan.policy,
        loss.mean * 100.0 / time.mean,
        document.seconds.unwrap_or(0.0),
        under_load(document),
        us(loss.max as f64),
        round.max_at_s.unwrap_or(0.0),
        "lost",
        "slowest %",
        "mean us",
        "50 % us",
        "99 % us",
        "99.9 % us",
        "max us",
    );
    for (noise, slowest) in of(NOISE).zip(of(SLOWEST)) {
        let times = slowest.distribution.moments().map_or(0.0, |once| once.mean);
        let share = format!("{:.1}", times * 100.0 / time.count as f64);
        let name = format!("CPU {}", noise.cpu.unwrap_or(0));
        text += &row(&name, &share, &noise.distribution);
    }
    text += &row("round", "", &lost.distribution);
    text
}

fn row(name: &str, share: &str, values: &Distribution) -> String {
    let Some(moments) = values.moments() else {
        return String::new();
    };
    let at = |percent| {
        let value = values.supported_percentile(percent);
        value.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", us(ns as f64)))
    };
    format!(
        "{name:8} {share:>9} {:11.3} {:>11} {:>11} {:>11} {:11.3}\n",
        us(moments.mean),
        at(50.0),
        at(99.0),
        at(99.9),
        us(moments.max as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::jitter::Rounds;
    use crate::measure::routine::Routine;
    use crate::result::Setup;
    use std::time::Duration;

    fn values(all: &[i64]) -> Distribution {
        let mut distribution = Distribution::signed();
        for value in all {
            distribution.record(*value);
        }
        distribution
    }

    #[test]
    fn the_table_tells_what_is_lost_and_by_whom() {
        let plan = Plan {
            cpus: vec![0, 2],
            policy: Policy::Normal,
            routine: Routine::Integer,
            count: 10,
            duration: Duration::from_secs(1),
            ideal_ns: vec![100_000, 100_000],
        };
        let mut rounds = Rounds::new(2, 100_000);
        rounds.record(1000, [101_000, 151_000].into_iter());
        rounds.record(201_000, [301_000, 301_000].into_iter());
        let loaded = Samples {
            pieces: vec![values(&[0, 0]), values(&[50_000, 0])],
            rounds,
        };
        let mut document = Document::new(Setup::default());
        document.series = series(&plan, &loaded, &loaded);
        let text = table(&document, &plan, &"0,2".parse().unwrap());
        // 50 of 250 us.
        assert!(
            text.contains("20.00 %") && text.contains("ideal 100.000 us"),
            "{text}"
        );
        let line = text.lines().find(|line| line.starts_with("CPU 2")).unwrap();
        let fields: Vec<_> = line.split_whitespace().collect();
        // Two rounds: nothing lies beyond 99 %.
        assert_eq!(
            fields,
            ["CPU", "2", "50.0", "25.000", "0.000", "-", "-", "50.000"]
        );
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
