// SPDX-License-Identifier: GPL-2.0-only
//! A simulation one event at a time: what happens, and what the scheduler decided.

use crate::cli::output::stdout;
use crate::sim::Sim;
use std::io::{BufRead, Write};
use std::process::ExitCode;

const HELP: &str = "Enter: the next event; a number: so many; t TIME_MS: up to then; n: to the next \
                    decision of the scheduler; q: the end\n";

pub fn run(mut sim: Sim<'_>) -> anyhow::Result<ExitCode> {
    sim.notes(true);
    sim.begin();
    let mut out = stdout();
    out.text(HELP)?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let mut words = line.split_whitespace();
        let goes_on = match (words.next(), words.next()) {
            (None, _) => step(&mut sim, &mut out, 1)?,
            (Some("q"), _) => break,
            (Some("n"), _) => to_decision(&mut sim, &mut out)?,
            (Some("t"), Some(ms)) => match ms.parse::<f64>() {
                Ok(ms) => up_to(&mut sim, &mut out, (ms * 1e6) as u64)?,
                Err(_) => help(&mut out)?,
            },
            (Some(count), _) => match count.parse() {
                Ok(count) => step(&mut sim, &mut out, count)?,
                Err(_) => help(&mut out)?,
            },
        };
        if !goes_on {
            out.text("the simulation has ended\n")?;
            break;
        }
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn help(out: &mut crate::cli::output::Output) -> anyhow::Result<bool> {
    out.text(HELP)?;
    Ok(true)
}

fn step(
    sim: &mut Sim<'_>,
    out: &mut crate::cli::output::Output,
    count: u64,
) -> anyhow::Result<bool> {
    for _ in 0..count {
        if !sim.advance() {
            return Ok(false);
        }
        show(sim, out)?;
    }
    Ok(true)
}

fn to_decision(sim: &mut Sim<'_>, out: &mut crate::cli::output::Output) -> anyhow::Result<bool> {
    loop {
        if !sim.advance() {
            return Ok(false);
        }
        if show(sim, out)? {
            return Ok(true);
        }
    }
}

fn up_to(
    sim: &mut Sim<'_>,
    out: &mut crate::cli::output::Output,
    at_ns: u64,
) -> anyhow::Result<bool> {
    while sim.now_ns() < at_ns {
        if !sim.advance() {
            return Ok(false);
        }
        show(sim, out)?;
    }
    Ok(true)
}

/// What happened. True: the scheduler decided something.
fn show(sim: &mut Sim<'_>, out: &mut crate::cli::output::Output) -> anyhow::Result<bool> {
    let notes = sim.take_notes();
    let mut text = format!(
        "{:>12.3} us  {}\n",
        sim.now_ns() as f64 / 1e3,
        sim.last_event()
    );
    for note in &notes {
        let name = sim.name_of(note.task as usize);
        text += &format!("                 {name}: {}\n", note.what);
    }
    out.text(&text)?;
    Ok(!notes.is_empty())
}
