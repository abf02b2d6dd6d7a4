// SPDX-License-Identifier: GPL-2.0-only
//! `artis scenario show`: what was understood of a file.

use super::super::output::{print_json, stdout};
use super::super::width;
use super::Source;
use crate::report::scenario;
use artis_scenario::Reading;
use serde::Serialize;
use std::process::ExitCode;

/// Show what was understood of a file: tasks, programs, what was ignored or assumed
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis scenario show tasks.json")]
pub struct Args {
    #[command(flatten)]
    source: Source,
    /// Print JSON (artis.scenario/1)
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    source: &'a str,
    #[serde(flatten)]
    reading: &'a Reading,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let reading = args.source.read()?;
    let mut out = stdout();
    if args.json {
        let document = Document {
            schema: "artis.scenario/1",
            source: &args.source.name(),
            reading: &reading,
        };
        print_json(&mut out, &document)?;
    } else {
        out.text(&scenario::shown(&reading, width::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}
