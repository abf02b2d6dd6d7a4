// SPDX-License-Identifier: GPL-2.0-only
//! `artis result merge`: several runs as if they had been one.

use super::Source;
use crate::result::file::Target;
use crate::result::merge::merge;
use std::path::PathBuf;
use std::process::ExitCode;

/// Join results of equal runs into one file
#[derive(clap::Args)]
#[command(
    after_help = "Series are joined by name, kind, unit, CPU and thread. Files of different programs,\n\
             machines, settings or loads are refused, because one run could not have measured them.\n\n\
             Example:\n  artis result merge monday.json tuesday.json -o both.json"
)]
pub struct Args {
    /// Files of artis or another program; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to write; - is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Also join what does not belong together; what differs is left out
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    source: Source,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let documents = args.source.read_all(&args.files)?;
    let mut merged = merge(&documents, args.force)?;
    if merged.setup.command.is_empty() {
        merged.setup.command = std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
    }
    // Not before: the output may be one of the files, and stays as it is on an error.
    Target::open(&args.output)?.write_document(&merged)?;
    Ok(ExitCode::SUCCESS)
}
