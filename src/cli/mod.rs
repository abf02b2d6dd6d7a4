// SPDX-License-Identifier: GPL-2.0-only
//! The command line: one file a subcommand, its flags and what it prints.

// These macros panic when the disk is full or the terminal is gone; `artis_run::output` and the
// macros of that package are the replacement.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod admit;
mod check;
mod compare;
mod decide;
mod demo;
pub mod exit;
mod explain;
mod irq;
mod lab;
mod lab_experiment;
mod lab_explain;
mod lab_scenario;
mod load;
mod measure;
mod metrics;
mod partition;
mod report;
mod result;
mod run;
mod scenario;
mod sched;
pub mod shell_completion;
mod simulate;
mod tasks;
mod top;
mod value;
mod watched;

use artis_run::{advice, output, progress, signals, width};
use clap::{ArgAction, CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::process::ExitCode;
use value::duration;

/// Real-time and high-performance work on the same multi-core Linux machine.
#[derive(clap::Parser)]
#[command(name = "artis", version, propagate_version = true)]
#[command(
    after_help = "Example:\n  artis sched run --rt 1 &\n  artis run rt0 --cpu 1 -- ./controller"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Load, look at and stop the asymmetric real-time scheduler
    Sched(sched::Args),
    /// Give CPUs to real-time tasks: interrupts and kernel threads leave them, until reset
    Partition(partition::Args),
    /// Start a command, or change a running task, as RT0, RT1+ or Linux task
    Run(run::Args),
    /// Look at the machine, and say what on it stands in the way of real time
    ///
    /// Changes nothing. Ends with 2 when something breaks real time. Root sees everything.
    Check(check::Args),
    /// Interrupts: where they arrive, how often, and who handles them
    Irq(irq::Args),
    /// Every thread: class, CPU, policy, priority, migrations and switches
    Tasks(tasks::Args),
    /// Watch what real-time tasks get now: a screen, or once
    ///
    /// CPUs by role and who has them; real-time threads with their rate, late wakeups, worst and
    /// admitted bound; RT1+ tasks; the last culprits. Works beside any scheduler.
    Top(top::Args),
    /// What `artis top` shows, for Prometheus: a text file, or served on the loopback; and events
    Metrics(metrics::Args),
    /// Measure latency, execution time, throughput, short commands and messages
    Measure(measure::Args),
    /// Say who made threads late, to the last microsecond
    Explain(explain::Args),
    /// Show a classic of real time on this machine
    Demo(demo::Args),
    /// Run named loads beside a command
    Load(load::Args),
    /// Show result files, merge them, and convert them to other formats and back
    Result(result::Args),
    /// Compare configurations: ratios with intervals, gates, pictures
    Compare(compare::Args),
    /// Decide: real time or real fast, for a job, with the facts of result files
    Decide(decide::Args),
    /// Say whether real-time tasks meet their deadlines, before they run
    Admit(admit::Args),
    Scenario(scenario::Args),
    /// Simulate a scenario: any machine, any of the schedulers, artis by its own program
    Simulate(simulate::Args),
    /// One page that shows results, experiments and explanations
    Report(report::Args),
    /// Boot a stock kernel in a virtual machine and run a command there
    Lab(lab::Args),
    Completion(shell_completion::Args),
}

/// Parses the words of the command line.
///
/// # Errors
/// What clap has to say, for [`exit::parse_error`] to print: help and version, too.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let parsed = parse_words(&words);
    match parsed
        .as_ref()
        .err()
        .and_then(|error| exit::joined(&words, error))
    {
        Some(joined) => parse_words(&joined),
        None => parsed,
    }
}

fn parse_words(words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = command().term_width(width::of_stdout());
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The definition of the whole command line, from which help, man pages and completions are made.
pub fn command() -> clap::Command {
    with_negative_values(Cli::command())
}

/// Lets every option take `-1` as its value, so that its parser says what is allowed. Otherwise
/// clap takes it for an unknown option.
fn with_negative_values(command: clap::Command) -> clap::Command {
    let takes_values = |arg: &clap::Arg| {
        !arg.is_positional() && matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
    };
    command
        .mut_args(|arg| match takes_values(&arg) {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
        .mut_subcommands(with_negative_values)
}

/// Runs the parsed command.
///
/// Returns the exit status of the process; an `Err` is for [`exit::failure`] to print.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Sched(args) => sched::run(args),
        Command::Partition(args) => partition::run(args),
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::run(args),
        Command::Irq(args) => irq::run(&args),
        Command::Tasks(args) => tasks::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Metrics(args) => metrics::run(&args),
        Command::Measure(args) => measure::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Load(args) => load::run(args),
        Command::Result(args) => result::run(args),
        Command::Compare(args) => compare::run(&args),
        Command::Decide(args) => decide::run(&args),
        Command::Admit(args) => admit::run(&args),
        Command::Scenario(args) => scenario::run(args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Lab(args) => lab::run(args),
        Command::Completion(args) => shell_completion::run(&args),
    }
}
