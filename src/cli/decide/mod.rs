// SPDX-License-Identifier: GPL-2.0-only
//! `artis decide`: real time or real fast, for a job, with the facts of result files.

pub(in crate::cli) mod again;
pub(in crate::cli) mod job;
mod measure;

use crate::cli::compare::curves;
use crate::cli::compare::input::{self, Group, Input};
use crate::cli::exit::{BOUND_MISSED, UNKNOWN, UsageError};
use crate::cli::output::{print_json, stdout};
use crate::cli::progress::Sign;
use crate::cli::report;
use crate::decide::job::Job;
use crate::decide::verdict::{self, Candidate, Facts, Standing, WAYS, Way};
use crate::report::decision;
use crate::report::field::machine;
use anyhow::Context;
use artis_run::ways::Measured;
use measure::Outputs;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Decide: real time or real fast, for a job, with the facts of result files
#[derive(clap::Args)]
#[command(
    after_help = "The job is a file that ends in .toml, or the options, which change what the file \
                  says. The files are results of the same set-up on each candidate, named by what \
                  it is: stock, tuned, shield, artis, rt, artis-rt, xenomai, evl or rtai. An experiment \
                  of the lab gives relative facts. docs/decide.md explains the job file and the \
                  answer.\n\n\
                  Status: 0 a way that meets the job was measured here, 2 this machine cannot do it \
                  (all ways were measured, or none matters), 3 unknown, and the answer says what to \
                  type, 1 an error, 64 wrong words.\n\n\
                  --measure takes each change of the machine back before the next, also after \
                  Ctrl-C, kill -9 and a power cut. With --keep DIR each run is kept, the same \
                  command goes on after any interruption, and on another kernel it adds columns. A \
                  run that somebody disturbed is kept, marked and not counted: a login, a package \
                  manager, heat, a setting undone, the whole machine standing still. --plan says \
                  what to stop first.\n\n\
                  Example:\n  artis decide job.toml stock=stock.json artis=artis.json\n  \
                  sudo artis decide job.toml --measure --runs 10 --keep runs --hand-on machine.json"
)]
pub struct Args {
    /// The job, then results or experiments, each named NAME or after its file
    #[arg(value_name = "JOB.toml|[NAME=]FILE")]
    words: Vec<String>,
    #[command(flatten)]
    job: job::Options,
    #[command(flatten)]
    candidates: measure::Candidates,
    /// Write completion-NATURE.svg into this folder
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
    /// Print JSON (artis.decision/1) instead of the text
    #[arg(long)]
    json: bool,
}

/// Of `docs/decision.schema.json`.
const SCHEMA: &str = "artis.decision/1";

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool: String,
    #[serde(flatten)]
    verdict: decision::Document<'a>,
    notes: &'a [String],
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let jobs: Vec<&String> = args.words.iter().filter(is_job).collect();
    if let [_, other, ..] = jobs[..] {
        let sentence =
            format!("a verdict is for one job, and {other} is a second one; leave it out");
        return Err(UsageError(sentence).into());
    }
    let path = jobs.first().map(|path| path.as_ref());
    if args.words.is_empty() && std::env::args_os().len() <= 2 {
        let sentence = "there is neither a job nor a result; give a job, as in artis decide \
                        --deadline 250us --work 100us --period 1ms, and results or --measure";
        return Err(UsageError(sentence.to_owned()).into());
    }
    let job = args.job.job(path)?;
    let given = inputs(args.words.iter().filter(|word| !is_job(word)))?;
    refuse_unknown_names(&given)?;
    let files: Vec<&Path> = given.iter().map(Input::path).chain(path).collect();
    if args.candidates.is_plan() {
        args.candidates.print_plan(&job, &files)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Found out before hours of measuring; a pipe can be read only once.
    if args.candidates.are_wanted() && given.iter().all(|input| input.path().is_file()) {
        facts(&input::groups(&given)?)?;
    }
    let outputs = args.candidates.outputs()?;
    let measured = args.candidates.measured(&job, &files)?;
    let code = judge(args, job, path, given, measured.as_ref())
        .and_then(|code| write(outputs, measured.as_ref()).map(|()| code));
    code.map_err(|error| match measured {
        Some(measured) => measured.kept(error),
        None => error,
    })
}

/// Writes what was asked for beside the answer.
fn write(outputs: Outputs, measured: Option<&Measured>) -> anyhow::Result<()> {
    let Some(measured) = measured else {
        return Ok(());
    };
    if let Some(target) = outputs.hand_on {
        target.write_document(&measured.hand_on())?;
    }
    if let Some(target) = outputs.page {
        let page = report::page_of(inputs(measured.words.iter())?)?;
        target.write_or_rescue(page.html.as_bytes())?;
    }
    Ok(())
}

/// Is this word a job file? All others are results.
fn is_job(word: &&String) -> bool {
    word.ends_with(".toml") && !word.contains('=')
}

fn inputs<'a>(words: impl Iterator<Item = &'a String>) -> Result<Vec<Input>, UsageError> {
    let input = |word: &String| {
        let refused = |why| UsageError(format!("{word:?} is no [NAME=]FILE: {why}"));
        word.parse().map_err(refused)
    };
    words.map(input).collect()
}

/// Decides by the given files and by those that were measured.
fn judge(
    args: &Args,
    job: Job,
    path: Option<&Path>,
    given: Vec<Input>,
    measured: Option<&Measured>,
) -> anyhow::Result<ExitCode> {
    let words = measured.iter().flat_map(|measured| &measured.words);
    let inputs: Vec<Input> = given.into_iter().chain(inputs(words)?).collect();
    let work = measured.and_then(|measured| measured.work.as_ref());
    let mut question = job::question(job, path, work)?;
    let files: Vec<&str> = args
        .words
        .iter()
        .filter(|word| !is_job(word))
        .map(String::as_str)
        .collect();
    let typed = std::env::args_os().skip(1);
    let typed = typed.map(|word| word.to_string_lossy().into_owned());
    question.again = again::again(typed, &files);
    let groups = input::groups(&inputs)?;
    let sign = Sign::of("judging");
    let facts = facts(&groups)?;
    let verdict = verdict::verdict(&question, &facts)?;
    drop(sign);
    let notes = facts.candidates.iter();
    let mut notes: Vec<String> = notes
        .flat_map(|one| one.configuration.notes.clone())
        .collect();
    notes.extend(measured.iter().flat_map(|measured| measured.notes.clone()));
    if let Some(folder) = &args.plot {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let all = facts.candidates.iter();
        let all: Vec<_> = all
            .map(|one| (one.name().to_owned(), one.curves.clone()))
            .collect();
        curves::write(folder, &all, facts.base, &facts.unit)?;
    }
    let mut out = stdout();
    if args.json {
        let document = Document {
            schema: SCHEMA,
            tool: format!("artis {}", env!("CARGO_PKG_VERSION")),
            verdict: decision::Document::of(&verdict),
            notes: &notes,
        };
        print_json(&mut out, &document)?;
    } else {
        out.text(&decision::text(&verdict, &notes))?;
        let columns = measured.map(|measured| machine(&measured.columns));
        if let Some(text) = columns.filter(|text| !text.is_empty()) {
            out.text(&format!("\n{text}"))?;
        }
    }
    Ok(match verdict.standing() {
        Standing::Meets => ExitCode::SUCCESS,
        Standing::Cannot => ExitCode::from(BOUND_MISSED),
        Standing::Unknown => ExitCode::from(UNKNOWN),
    })
}

/// A name that is no way to run a machine, of a file that is not there, is the word that is wrong.
fn refuse_unknown_names(inputs: &[Input]) -> Result<(), UsageError> {
    let is_wrong = |name: &&str| Way::of_name(name).is_none();
    for input in inputs.iter().filter(|input| !input.path().exists()) {
        if let Some(name) = input.name().filter(is_wrong) {
            return Err(UsageError(format!(
                "{name:?} is no way to run a machine, and there is no file {}; name a result {WAYS}: \
                 stock=FILE",
                input.path().display()
            )));
        }
    }
    Ok(())
}

/// What the files say of each candidate.
pub(in crate::cli) fn facts(groups: &[Group]) -> anyhow::Result<Facts> {
    let mut candidates = Vec::new();
    for group in groups {
        match group {
            Group::Results(name, runs) => {
                let one = Candidate::of_results(name, runs).map_err(|error| match error {
                    verdict::Error::NoWay(_) => UsageError(error.to_string()).into(),
                    error => anyhow::Error::new(error),
                });
                candidates.push(one?);
            }
            Group::Experiment(prefix, experiment) => {
                for mut one in Candidate::of_experiment(experiment)? {
                    one.configuration.name.insert_str(0, prefix);
                    candidates.push(one);
                }
            }
        }
    }
    Ok(Facts::new(candidates)?)
}
