// SPDX-License-Identifier: GPL-2.0-only
//! `artis compare`: configurations side by side, gates on them, and pictures of them.

pub(in crate::cli) mod curves;
mod document;
pub(in crate::cli) mod input;

use crate::cli::exit::{BOUND_MISSED, UsageError};
use crate::cli::output::{print_json, stdout};
use crate::cli::progress::Sign;
use crate::decide::compare::Error::{Twice, Unknown};
use crate::decide::compare::gate::Verdict;
use crate::decide::compare::{Comparison, Gate, compare};
use crate::decide::completion::{self, Curve};
use crate::report::picture::Drawn;
use crate::report::{Sheet, comparison, histograms, scatter, words};
use crate::result::Document;
use crate::result::file::Target;
use anyhow::Context;
use input::Input;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compare configurations: ratios with intervals, gates, pictures
#[derive(clap::Args)]
#[command(
    after_help = "A FILE is a result, or an experiment, whose rows are configurations. A name\n\
                  given several times makes several runs of one configuration.\n\n\
                  Figures are of all runs together; times are in us of the unit above the table:\n  \
                  latency.min, .mean, .p50 to .p99_999, .max    kernel.max\n  \
                  execution.variation    SERIES.STAT of any other series\n  \
                  throughput.LOAD    work_per_cpu_second.LOAD    throughput_s.PERMUTATION\n  \
                  load_cpu_time    rt_cpu_share_others    leaks\n\n\
                  A gate is [CONFIGURATION:]FIGURE, then <=, <, >=, > or ==, then a number or\n\
                  [FACTOR*]CONFIGURATION. Without a configuration in front, it is for all but the\n\
                  one after the operator. A missed period is a latency of a period at least.\n\n\
                  Status: 0 all gates are held, 2 one is missed or cannot be judged, 1 an error,\n\
                  64 wrong words.\n\n\
                  Examples:\n  artis compare stock=mon.json stock=tue.json artis=artis.json\n  \
                  artis compare table1.json --plot pictures \\\n    \
                  --gate 'artis:latency.max<=1.1*isolcpus'"
)]
pub struct Args {
    /// Results or experiments, each named NAME or after its file; - is standard input
    #[arg(required = true, value_name = "[NAME=]FILE")]
    files: Vec<Input>,
    /// Configuration that ratios are to [default: the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Bound to hold, such as 'latency.max<=1.2*isolcpus'; may be given several times
    #[arg(long = "gate", value_name = "GATE")]
    gates: Vec<Gate>,
    /// Also compare extremes of different numbers of samples, and mark them
    #[arg(long)]
    allow_unequal_samples: bool,
    /// Write latency-throughput.svg, histograms.svg and, of files of artis measure
    /// completion, completion-NATURE.svg into this folder
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
    /// Print a JSON document instead of the table
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let groups = input::groups(&args.files)?;
    let sign = Sign::of("comparing");
    let read = input::read(&groups)?;
    let baseline = args.baseline.as_deref();
    let all = compare(
        read.configurations,
        read.unit,
        baseline,
        args.allow_unequal_samples,
    )
    .map_err(|error| match error {
        Unknown { .. } | Twice(_) => UsageError(error.to_string()).into(),
        // No other word on the command line would help.
        _ => anyhow::Error::new(error),
    })?;
    let verdicts: Vec<Verdict> = args
        .gates
        .iter()
        .map(|gate| gate.check(&all))
        .collect::<Result<_, _>>()
        .map_err(|error| UsageError(error.to_string()))?;
    if let Some(folder) = &args.plot {
        plot(&all, folder)?;
        curves::write(folder, &curves_of(&all, &groups), all.baseline, &all.unit)?;
    }
    drop(sign);
    let mut out = stdout();
    if args.json {
        print_json(&mut out, &document::Document::new(&all, &verdicts))?;
    } else {
        out.text(&comparison::table(&all))?;
        for (at, verdict) in verdicts.iter().enumerate() {
            let gap = if at == 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}", words::sentence(verdict))?;
        }
    }
    if verdicts.iter().all(Verdict::held) {
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::from(BOUND_MISSED))
    }
}

/// The curves of each configuration, in order.
fn curves_of(all: &Comparison, groups: &[input::Group]) -> Vec<(String, Vec<Curve>)> {
    let runs: BTreeMap<&str, &[Document]> = groups
        .iter()
        .filter_map(|group| match group {
            input::Group::Results(name, runs) => Some((name.as_str(), runs.as_slice())),
            input::Group::Experiment(..) => None,
        })
        .collect();
    let names = all.configurations.iter();
    names
        .map(|one| {
            let name = &one.configuration.name;
            let runs = runs.get(name.as_str()).copied();
            let curves = runs.map(completion::curves);
            (name.clone(), curves.unwrap_or_default())
        })
        .collect()
}

/// Writes the pictures that the figures allow, and says which they do not.
fn plot(all: &Comparison, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let pictures = [
        (
            "latency-throughput.svg",
            "worst latency, or no work of a load that all had",
            scatter::picture(all, &Sheet::FILE),
        ),
        (
            "histograms.svg",
            "histogram of latencies",
            histograms::picture(all, &Sheet::FILE),
        ),
    ];
    for (name, needs, Drawn { picture, absent }) in pictures {
        let path = folder.join(name);
        if !absent.is_empty() {
            let without = match picture {
                Some(_) => "leaves configurations out",
                None => "was not written",
            };
            let (path, names) = (path.display(), absent.join(", "));
            say!("artis: {path} {without}: no {needs}, in {names}");
        }
        if let Some(picture) = picture {
            Target::open(&path)?.write(picture.svg.as_bytes())?;
        }
    }
    Ok(())
}
