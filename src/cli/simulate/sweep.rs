// SPDX-License-Identifier: GPL-2.0-only
//! Sweeps: the simulations of a scenario for several machines, schedulers and seeds, and parts of
//! them that several machines do.

use super::{Args, Point, setup, simulate};
use crate::cli::exit::UsageError;
use crate::cli::output::stdout;
use crate::result::file;
use crate::sim::{Outcome, Scheduler};
use anyhow::Context;
use artis_scenario::Scenario;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// Part `at` of `of`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    at: usize,
    of: usize,
}

/// A line of a sweep.
#[derive(Serialize)]
struct Line<'a> {
    /// Its place in the whole sweep, and how many that has.
    number: usize,
    of: usize,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

/// Reads `2/4`.
pub fn shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(at, of)| Some((at.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((at, of)) if (1..=of).contains(&at) => Ok(Shard { at, of }),
        _ => Err("write a part and how many there are, such as 2/4".to_owned()),
    }
}

/// All simulations, in their order.
pub fn plan(args: &Args, scenario: &Scenario) -> anyhow::Result<Vec<Point>> {
    let rt = args.rt.as_ref().unwrap_or(&scenario.machine.rt_cpus);
    let mut schedulers: Vec<Scheduler> = args.scheduler.iter().map(|it| (*it).into()).collect();
    if schedulers.is_empty() {
        schedulers.push(if rt.is_empty() {
            Scheduler::Stock
        } else {
            Scheduler::Artis
        });
    }
    let mut cpus = args.cpus.clone();
    if cpus.is_empty() {
        let Some(own) = scenario.machine.cpus else {
            let sentence = "the scenario does not say how many CPUs there are; give --cpus 4";
            return Err(UsageError(sentence.to_owned()).into());
        };
        cpus.push(own);
    }
    let first = args.seed.unwrap_or(scenario.seed);
    let mut plan = Vec::new();
    for cpus in cpus {
        for scheduler in &schedulers {
            for nth in 0..args.seeds.max(1) {
                plan.push(Point {
                    scheduler: *scheduler,
                    cpus,
                    seed: first.wrapping_add(nth),
                });
            }
        }
    }
    Ok(plan)
}

/// The sweep, or its part: a line for each simulation.
pub fn run(args: &Args, scenario: &Scenario, plan: &[Point]) -> anyhow::Result<ExitCode> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let parts = cores.min(plan.len());
    // Standard input can be read once.
    let is_stream = args.files.iter().any(|path| path.as_os_str() == "-");
    match args.shard {
        Some(shard) => part(args, scenario, plan, shard),
        None if parts > 1 && !is_stream => on_all_cores(parts),
        None => part(args, scenario, plan, Shard { at: 1, of: 1 }),
    }
}

fn part(
    args: &Args,
    scenario: &Scenario,
    plan: &[Point],
    shard: Shard,
) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    for (number, point) in plan.iter().enumerate() {
        if number % shard.of != shard.at - 1 {
            continue;
        }
        let outcome = simulate(args, scenario, setup(args, scenario, point)?)?;
        let line = Line {
            number,
            of: plan.len(),
            outcome: &outcome,
        };
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Each core does a part, as a process of its own, because each has the scheduler's variables once.
fn on_all_cores(parts: usize) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find the program that runs")?;
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let children = (1..=parts).map(|at| {
        Command::new(&program)
            .args(&words)
            .arg("--shard")
            .arg(format!("{at}/{parts}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a part of the sweep")
    });
    let children = children.collect::<anyhow::Result<Vec<_>>>()?;
    // All are read at once, so that none waits for a reader.
    let readers: Vec<_> = children
        .into_iter()
        .map(|child| std::thread::spawn(move || child.wait_with_output()))
        .collect();
    let mut lines = BTreeMap::new();
    for reader in readers {
        let output = reader
            .join()
            .map_err(|_| anyhow::anyhow!("the reader of a part of the sweep failed"))?;
        let output = output.context("cannot read a part of the sweep")?;
        if !output.status.success() {
            // It has said why.
            let status = output
                .status
                .code()
                .and_then(|code| u8::try_from(code).ok());
            return Ok(ExitCode::from(status.unwrap_or(1)));
        }
        let text = String::from_utf8(output.stdout).context("a part of the sweep is no text")?;
        lines.extend(
            text.lines()
                .filter_map(|line| Some((place(line)?, line.to_owned()))),
        );
    }
    let mut out = stdout();
    for line in lines.values() {
        writeln!(out, "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The lines of shards, as the whole sweep would have printed them.
pub fn merge(files: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let mut lines: BTreeMap<u64, (String, PathBuf)> = BTreeMap::new();
    let mut of = 0;
    for path in files {
        let text = String::from_utf8(file::read_text(path)?);
        let text = text.with_context(|| format!("{} is no text", path.display()))?;
        for (at, line) in text.lines().enumerate() {
            let Some((number, all)) = place(line) else {
                let sentence = format!(
                    "{}, line {}: this is no line of a sweep; give what artis simulate --shard \
                     printed",
                    path.display(),
                    at + 1
                );
                return Err(UsageError(sentence).into());
            };
            of = all;
            let new = (line.to_owned(), path.clone());
            if let Some(old) = lines.insert(number, new)
                && old.0 != line
            {
                let sentence = format!(
                    "simulation {number} is in {} and {}, and differs; shards of one sweep have \
                     the same options",
                    old.1.display(),
                    path.display()
                );
                return Err(UsageError(sentence).into());
            }
        }
    }
    if let Some(missing) = (0..of).find(|number| !lines.contains_key(number)) {
        let sentence = format!("simulation {missing} is in none of the files; give all shards");
        return Err(UsageError(sentence).into());
    }
    let mut out = stdout();
    for (line, _) in lines.values() {
        writeln!(out, "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The number of a line, and of how many it is one.
fn place(line: &str) -> Option<(u64, u64)> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let number = |name| value.get(name)?.as_u64();
    number("number").zip(number("of"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_a_part_of_some() {
        assert_eq!(shard("2/4"), Ok(Shard { at: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }
}
