// SPDX-License-Identifier: GPL-2.0-only
//! `artis demo inversion`: three threads and one lock, with and without priority inheritance.

use crate::cli::output::stdout;
use crate::cli::progress::Sign;
use crate::cli::signals::stop_on_signals;
use crate::cli::value;
use crate::explain::Document;
use crate::measure::inversion::{self, Plan};
use crate::recorder::{Recorder, Settings, Storage, Watched};
use crate::report::explain::inversion as report;
use crate::report::live::so_far;
use crate::task::syscall::affinity;
use artis_run::session::alone;
use artis_run::watching::document;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Show priority inversion, and what priority inheritance makes of it
///
/// Three SCHED_FIFO threads on one CPU: low takes a lock and works 2 ms with it; high asks for the
/// lock meanwhile; middle wants no lock, and computes 5 ms.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sudo artis demo inversion --cpu 1 --rounds 100")]
pub(super) struct Args {
    /// CPU of the threads [default: the last that is allowed]
    #[arg(long, value_name = "N", value_parser = value::cpus::one)]
    cpu: Option<u32>,
    /// How often, with and without inheritance
    #[arg(long, value_name = "N", default_value_t = 50)]
    #[arg(value_parser = value::number::whole(1..=10_000_u32))]
    rounds: u32,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let cpu = match args.cpu {
        Some(cpu) => cpu,
        None => affinity(0)?.last().unwrap_or(0),
    };
    let stop = stop_on_signals()?;
    let _alone = alone(&stop)?;
    let sign = Sign::new(true, Some(inversion::takes(args.rounds) * 2));
    let mut tried = Vec::new();
    for inherits in [false, true] {
        let plan = Plan {
            cpu,
            inherits,
            rounds: args.rounds,
        };
        tried.push(explained(plan, &stop, &sign)?);
        let signal = stop.load(Ordering::Relaxed);
        if signal != 0 {
            say!("artis: ended by signal {signal} before all rounds were made");
            break;
        }
    }
    drop(sign);
    let tried: Vec<_> = tried.iter().map(|(waits, one)| (&waits[..], one)).collect();
    stdout().text(&report::text(&tried))?;
    Ok(ExitCode::SUCCESS)
}

/// How long the high thread waited, and why it did the longest time.
fn explained(plan: Plan, stop: &AtomicUsize, sign: &Sign) -> anyhow::Result<(Vec<u64>, Document)> {
    let mut storage = Storage::uninit();
    let settings = Settings {
        worst: 1,
        threshold_ns: 0,
        until_ns: None,
    };
    let mut recorder = Recorder::load(&mut storage, settings)?;
    let began = Instant::now();
    let mut watched = 0;
    let mut refused = None;
    let step = match plan.inherits {
        false => "without inheritance, worst",
        true => "with inheritance, worst",
    };
    let waits = inversion::run(plan, stop, &mut |high, live| {
        sign.show(|| so_far(step, live.max_ns(), live.count(), "rounds"));
        if high != watched {
            refused = recorder.watch(&Watched::Thread(high)).err();
            watched = high;
        }
        recorder.poll();
    })?;
    if let Some(error) = refused {
        return Err(error.into());
    }
    recorder.finish();
    let ended_early = match stop.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(format!("signal {signal}")),
    };
    let document = document(&recorder, "high".to_owned(), began, ended_early);
    Ok((waits, document))
}
