// SPDX-License-Identifier: GPL-2.0-only
//! `artis admit`: whether a set of tasks fits on its CPUs.

mod apply;

use super::exit::{BOUND_MISSED, UNKNOWN, USAGE, UsageError};
use super::output::{print_json, stdout};
use crate::report::admit as report;
use crate::result::{file, import};
use anyhow::Context;
use artis_admit::model::{self, Execution, Set};
use artis_admit::{Admission, Verdict, example::EXAMPLE};
use serde::Serialize;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say whether real-time tasks meet their deadlines, before they run
#[derive(clap::Args)]
#[command(
    after_help = "A file is a set of tasks, in TOML; a folder, all its files that end in .toml; \
                  and - standard input, where a line --- stands between two sets. docs/admit.md \
                  explains the file and the answer.\n\n\
                  Status: 0 all are schedulable, 2 one is refused, 3 one is unknown and none is \
                  refused, 64 a file or the words are wrong.\n\n\
                  Example:\n  artis admit --example > tasks.toml\n  artis admit tasks.toml"
)]
pub struct Args {
    /// Sets of tasks: files, folders, or -
    #[arg(value_name = "FILE", required_unless_present = "example")]
    files: Vec<PathBuf>,
    /// Print a file to start from
    #[arg(long, exclusive = true)]
    example: bool,
    /// Print JSON (artis.admission/1); of several sets, one a line
    #[arg(long)]
    json: bool,
    /// Print one line for each set
    #[arg(long, conflicts_with = "json")]
    brief: bool,
    /// Start the commands of a set that fits, and change the running threads, as admitted tasks
    ///
    /// Of one file. All tasks are admitted, or none; they go on when artis has ended.
    #[arg(long, conflicts_with_all = ["json", "brief", "example"])]
    apply: bool,
}

/// Of `docs/admission.schema.json`.
const SCHEMA: &str = "artis.admission/1";
/// The line between two sets of standard input.
const BETWEEN: &str = "---";

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool: String,
    source: &'a str,
    #[serde(flatten)]
    answer: &'a Admission,
}

/// The text of a set, what to call it, and the folder of files it names.
struct Source {
    name: String,
    text: String,
    folder: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    if args.example {
        out.text(EXAMPLE)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.apply {
        return apply_one(&args.files);
    }
    let sources = sources(&args.files)?;
    let are_many = sources.len() > 1;
    let (mut refused, mut unknown, mut wrong) = (false, false, false);
    for source in &sources {
        let set = match set(source) {
            Ok(set) => set,
            Err(error) if are_many => {
                say!("artis: {error:#}");
                wrong = true;
                continue;
            }
            Err(error) => return Err(error),
        };
        let answer = artis_admit::admit(&set);
        refused |= answer.verdict == Verdict::Refused;
        unknown |= answer.verdict == Verdict::Unknown;
        let document = Document {
            schema: SCHEMA,
            tool: format!("artis {}", env!("CARGO_PKG_VERSION")),
            source: &source.name,
            answer: &answer,
        };
        match (args.json, are_many) {
            (true, false) => print_json(&mut out, &document)?,
            (true, true) => writeln!(out, "{}", serde_json::to_string(&document)?)?,
            (false, _) if args.brief => out.text(&report::line(&source.name, &answer))?,
            (false, true) => {
                out.text(&format!("== {}\n{}\n", source.name, report::text(&answer)))?;
            }
            (false, false) => out.text(&report::text(&answer))?,
        }
    }
    Ok(ExitCode::from(match (wrong, refused, unknown) {
        (true, ..) => USAGE,
        (_, true, _) => BOUND_MISSED,
        (_, _, true) => UNKNOWN,
        _ => 0,
    }))
}

/// Prints the answer for a file, and does what it says.
fn apply_one(files: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let [path] = files else {
        return Err(UsageError("--apply takes one file".to_owned()).into());
    };
    if path.as_os_str() == "-" || path.is_dir() {
        let sentence = "--apply takes a file, and neither - nor a folder: each task is admitted \
                        from it";
        return Err(UsageError(sentence.to_owned()).into());
    }
    let set = read_set(path)?;
    let answer = artis_admit::admit(&set);
    stdout().text(&report::text(&answer))?;
    match answer.verdict {
        Verdict::Schedulable => apply::apply(path, &set, &answer),
        Verdict::Refused => Ok(ExitCode::from(BOUND_MISSED)),
        Verdict::Unknown => Ok(ExitCode::from(UNKNOWN)),
    }
}

fn sources(files: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in files {
        if path.as_os_str() == "-" {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut text);
            read.context("cannot read standard input as text")?;
            sources.extend(of_stream(&text));
        } else if path.is_dir() {
            let found = std::fs::read_dir(path)
                .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
            let mut found: Vec<PathBuf> =
                found.with_context(|| format!("cannot read the folder {}", path.display()))?;
            found.retain(|path| path.extension().is_some_and(|it| it == "toml"));
            if found.is_empty() {
                let sentence = format!(
                    "the folder {} has no file that ends in .toml; artis admit --example prints one",
                    path.display()
                );
                return Err(UsageError(sentence).into());
            }
            found.sort();
            for path in &found {
                sources.push(of_file(path)?);
            }
        } else {
            sources.push(of_file(path)?);
        }
    }
    Ok(sources)
}

fn of_file(path: &Path) -> anyhow::Result<Source> {
    let text = file::read_text(path)?;
    let text = String::from_utf8(text).with_context(|| format!("{} is no text", path.display()))?;
    Ok(Source {
        name: path.display().to_string(),
        text,
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
    })
}

fn of_stream(text: &str) -> Vec<Source> {
    let mut sets = vec![String::new()];
    for line in text.lines() {
        match (line.trim_end() == BETWEEN, sets.last_mut()) {
            (false, Some(last)) => *last += &format!("{line}\n"),
            _ => sets.push(String::new()),
        }
    }
    // A line at the beginning or the end stands between nothing.
    if sets.len() > 1 {
        sets.retain(|text| !text.trim().is_empty());
    }
    let are_many = sets.len() > 1;
    let sets = sets.into_iter().enumerate().map(|(at, text)| Source {
        name: match are_many {
            true => format!("- {}", at + 1),
            false => "-".to_owned(),
        },
        text,
        folder: PathBuf::new(),
    });
    sets.collect()
}

/// The set of a file, with the execution times that its files have.
///
/// # Errors
/// When the file cannot be read, or something in it is wrong.
pub(super) fn read_set(path: &Path) -> anyhow::Result<Set> {
    set(&of_file(path)?)
}

/// The set of a text, with the execution times that its files have.
fn set(source: &Source) -> anyhow::Result<Set> {
    let mut set = Set::parse(&source.text)
        .map_err(|error| UsageError(format!("{}: {error}", source.name)))?;
    for task in &mut set.tasks {
        if let Execution::Measured(measured) = &mut task.execution {
            let path = source.folder.join(&measured.file);
            let bytes = file::read_text(&path)
                .with_context(|| format!("{}: execution of {}", source.name, task.name))?;
            let document = import::parse(&path, &bytes, None, None)?;
            let (ns, doubt) = model::measured(&document, measured.part)
                .map_err(|why| UsageError(format!("{}: {why}", path.display())))?;
            measured.ns = Some(ns);
            measured.doubt = doubt;
        }
    }
    model::check(&set).map_err(|error| UsageError(format!("{}: {error}", source.name)))?;
    Ok(set)
}
