// SPDX-License-Identifier: GPL-2.0-only
//! `artis result`: look at result files, join them, turn them into other formats and back. One
//! file a subcommand.

mod convert;
mod merge;
mod show;

use crate::cli::exit::UsageError;
use crate::cli::progress::Sign;
use crate::result::Document;
use crate::result::file::read_text;
use crate::result::import::{self, TimeUnit};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis result show before.json after.json")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Show(show::Args),
    Merge(merge::Args),
    Convert(convert::Args),
}

/// How to read the files, for all of these commands.
#[derive(clap::Args)]
struct Source {
    /// Format of the files, where their content does not show it
    #[arg(long, value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(import::names()))]
    from: Option<String>,
    /// Unit of their numbers, where the format does not say [default: us]
    #[arg(long, value_enum)]
    unit: Option<UnitArg>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum UnitArg {
    Ns,
    Us,
}

impl Source {
    fn read(&self, path: &Path) -> anyhow::Result<Document> {
        self.parse(path, &read_text(path)?)
    }

    /// Understands what was read at `path`.
    fn parse(&self, path: &Path, content: &[u8]) -> anyhow::Result<Document> {
        let unit = self.unit.map(|unit| match unit {
            UnitArg::Ns => TimeUnit::Nanoseconds,
            UnitArg::Us => TimeUnit::Microseconds,
        });
        match import::parse(path, content, self.from.as_deref(), unit) {
            Err(error @ import::Error::UnitKnown { .. }) => {
                Err(UsageError(error.to_string()).into())
            }
            other => Ok(other?),
        }
    }

    /// Reads all files; standard input can be one of them.
    fn read_all(&self, paths: &[PathBuf]) -> anyhow::Result<Vec<Document>> {
        once(paths)?;
        let sign = Sign::of("reading");
        let each = sign.each(paths, "files");
        each.map(|path| self.read(path)).collect()
    }
}

/// Standard input can be read only once.
fn once(paths: &[PathBuf]) -> Result<(), UsageError> {
    match paths.iter().filter(|path| path.as_os_str() == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(UsageError(
            "standard input (-) can be read only once".to_owned(),
        )),
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Show(args) => show::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Convert(args) => convert::run(&args),
    }
}
