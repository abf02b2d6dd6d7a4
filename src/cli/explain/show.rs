// SPDX-License-Identifier: GPL-2.0-only
//! `artis explain show`: prints a written explanation again.

use super::files::{self, Files};
use crate::result::file::read_text;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print an explanation again, and write it in other forms
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis explain show late.json --svg pictures")]
pub(super) struct Args {
    /// A document of `artis explain run --json`; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    files: Files,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let text = read_text(&args.file)?;
    let document = files::parse(&args.file, &text)?;
    args.files.open()?.publish(&document)?;
    Ok(ExitCode::SUCCESS)
}
