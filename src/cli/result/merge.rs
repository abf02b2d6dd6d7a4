// SPDX-License-Identifier: GPL-2.0-only
//! `artis result merge`: several runs as if they had been one.

use super::Source;
use crate::result::file::Target;
use crate::result::merge::{Error, merge};
use anyhow::Context;
use std::path::PathBuf;
use std::process::ExitCode;

/// Join results of equal runs into one file
#[derive(clap::Args)]
#[command(
    after_help = "Series are joined by name, kind, unit, CPU and thread. The same run twice is\n\
             refused. So are different programs, machines, settings or loads, because one run\n\
             could not have measured them.\n\n\
             Example:\n  artis result merge monday.json tuesday.json -o both.json"
)]
pub struct Args {
    /// Files of artis or another program; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to write; - is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Also join different programs, machines, settings or loads; leaves out what differs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    source: Source,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let documents = args.source.read_all(&args.files)?;
    let file = |number: usize| args.files[number - 1].display();
    let mut merged = merge(&documents, args.force)
        .map_err(anyhow::Error::new)
        .or_else(|error| match error.downcast_ref() {
            Some(Error::Same { one, other }) => {
                let files = format!("{} and {}", file(*one), file(*other));
                Err(error).context(files)
            }
            _ => Err(error),
        })?;
    if merged.setup.command.is_empty() {
        merged.setup.command = std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
    }
    // Not before: an older file of that name stays as it is on an error.
    Target::open(&args.output)?.write_document(&merged)?;
    Ok(ExitCode::SUCCESS)
}
