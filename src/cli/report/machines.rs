// SPDX-License-Identifier: GPL-2.0-only
//! `artis report` of files that many machines handed on: one table, and what stands out.

use super::Args;
use crate::cli::compare::input::Input;
use crate::cli::exit::UsageError;
use crate::cli::output::{print_json, stdout};
use crate::cli::progress::Sign;
use crate::report::field::joined;
use crate::result::file;
use artis_field::hand_on::{HandOn, SCHEMA};
use artis_field::join::{self, Joined};
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// A larger file is none.
const BYTES_MAX: u64 = 64 << 20;

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool: String,
    #[serde(flatten)]
    joined: &'a Joined,
}

/// Whether these files were handed on.
///
/// # Errors
/// When some were and others were not.
pub fn are_all(files: &[Input]) -> Result<bool, UsageError> {
    let (handed_on, others): (Vec<&Input>, Vec<&Input>) =
        files.iter().partition(|file| is_one(file.path()));
    match (handed_on.first(), others.first()) {
        (Some(one), Some(other)) => Err(UsageError(format!(
            "{} was handed on by a machine ({SCHEMA}), and {} was not; give one kind alone",
            one.path().display(),
            other.path().display()
        ))),
        (one, _) => Ok(one.is_some()),
    }
}

/// A pipe is none: it can be read only once.
fn is_one(path: &Path) -> bool {
    let is_file = path.metadata().is_ok_and(|it| it.is_file());
    let mut text = Vec::new();
    let read = || File::open(path)?.take(BYTES_MAX).read_to_end(&mut text);
    let read = is_file.then(read).is_some_and(|read| read.is_ok());
    read && file::schema(&text).is_some_and(|schema| schema.starts_with("artis.machine/"))
}

/// Prints the table of all.
///
/// # Errors
/// When a file is damaged, or there twice.
pub fn join(args: &Args) -> anyhow::Result<ExitCode> {
    if args.output.is_some() || args.job.is_some() || args.baseline.is_some() {
        let sentence = "files of many machines become a table on standard output; leave out -o, \
                        --job and --baseline";
        return Err(UsageError(sentence.to_owned()).into());
    }
    let sign = Sign::of("reading");
    let mut files = Vec::new();
    for input in sign.each(&args.files, "files") {
        let path = input.path();
        let name = input
            .name()
            .map_or_else(|| path.display().to_string(), str::to_owned);
        files.push((name, HandOn::read(path)?));
    }
    let joined_files = join::join(&files)?;
    drop(sign);
    let mut out = stdout();
    match args.json {
        true => print_json(
            &mut out,
            &Document {
                schema: "artis.machines/1",
                tool: format!("artis {}", env!("CARGO_PKG_VERSION")),
                joined: &joined_files,
            },
        )?,
        false => out.text(&joined(&joined_files))?,
    }
    Ok(ExitCode::SUCCESS)
}
