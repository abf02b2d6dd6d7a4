// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure jitter`: what the system costs threads that compute equal pieces and wait for
//! each other.

use super::common::Common;
use super::{cpus, piece};
use crate::cli::value;
use crate::machine::CpuList;
use crate::measure::jitter::series::series;
use crate::measure::jitter::{self, Plan, Samples};
use crate::measure::live::Live;
use crate::measure::reference;
use crate::measure::routine::Routine;
use crate::report::jitter::table;
use crate::report::live::so_far;
use crate::result::names::ROUND;
use crate::result::{Distribution, Warning};
use artis_run::session::{Figures, Session, Threads};
use serde_json::json;
use std::process::ExitCode;

/// Measure the OS noise of barrier-based computing
#[derive(clap::Args)]
#[command(
    mut_arg("priority", |arg| arg.default_value("0")),
    mut_arg("count", |arg| arg.help("Steps in a piece of work [default: 100000; 10000 of memory and syscall]")),
    after_help = "Threads compute equal pieces and meet at a barrier, round after round; all wait for the \
                  slowest. Reported are the time lost against the ideal (each piece as short as without \
                  load), the noise of each thread, and how often each was the slowest. The policy is the \
                  normal one by default, as such programs have; with a priority the threads rest for a \
                  tenth of the time, so that the machine stays usable.\n\n\
                  Example:\n  artis measure jitter -a 0-3 -D 1m --json jitter.json"
)]
pub struct Args {
    /// CPUs, one thread on each [default: all that are allowed]
    #[arg(short = 'a', long, value_name = "LIST", value_parser = value::cpus::own)]
    cpus: Option<CpuList>,
    #[command(flatten)]
    piece: piece::Options,
    #[command(flatten)]
    common: Common,
}

/// Programs of this kind synchronise about every millisecond at the finest: a piece is this part of
/// the work of `measure exec`.
const PIECE_OF_EXEC: u32 = 10;

fn default_count(routine: Routine) -> u32 {
    routine.default_count() / PIECE_OF_EXEC
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let chosen = cpus::resolve(args.cpus.as_ref())?;
    let piece = args.piece.resolve(default_count)?;
    let mut plan = Plan {
        cpus: chosen.iter().collect(),
        policy: piece.policy(),
        routine: piece.routine,
        count: piece.count,
        duration: piece.unloaded,
        ideal_ns: Vec::new(),
    };
    let mut session = Session::begin(&args.common, piece.settings(("cpus", json!(chosen))))?;
    let stop = session.stop_flag();
    session.prepare(Threads {
        cpus: chosen,
        policy: plan.policy,
        wants_real_time: false,
        // Threads that only compute never let their CPUs idle.
        sleeps: plan.policy.is_real_time(),
        exit_latency_us: 0,
    });
    let sign = session.voice().sign(Some(piece.unloaded));
    sign.step("without load");
    let unloaded = jitter::measure(&plan, &stop, None)?;
    drop(sign);
    plan.ideal_ns = unloaded.pieces.iter().map(reference::shortest_ns).collect();
    plan.duration = piece.duration;

    let measurement = session.start()?;
    let sign = measurement.voice().sign(Some(piece.duration));
    let mut look = |live: &Live| {
        sign.show(|| so_far("longest round", live.max_ns(), live.count(), "rounds"));
    };
    let look = sign.is_seen().then_some(&mut look as &mut dyn FnMut(&Live));
    let loaded = jitter::measure(&plan, &stop, look)?;
    drop(sign);
    let finished = measurement.finish(Figures {
        seconds: Some(loaded.rounds.seconds),
        series: series(&plan, &unloaded, &loaded),
        counted: Some(ROUND),
        doubts: doubts(&plan, &loaded),
        ..Figures::default()
    });
    let piece = format!("{} {}", plan.count, plan.routine.steps());
    finished.publish_table(|document| table(document, &piece, plan.policy))?;
    Ok(ExitCode::SUCCESS)
}

/// Doubts about the ideal of the thread that was furthest below its own.
fn doubts(plan: &Plan, loaded: &Samples) -> Vec<Warning> {
    let least_ns = |noise: &Distribution| noise.moments().map_or(0, |moments| moments.min);
    let below = plan
        .ideal_ns
        .iter()
        .zip(&loaded.pieces)
        .map(|(ideal_ns, noise)| (*ideal_ns, least_ns(noise)))
        .min_by_key(|(_, least_ns)| *least_ns);
    below.map_or_else(Vec::new, |(ideal_ns, least_ns)| {
        reference::doubts(ideal_ns, ideal_ns.saturating_add_signed(least_ns))
    })
}
