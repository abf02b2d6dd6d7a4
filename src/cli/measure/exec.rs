// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure exec`: how much the time of a fixed piece of work varies.

use super::common::Common;
use super::{cpus, piece};
use crate::cli::value;
use crate::measure::exec;
use crate::measure::reference::{doubts, shortest_ns};
use crate::measure::routine::Routine;
use crate::report::execution;
use crate::report::live::so_far;
use crate::result::names::EXECUTION_TIME;
use anyhow::Context;
use artis_run::session::{Figures, Session, Threads};
use serde_json::json;
use std::process::ExitCode;

/// Measure how much the execution time of a fixed piece of work varies
#[derive(clap::Args)]
#[command(
    mut_arg("count", |arg| arg.help("Steps in a piece of work [default: 1000000; 100000 of memory and syscall]")),
    after_help = "One thread does the work over and over on one CPU, its memory locked, CPUs kept out of \
                  deep idle states. The shortest time without load (Tmin) is measured first; the excess \
                  over it is what interrupts, other tasks and shared hardware cost. The thread rests for \
                  a tenth of the time, so that the machine stays usable.\n\n\
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

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let chosen = cpus::resolve(args.cpu.map(|cpu| [cpu].into_iter().collect()).as_ref())?;
    let cpu = chosen.last().context("this process may use no CPU")?;
    let piece = args.piece.resolve(Routine::default_count)?;
    let mut session = Session::begin(&args.common, piece.settings(("cpu", json!(cpu))))?;
    let stop = session.stop_flag();
    session.prepare(Threads {
        cpus: [cpu].into_iter().collect(),
        policy: piece.policy(),
        wants_real_time: true,
        sleeps: true,
        exit_latency_us: 0,
    });
    let work = piece.work();
    let mut plan = exec::Plan {
        work: &work,
        cpu,
        policy: piece.policy(),
        duration: piece.unloaded,
        t_min_ns: None,
    };
    let sign = session.voice().sign(Some(piece.unloaded));
    sign.step("without load");
    let unloaded = exec::measure(&plan, &stop, &mut |_| ())?;
    drop(sign);
    let t_min_ns = shortest_ns(&unloaded.time);
    plan.t_min_ns = Some(t_min_ns);
    plan.duration = piece.duration;

    let measurement = session.start()?;
    let sign = measurement.voice().sign(Some(piece.duration));
    let loaded = exec::measure(&plan, &stop, &mut |live| {
        let excess_ns = (live.max_ns() - t_min_ns.cast_signed()).max(0);
        sign.show(|| so_far("worst excess", excess_ns, live.count(), "samples"));
    })?;
    drop(sign);
    let finished = measurement.finish(Figures {
        seconds: Some(loaded.seconds),
        series: exec::series(cpu, &unloaded, &loaded),
        counted: Some(EXECUTION_TIME),
        doubts: doubts(t_min_ns, shortest_ns(&loaded.time)),
        ..Figures::default()
    });
    finished.publish_table(|document| {
        execution::table(document, &piece.in_words(), cpu, piece.policy())
    })?;
    Ok(ExitCode::SUCCESS)
}
