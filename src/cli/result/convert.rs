// SPDX-License-Identifier: GPL-2.0-only
//! `artis result convert`: from any format that artis reads to any that it writes.

use super::Source;
use crate::cli::exit::UsageError;
use crate::cli::progress::Sign;
use crate::result::export::{EXPORTERS, Unfit, write};
use crate::result::file::Target;
use crate::result::import::OWN;
use crate::result::{Document, Series};
use std::path::PathBuf;
use std::process::ExitCode;

/// Turn a result into another format, or another program's into a result
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  artis result convert cyclictest.hist --to artis -o cyclictest.json"
)]
pub struct Args {
    /// File of artis or another program; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format to write
    #[arg(long, value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(formats()))]
    to: String,
    /// Where to write
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    output: PathBuf,
    /// Only series of this name
    #[arg(long, value_name = "NAME")]
    series: Option<String>,
    #[command(flatten)]
    source: Source,
}

fn formats() -> Vec<&'static str> {
    let foreign = EXPORTERS.iter().map(|exporter| exporter.name());
    std::iter::once(OWN).chain(foreign).collect()
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let sign = Sign::of("converting");
    let mut document = args.source.read(&args.file)?;
    if let Some(name) = &args.series {
        keep(&mut document, name)?;
    }
    let exporter = EXPORTERS.iter().find(|exporter| exporter.name() == args.to);
    let text = match exporter {
        None => None,
        Some(exporter) => {
            let series: Vec<&Series> = document.series.iter().collect();
            match write(*exporter, &document, &series) {
                Err(error @ Unfit::SeveralNames { .. }) => {
                    return Err(UsageError(error.to_string()).into());
                }
                written => Some(written?),
            }
        }
    };
    drop(sign);
    let target = Target::open(&args.output)?;
    match text {
        Some(text) => target.write(text.as_bytes())?,
        None => target.write_document(&document)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Keeps the series of one name.
fn keep(document: &mut Document, name: &str) -> Result<(), UsageError> {
    let mut names: Vec<String> = document.series.iter().map(|one| one.name.clone()).collect();
    document.series.retain(|series| series.name == name);
    if document.series.is_empty() {
        names.dedup();
        return Err(UsageError(format!(
            "there is no series {name:?}; there are {}",
            names.join(", ")
        )));
    }
    Ok(())
}
