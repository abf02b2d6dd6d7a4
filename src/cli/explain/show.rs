// SPDX-License-Identifier: GPL-2.0-only
//! `artis explain show`: prints a written explanation again.

use super::files::{self, Files};
use crate::cli::exit::UsageError;
use crate::cli::output::stdout;
use crate::explain::rtla;
use crate::report::explain::rtla::text as words;
use crate::result::file::read_text;
use crate::result::import;
use anyhow::anyhow;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print an explanation again, and write it in other forms
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis explain show late.json --svg pictures")]
pub(super) struct Args {
    /// A document of `artis explain run --json`, or what rtla timerlat printed when it stopped; -
    /// is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    files: Files,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let text = read_text(&args.file)?;
    if let Some(analysis) = import::analysis(&text) {
        if !args.files.is_empty() {
            let reason = "rtla's analysis has no events, so there is only its text to show";
            return Err(UsageError(reason.to_owned()).into());
        }
        let all = rtla::read(&analysis);
        let all = all.map_err(|error| anyhow!("{}:{error}", args.file.display()))?;
        stdout().write_all(words(&all).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let document = files::parse(&args.file, &text)?;
    args.files.open()?.publish(&document)?;
    Ok(ExitCode::SUCCESS)
}
