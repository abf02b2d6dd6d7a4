// SPDX-License-Identifier: GPL-2.0-only
//! `artis report`: results, experiments and explanations as one page.

mod machines;

use crate::cli::compare::input::{self, Content, File, Group, Input};
use crate::cli::decide::again::quoted;
use crate::cli::decide::facts;
use crate::cli::decide::job::{Options, question};
use crate::cli::exit::UsageError;
use crate::cli::output::{print_json, stdout};
use crate::cli::progress::Sign;
use crate::decide::compare::Error::{NothingShared, Twice, Unknown};
use crate::decide::compare::{Comparison, compare};
use crate::decide::verdict::{self, Verdict};
use crate::report::html::{self, Page, Raw};
use crate::report::noise::Measured;
use crate::result::Document;
use crate::result::experiment::Experiment;
use crate::result::file::Target;
use anyhow::{anyhow, bail};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// One page that shows results, experiments and explanations
#[derive(clap::Args)]
#[command(
    after_help = "The page is one file that needs no network: pictures, tables to sort, set-up, \
                  audit, and the files themselves. Files are results, experiments and documents \
                  of artis explain, named as in artis compare; files of one name are runs of one \
                  configuration, or other measurements of it. docs/report.md has an example.\n\n\
                  Files that artis decide --measure --hand-on wrote, on many machines, are joined \
                  in a table on standard output: which machine, kernel or setting stands out.\n\n\
                  Examples:\n  artis report stock=stock.json artis=artis.json -o report.html\n  \
                  artis report machines/*.json"
)]
pub struct Args {
    /// Results, experiments, explanations, each named NAME or after its file; - is standard
    /// input
    #[arg(required = true, value_name = "[NAME=]FILE")]
    files: Vec<Input>,
    /// Where the page goes; - is standard output. Files of many machines need none
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also decide for this job, as artis decide does
    #[arg(long, value_name = "JOB.toml")]
    job: Option<PathBuf>,
    /// Configuration that ratios are to [default: with a job stock, else the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Also compare extremes of different numbers of samples, and mark them
    #[arg(long)]
    allow_unequal_samples: bool,
    /// Print a JSON document that says what is in the page
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Written<'a> {
    tool: String,
    file: String,
    bytes: usize,
    /// What the page says first.
    headline: &'a str,
    /// The anchors that a link can name: `report.html#latency`.
    sections: &'a [&'static str],
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if machines::are_all(&args.files)? {
        return machines::join(args);
    }
    let Some(output) = &args.output else {
        return Err(UsageError("the page needs a place: --output report.html".to_owned()).into());
    };
    if args.json && output == Path::new("-") {
        return Err(UsageError(
            "the page and the JSON document cannot both go to standard output; name a file: \
             -o report.html"
                .to_owned(),
        )
        .into());
    }
    let files = input::files(&args.files)?;
    let target = Target::open(output)?;
    let sign = Sign::of("drawing");
    let page = page(args, files)?;
    drop(sign);
    let is_stdout = target.is_stdout();
    target.write_or_rescue(page.html.as_bytes())?;
    if args.json {
        let written = Written {
            tool: format!("artis {}", env!("CARGO_PKG_VERSION")),
            file: output.display().to_string(),
            bytes: page.html.len(),
            headline: &page.headline,
            sections: &page.sections,
        };
        print_json(&mut stdout(), &written)?;
    } else if !is_stdout {
        say!(
            "artis: {} is written, {} kB: {}",
            output.display(),
            page.html.len().div_ceil(1000),
            page.headline
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of these files alone.
pub(in crate::cli) fn page_of(files: Vec<Input>) -> anyhow::Result<Page> {
    let read = input::files(&files)?;
    let args = Args {
        files,
        output: None,
        job: None,
        baseline: None,
        allow_unequal_samples: true,
        json: false,
    };
    page(&args, read)
}

fn page(args: &Args, files: Vec<File>) -> anyhow::Result<Page> {
    let mut raw = Vec::new();
    let mut explanations = Vec::new();
    let mut analyses = Vec::new();
    let mut others = Vec::new();
    for File {
        name,
        path,
        bytes,
        content,
    } in files
    {
        raw.push((saved_as(&path, &name), bytes));
        match content {
            Content::Explanation(document) => explanations.push((name, document)),
            Content::Analysis(all) => analyses.push((name, all)),
            other => others.push((name, other)),
        }
    }
    let groups = input::grouped(others);
    let verdict = match &args.job {
        Some(path) => Some(decide(path, &groups)?),
        None => None,
    };
    let base = verdict.as_ref().and_then(|(_, base)| base.clone());
    let comparison = match groups.is_empty() {
        true => None,
        false => Some(compared(args, base, &groups)?),
    };
    let runs: BTreeMap<&str, &[Document]> = results(&groups).collect();
    let names = comparison.iter().flat_map(Comparison::names);
    let measured: Vec<Measured> = names
        .enumerate()
        .filter_map(|(index, known)| {
            let (name, documents) = runs.get_key_value(known.as_str())?;
            Some(Measured {
                index,
                name,
                documents,
            })
        })
        .collect();
    let experiments: Vec<&Experiment> = groups
        .iter()
        .filter_map(|group| match group {
            Group::Experiment(_, experiment) => Some(experiment),
            Group::Results(..) => None,
        })
        .collect();
    let explanations: Vec<_> = explanations
        .iter()
        .map(|(name, document)| (name.as_str(), document.as_ref()))
        .collect();
    let raw: Vec<Raw> = raw
        .iter()
        .map(|(name, bytes)| Raw {
            name: name.clone(),
            bytes,
        })
        .collect();
    Ok(html::page(&html::Content {
        comparison: comparison.as_ref(),
        measured: &measured,
        experiments: &experiments,
        explanations: &explanations,
        analyses: &analyses,
        verdict: verdict.as_ref().map(|(verdict, _)| verdict),
        files: &raw,
    }))
}

/// The result files of each configuration.
fn results(groups: &[Group]) -> impl Iterator<Item = (&str, &[Document])> {
    groups.iter().filter_map(|group| match group {
        Group::Results(name, documents) => Some((name.as_str(), documents.as_slice())),
        Group::Experiment(..) => None,
    })
}

/// The name of a file that the page gives back.
fn saved_as(path: &Path, name: &str) -> String {
    match path.file_name() {
        Some(file) if path != Path::new("-") => file.to_string_lossy().into_owned(),
        _ => name.to_owned(),
    }
}

/// The verdict, and the name of the candidate that prices are relative to.
fn decide(job: &Path, groups: &[Group]) -> anyhow::Result<(Verdict, Option<String>)> {
    let mut question = question(Options::default().job(Some(job))?, Some(job), None)?;
    question.again.command = format!("artis decide {}", quoted(&job.to_string_lossy()));
    let facts = facts(groups)?;
    let verdict = verdict::verdict(&question, &facts)?;
    Ok((verdict, facts.base().map(|one| one.name().to_owned())))
}

fn compared(args: &Args, base: Option<String>, groups: &[Group]) -> anyhow::Result<Comparison> {
    let read = input::read(&input::of_one_measurement(groups)?)?;
    if read.configurations.iter().all(|one| one.whole.is_empty()) {
        bail!("no file has a figure, so there is nothing to show; measure again");
    }
    let baseline = args.baseline.clone().or(base);
    compare(
        read.configurations,
        read.unit,
        baseline.as_deref(),
        args.allow_unequal_samples,
    )
    .map_err(|error| match error {
        NothingShared { .. } => anyhow!(
            "{error}; or give what was measured of one configuration one name: \
             stock=latency.json stock=jitter.json"
        ),
        Unknown { .. } | Twice(_) => UsageError(error.to_string()).into(),
        _ => anyhow!(error),
    })
}
