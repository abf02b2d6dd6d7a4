// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure throughput`: real, user and system time and context switches of a workload.

use super::session::{Common, Session};
use crate::cli::exit::UsageError;
use crate::cli::output::stdout;
use crate::cli::progress::Stderr;
use crate::cli::value;
use crate::lab::progress::Progress;
use crate::measure::throughput::permutation::Setting;
use crate::measure::throughput::workload::{BuiltIn, Workload};
use crate::measure::throughput::{self, Plan, Run};
use crate::result::{Distribution, Document, Kind, Moments, Series, Unit};
use crate::task::syscall;
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

const NS_PER_S: f64 = 1e9;

/// Measure how long work takes: real, user and system time, context switches
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["workload", "command"])))]
#[command(
    after_help = "A first run is made and not recorded: caches are warm afterwards. A run counts everything\n\
                  that its command waits for; what it prints is discarded. It is a normal task on all\n\
                  CPUs unless --permutations says otherwise. Ctrl-C keeps the runs that are complete.\n\n\
                  Examples:\n  artis measure throughput --workload build --permutations\n  \
                  artis measure throughput --runs 10 -- make -C linux -j8"
)]
pub struct Args {
    /// Run a built-in workload instead of a command
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    #[arg(
        help = "Run a built-in workload instead of a command: build, hackbench, pingpong, compute"
    )]
    workload: Option<BuiltIn>,
    /// Recorded runs
    #[arg(long, value_name = "R", default_value_t = 5)]
    #[arg(value_parser = value::number::whole(1..=1_000_000_u32))]
    runs: u32,
    /// Measure ten settings: one CPU (1 or 2 instances) and all CPUs (1, 2 or 4), each as
    /// SCHED_NORMAL and as SCHED_FIFO
    #[arg(long)]
    permutations: bool,
    #[command(flatten)]
    common: Common,
    /// Command to run, with its arguments
    #[arg(value_name = "CMD", last = true)]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = options(&args);
    let plan = Plan {
        workload: match args.workload {
            Some(which) => Workload::built_in(which)?,
            None => Workload::Command(args.command),
        },
        settings: settings(args.permutations)?,
        runs: args.runs,
    };
    let mut session = Session::begin(&args.common, options)?;
    session.start()?;
    let stop = session.stop_flag();
    let mut progress = Stderr::default();
    let measured = throughput::measure(&plan, &stop, &mut |setting, run| {
        let what = match setting.cpus {
            None => "measuring".to_owned(),
            Some(_) => setting.to_string(),
        };
        let of = format!("run {run} of {} done", plan.runs);
        progress.step(
            &format!("{what}; the first run is not recorded, {of}"),
            None,
        );
    });
    progress.done();
    let measured = measured?;
    let (_, table_wanted) = session.finish(|document| fill(document, &plan.settings, &measured))?;
    if table_wanted {
        let table = match args.permutations {
            true => permutations_table(&plan.settings, &measured),
            false => runs_table(&measured[0]),
        };
        stdout().write_all(table.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn options(args: &Args) -> BTreeMap<String, Value> {
    let words: Vec<_> = args
        .command
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let workload = args.workload.map_or_else(
        || words.join(" "),
        |which| format!("{which:?}").to_lowercase(),
    );
    BTreeMap::from([
        ("workload".to_owned(), json!(workload)),
        ("runs".to_owned(), json!(args.runs)),
        ("permutations".to_owned(), json!(args.permutations)),
        ("unrecorded_runs".to_owned(), json!(1)),
    ])
}

fn settings(permutations: bool) -> anyhow::Result<Vec<Setting>> {
    if !permutations {
        return Ok(vec![Setting::plain()]);
    }
    let allowed = syscall::affinity(0).context("cannot ask which CPUs may be used")?;
    let ten = Setting::ten(&allowed).ok_or_else(|| {
        UsageError(format!(
            "--permutations compares one CPU with all, and only CPU {allowed} may be used; leave \
             it out"
        ))
    })?;
    for setting in &ten {
        setting.check()?;
    }
    Ok(ten)
}

/// The quantities of a run: name, kind of series, value.
fn quantities(run: &Run) -> [(&'static str, Kind, u64); 5] {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    [
        ("real", Kind::Duration, ns(run.real)),
        ("user", Kind::Duration, ns(run.user)),
        ("sys", Kind::Duration, ns(run.system)),
        ("voluntary_switches", Kind::Count, run.voluntary_switches),
        (
            "involuntary_switches",
            Kind::Count,
            run.involuntary_switches,
        ),
    ]
}

/// One distribution for each quantity, in the order of [`quantities`]; none without a run.
fn distributions(runs: &[Run]) -> Vec<(&'static str, Kind, Distribution)> {
    let mut all = Vec::new();
    for run in runs {
        for (index, (name, kind, value)) in quantities(run).into_iter().enumerate() {
            if all.len() == index {
                all.push((name, kind, Distribution::new()));
            }
            all[index]
                .2
                .record(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }
    all
}

fn fill(document: &mut Document, settings: &[Setting], measured: &[Vec<Run>]) {
    for (setting, runs) in settings.iter().zip(measured) {
        for (name, kind, distribution) in distributions(runs) {
            let unit = match kind {
                Kind::Count => Unit::Count,
                _ => Unit::Nanoseconds,
            };
            let name = format!("{name}{}", setting.suffix());
            document
                .series
                .push(Series::new(&name, kind, unit, distribution));
        }
    }
}

/// As McKenney's Table 1: the runs, their mean and their standard deviation (of the sample).
fn runs_table(runs: &[Run]) -> String {
    let mut text = format!(
        "{:<10}{:>12}{:>12}{:>12}{:>12}{:>14}\n",
        "", "real s", "user s", "sys s", "voluntary", "involuntary"
    );
    for (number, run) in runs.iter().enumerate() {
        let cells = quantities(run).map(|(_, kind, value)| cell(kind, value as f64));
        row(&mut text, &format!("run {}", number + 1), &cells);
    }
    let statistic = |of: fn(&Moments) -> f64| -> Vec<String> {
        distributions(runs)
            .iter()
            .filter_map(|(_, kind, all)| Some(cell(*kind, of(&all.moments()?))))
            .collect()
    };
    if !runs.is_empty() {
        row(&mut text, "mean", &statistic(|all| all.mean));
        row(&mut text, "std. dev.", &statistic(|all| all.stddev));
    }
    text
}

fn row(text: &mut String, name: &str, cells: &[String]) {
    let _ = write!(text, "{name:<10}");
    for (index, cell) in cells.iter().enumerate() {
        let width = if index == 4 { 14 } else { 12 };
        let _ = write!(text, "{cell:>width$}");
    }
    text.push('\n');
}

/// Seconds, or a count.
fn cell(kind: Kind, value: f64) -> String {
    match kind {
        Kind::Count => format!("{value:.0}"),
        _ => format!("{:.3}", value / NS_PER_S),
    }
}

/// A line for each permutation: mean and standard deviation of the times, mean of the switches.
fn permutations_table(settings: &[Setting], measured: &[Vec<Run>]) -> String {
    let mut text = format!(
        "{:<24}{:>17}{:>17}{:>17}{:>11}{:>13}\n",
        "policy, CPUs, instances", "real s", "user s", "sys s", "voluntary", "involuntary"
    );
    for (setting, runs) in settings
        .iter()
        .zip(measured)
        .filter(|(_, runs)| !runs.is_empty())
    {
        let _ = write!(text, "{:<24}", setting.to_string());
        for (index, (_, kind, all)) in distributions(runs).iter().enumerate() {
            let Some(Moments { mean, stddev, .. }) = all.moments() else {
                continue;
            };
            let _ = match kind {
                Kind::Count if index == 3 => write!(text, "{:>11}", cell(*kind, mean)),
                Kind::Count => write!(text, "{:>13}", cell(*kind, mean)),
                _ => write!(
                    text,
                    "{:>9} ± {:<5}",
                    cell(*kind, mean),
                    cell(*kind, stddev)
                ),
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(real_s: f64) -> Run {
        Run {
            real: Duration::from_secs_f64(real_s),
            user: Duration::from_secs(2),
            system: Duration::from_millis(500),
            voluntary_switches: 7,
            involuntary_switches: 3,
        }
    }

    #[test]
    fn the_table_is_mckenneys() {
        // Table 1 of his paper, "Real Fast", real; his deviation divides by the count.
        let table = runs_table(&[run(1350.4), run(1332.7), run(1314.5)]);
        let line = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line("mean").contains("1332.533"), "{table}");
        assert!(line("std. dev.").contains("17.951"), "{table}");
        assert_eq!(table.lines().count(), 6);
    }

    #[test]
    fn each_setting_has_series_of_its_own() {
        let settings = Setting::ten(&"0-1".parse().unwrap()).unwrap();
        let measured = vec![vec![run(1.0), run(2.0)]; settings.len()];
        let mut document = Document::new(crate::result::Setup::default());
        fill(&mut document, &settings, &measured);
        assert_eq!(document.series.len(), 50);
        let real = document.merged("real_fifo_cpus2_x4").unwrap();
        assert_eq!(real.moments().unwrap().mean, 1.5e9);
        let text = permutations_table(&settings, &measured);
        assert_eq!(text.lines().count(), 11);
        assert!(text.contains("1.500 ± 0.707"), "{text}");
    }

    #[test]
    fn no_run_is_no_figure() {
        assert_eq!(runs_table(&[]).lines().count(), 1);
        assert!(distributions(&[]).is_empty());
    }
}
