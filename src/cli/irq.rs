// SPDX-License-Identifier: GPL-2.0-only
//! `artis irq`: where interrupts arrive, how often, and who handles them.

use super::duration;
use super::output::{print_json, stdout};
use super::progress::Sign;
use super::signals::{self, stop_on_signals};
use super::width;
use crate::machine::Root;
use crate::machine::interrupts::{self, Table};
use crate::machine::tasks;
use crate::report::interrupts::{Line, in_words, lines, so_far};
use anyhow::Context;
use serde::Serialize;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(after_help = "Example:\n  sudo artis irq -D 10")]
pub struct Args {
    /// How long to count: 1, 5s, 1m
    #[arg(short = 'D', long, value_name = "TIME", default_value = "1")]
    #[arg(value_parser = duration::parse)]
    duration: Duration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    /// How long interrupts were counted.
    seconds: f64,
    interrupts: Vec<Line>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let read = || -> anyhow::Result<Table> {
        interrupts::table(&root)?
            .with_context(|| format!("{} does not exist; is /proc mounted?", interrupts::FILE))
    };
    let stop = stop_on_signals()?;
    let (begin, before) = (Instant::now(), read()?);
    let sign = Sign::new(true, Some(args.duration));
    signals::sleep(args.duration, &stop, &mut || {
        sign.show(|| read().map_or_else(|_| String::new(), |now| so_far(&before, &now)));
    });
    drop(sign);
    let signal = stop.load(Ordering::Relaxed);
    if signal != 0 {
        say!("artis: ended by signal {signal}");
    }
    let after = read()?;
    let seconds = begin.elapsed().as_secs_f64();
    let devices = interrupts::of(&root, &after)?;
    let tasks = tasks::all(&root)?;
    let document = Document {
        schema: "artis.irq/1",
        seconds,
        interrupts: lines(&before, &after, seconds, devices, &tasks),
    };
    let mut out = stdout();
    if args.json {
        print_json(&mut out, &document)?;
    } else {
        out.text(&in_words(&document.interrupts, seconds, width::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}
