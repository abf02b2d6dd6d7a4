// SPDX-License-Identifier: GPL-2.0-only
//! `artis result show`: results as tables, or as one JSON list.

use super::Source;
use crate::cli::output::{print_json, stdout};
use crate::report::result::in_words;
use crate::result::Document;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print results as tables: machine, setup, load, warnings and figures
#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis result show before.json after.json")]
pub struct Args {
    /// Files of artis or another program; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print a JSON list of the files and their results instead
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// One entry of `--json`.
#[derive(Serialize)]
struct Entry<'a> {
    file: String,
    result: &'a Document,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let documents = args.source.read_all(&args.files)?;
    let names = args.files.iter().map(|path| path.display().to_string());
    let mut out = stdout();
    if args.json {
        let entries: Vec<Entry> = names
            .zip(&documents)
            .map(|(file, result)| Entry { file, result })
            .collect();
        print_json(&mut out, &entries)?;
        return Ok(ExitCode::SUCCESS);
    }
    for (at, (name, document)) in names.zip(&documents).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        out.text(&in_words(&name, document))?;
    }
    Ok(ExitCode::SUCCESS)
}
