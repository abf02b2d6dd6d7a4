// SPDX-License-Identifier: GPL-2.0-only
//! `artis scenario check`: whether a file is a scenario.

use super::super::output::{print_json, stdout};
use super::Source;
use crate::report::scenario;
use artis_scenario::format::NoteKind;
use serde_json::json;
use std::process::ExitCode;

/// Say whether a file is a scenario: line, column, what is allowed
///
/// Prints a line of what there is, and doubts: what is read and hardly meant.
#[derive(clap::Args)]
#[command(after_help = "Status: 0 it is one, 64 it is none.\n\n\
                  Example:\n  artis scenario check tasks.json")]
pub struct Args {
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let reading = args.source.read()?;
    let mut out = stdout();
    if args.json {
        let document = json!({
            "schema": "artis.scenario-check/1",
            "source": args.source.name(),
            "format": reading.format,
            "tasks": reading.scenario.instances(),
            "ends": reading.scenario.ends(),
            "notes": reading.notes,
        });
        print_json(&mut out, &document)?;
        return Ok(ExitCode::SUCCESS);
    }
    out.text(&scenario::brief(&args.source.name(), &reading))?;
    out.text(&scenario::notes(&reading.notes, &[NoteKind::Doubt]))?;
    Ok(ExitCode::SUCCESS)
}
