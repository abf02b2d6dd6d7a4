// SPDX-License-Identifier: GPL-2.0-only
//! `artis result show`: results as tables, or as one JSON list.

use super::Source;
use crate::cli::output::{print_json, stdout};
use crate::explain::rtla::{self, Analysis};
use crate::report::explain::rtla::text;
use crate::report::result::in_words;
use crate::result::file::read_text;
use crate::result::{Document, import};
use anyhow::anyhow;
use serde::Serialize;
use std::path::{Path, PathBuf};
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
struct Entry {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Document>,
    /// What rtla says of late wakeups.
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis: Option<Vec<Analysis>>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    super::once(&args.files)?;
    let entries: anyhow::Result<Vec<Entry>> = args
        .files
        .iter()
        .map(|path| read(&args.source, path))
        .collect();
    let entries = entries?;
    let mut out = stdout();
    if args.json {
        print_json(&mut out, &entries)?;
        return Ok(ExitCode::SUCCESS);
    }
    let words: Vec<String> = entries.iter().map(in_words_of).collect();
    out.text(&words.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// A file may hold figures, an analysis of rtla, or both.
fn read(source: &Source, path: &Path) -> anyhow::Result<Entry> {
    let content = read_text(path)?;
    let text = import::analysis(&content);
    let analysis = text.map(|text| rtla::read(&text)).transpose();
    let analysis = analysis.map_err(|error| anyhow!("{}:{error}", path.display()))?;
    let result = match source.parse(path, &content) {
        Ok(document) => Some(document),
        Err(error) => match error.downcast_ref() {
            Some(import::Error::Analysis { .. }) => None,
            _ => return Err(error),
        },
    };
    Ok(Entry {
        file: path.display().to_string(),
        result,
        analysis,
    })
}

fn in_words_of(entry: &Entry) -> String {
    let result = entry
        .result
        .as_ref()
        .map(|result| in_words(&entry.file, result));
    let analysis = entry.analysis.as_ref().map(|all| text(all));
    let parts: Vec<String> = result.into_iter().chain(analysis).collect();
    parts.join("\n")
}
