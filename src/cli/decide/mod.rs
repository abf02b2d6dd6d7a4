// SPDX-License-Identifier: GPL-2.0-only
//! `artis decide`: real time or real fast, for a job, with the facts of result files.

pub(in crate::cli) mod job;
mod measure;

use crate::cli::compare::curves;
use crate::cli::compare::input::{self, Group, Input};
use crate::cli::exit::UsageError;
use crate::cli::output::{print_json, stdout};
use crate::cli::progress::Sign;
use crate::decide::verdict::{self, Candidate, Facts, Verdict};
use crate::report::decision;
use anyhow::Context;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Decide: real time or real fast, for a job, with the facts of result files
#[derive(clap::Args)]
#[command(
    after_help = "The job is a file that ends in .toml, or the options, which change what the file \
                  says. The files are results of the same set-up on each candidate, named by what \
                  it is: stock, tuned, shield, artis, rt, artis-rt, xenomai, evl or rtai. An experiment \
                  of the lab gives relative facts. docs/decide.md explains the job file and the \
                  answer.\n\n\
                  --measure takes each change of the machine back before the next, also after \
                  Ctrl-C; after kill -9 type artis partition reset.\n\n\
                  Example:\n  artis decide job.toml stock=stock.json artis=artis.json\n  \
                  sudo artis decide job.toml --measure -D 10m --keep results"
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
    verdict: &'a Verdict,
    notes: &'a [String],
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let is_job = |word: &&String| word.ends_with(".toml") && !word.contains('=');
    let jobs: Vec<&String> = args.words.iter().filter(is_job).collect();
    if let [_, other, ..] = jobs[..] {
        let sentence =
            format!("a verdict is for one job, and {other} is a second one; leave it out");
        return Err(UsageError(sentence).into());
    }
    let path = jobs.first().map(|path| path.as_ref());
    let job = args.job.job(path)?;
    let measured = args.candidates.measured(&job)?;
    let words = measured.iter().flat_map(|measured| &measured.words);
    let inputs: Vec<Input> = args
        .words
        .iter()
        .filter(|word| !is_job(word))
        .chain(words)
        .map(|word| {
            let refused = |why| UsageError(format!("{word:?} is no [NAME=]FILE: {why}"));
            word.parse().map_err(refused)
        })
        .collect::<Result<_, _>>()?;
    let work = measured
        .as_ref()
        .and_then(|measured| measured.work.as_ref());
    let question = job::question(job, path, work)?;
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
            verdict: &verdict,
            notes: &notes,
        };
        print_json(&mut out, &document)?;
    } else {
        out.text(&decision::text(&verdict, &notes))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the files say of each candidate.
pub(in crate::cli) fn facts(groups: &[Group]) -> anyhow::Result<Facts> {
    let mut candidates = Vec::new();
    for group in groups {
        match group {
            Group::Results(name, runs) => candidates.push(Candidate::of_results(name, runs)?),
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
