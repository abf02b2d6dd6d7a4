// SPDX-License-Identifier: GPL-2.0-only
//! `artis-guest-sched`: artis's scheduler in the lab's guests.
//!
//! It is no part of `artis-guest`, so that a guest without it stays the same when the scheduler
//! changes: the figures of every other scheduler need not be measured again. What holds for that
//! program holds for this one, too: it is the same whoever builds it, and nobody types its words.
//! `artis-guest` starts it.

use anyhow::bail;
use artis_machine::{CpuList, Root};
use artis_sched::control::{self, Stopped};
use artis_sched::detector::Detector;
use artis_sched::runtime::Runtime;
use artis_sched::service;
use artis_sched::status::Status;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("artis-guest-sched: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does what `words` say.
fn run(words: &[&str]) -> anyhow::Result<()> {
    match words {
        ["run", rt] => schedule(&rt.parse()?, false),
        ["run", rt, "--cycle"] => schedule(&rt.parse()?, true),
        ["status"] => status(),
        ["stop"] => stop(),
        _ => bail!("it runs in the lab's guests, where artis starts it; see `artis lab --help`"),
    }
}

/// Schedules until [`stop`].
fn schedule(rt: &CpuList, cycle: bool) -> anyhow::Result<()> {
    let (detector, _) = Detector::best(&Root::default());
    // For whoever looks for a fault; when nobody can read it, the scheduler goes on.
    let mut say = |event| {
        let _ = writeln!(std::io::stderr(), "artis-guest-sched: {event:?}");
    };
    let outcome = service::run(rt, detector, cycle, false, &mut say)?;
    if !outcome.ending.was_asked_for() {
        bail!("{}", outcome.ending.in_words());
    }
    Ok(())
}

fn status() -> anyhow::Result<()> {
    let status = control::ask_status(&Runtime::default().socket())?;
    let status = serde_json::to_vec(&status.unwrap_or_else(Status::off))?;
    Ok(std::io::stdout().write_all(&status)?)
}

fn stop() -> anyhow::Result<()> {
    if control::ask_stop(&Runtime::default().socket())? == Stopped::NotOn {
        bail!("there is no scheduler to stop");
    }
    Ok(())
}
