// SPDX-License-Identifier: GPL-2.0-only
//! What the words on the command line of `artis-guest` mean.

use anyhow::{Context, bail};
use artis_guest::{experiment, ports};
use artis_load::seed::Seed;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// Does what `words` say.
pub fn run(words: &[&str]) -> anyhow::Result<()> {
    match words {
        ["ports", folder] => Ok(ports::run(Path::new(folder))?),
        ["experiment", task] => experiment(task),
        ["responsiveness", task] => responsiveness(task),
        _ => bail!("it runs in the lab's guests, where artis starts it; see `artis lab --help`"),
    }
}

/// Does one task of an experiment and prints the sample.
fn experiment(task: &str) -> anyhow::Result<()> {
    let task = serde_json::from_str(task).context("cannot read the task of the experiment")?;
    let seed = Seed::of_this_run().unwrap_or_else(|| Seed::new(0));
    print(&experiment::run::run(&task, seed)?)
}

/// The part of an experiment's task that needs a process of its own.
fn responsiveness(task: &str) -> anyhow::Result<()> {
    let task = serde_json::from_str(task).context("cannot read the task of the experiment")?;
    print(&experiment::responsiveness::run(&task)?)
}

fn print(document: &impl Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, document).map_err(io::Error::from)?;
    Ok(out.flush()?)
}
