// SPDX-License-Identifier: GPL-2.0-only
//! `artis scenario`: sets of fake tasks, checked, shown and run.

mod check;
mod run;
mod show;

use super::exit::UsageError;
use crate::result::file;
use anyhow::Context;
use artis_scenario::{Format, Reading};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Judge a scheduler with fake tasks: read, show and run scenarios
///
/// A file is in the syntax of lb-micro, in rt-app's, or in artis's own TOML; what it begins with
/// says which.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sudo artis scenario run lab/scenario/ping-pong.toml")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(check::Args),
    Show(show::Args),
    Run(run::Args),
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Check(args) => check::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Run(args) => run::run(&args),
    }
}

/// The formats' names.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FormatName {
    LbMicro,
    RtApp,
    Toml,
}

/// A file, and its format where it is not found out.
#[derive(clap::Args)]
struct Source {
    /// Scenario; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The file's format, which else is found out
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FormatName>,
}

impl Source {
    fn name(&self) -> String {
        self.file.display().to_string()
    }

    /// What the file says; what is wrong with it is wrong usage.
    fn read(&self) -> anyhow::Result<Reading> {
        let format = self.format.map(|format| match format {
            FormatName::LbMicro => Format::LbMicro,
            FormatName::RtApp => Format::RtApp,
            FormatName::Toml => Format::Toml,
        });
        read(&self.file, format)
    }
}

/// Reads a scenario.
pub(super) fn read(path: &Path, format: Option<Format>) -> anyhow::Result<Reading> {
    let shown = path.display();
    let bytes = file::read_text(path)?;
    let text = String::from_utf8(bytes).with_context(|| format!("{shown} is no text"))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let reading = artis_scenario::read(&text, format, &name);
    reading.map_err(|error| UsageError(format!("{shown}: {error}")).into())
}
