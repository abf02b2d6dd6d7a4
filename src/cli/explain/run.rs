// SPDX-License-Identifier: GPL-2.0-only
//! `artis explain run`: watches threads, and explains the worst of what they lost.

use super::files::Files;
use crate::cli::{duration, value};
use crate::machine::Root;
use crate::recorder::{Settings, Watched};
use anyhow::bail;
use artis_run::watching::{Plan, Whom, explained};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Watch threads, and say who made them late: the worst times, cut to the last microsecond
#[derive(clap::Args)]
#[command(
    override_usage = "artis explain run [OPTIONS] --pid PID (or --thread, --comm, --cgroup)\n       \
                      artis explain run [OPTIONS] -- CMD...",
    after_help = "Runs until the time is over, Ctrl-C, the first above --until (status 2), or until \
                  no watched thread is left. A command that it started is ended with it.\n\n\
                  Example:\n  sudo artis explain run -D 1m --pid 4711 --json late.json"
)]
pub(super) struct Args {
    /// How long: seconds, or with a unit: 90s, 5m, 12h, 1d
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,
    #[command(flatten)]
    target: Target,
    /// Stop at the first that is later, with exit status 2
    #[arg(long, value_name = "US", value_parser = value::duration::microseconds(0..=3_600_000_000_u64))]
    until: Option<u64>,
    /// Keep only what is later
    #[arg(long, value_name = "US", default_value_t = 0)]
    #[arg(value_parser = value::duration::microseconds(0..=3_600_000_000_u64))]
    threshold: u64,
    /// How many to explain
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = value::number::whole(1..=1000_u16))]
    worst: u16,
    #[command(flatten)]
    files: Files,
    /// Print the explanation and errors only
    #[arg(short, long)]
    quiet: bool,
}

/// Whom to watch.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// All threads of a process
    #[arg(long, value_parser = value::number::process)]
    pid: Option<i32>,
    /// One thread
    #[arg(long, value_name = "TID", value_parser = value::number::process)]
    thread: Option<i32>,
    /// Threads of this name; * stands for any text
    #[arg(long, value_name = "GLOB")]
    comm: Option<String>,
    /// All threads of a cgroup, by its folder
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,
    /// Command to start, with its arguments, and all that it starts
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    command: Vec<OsString>,
}

impl Target {
    /// The threads, and who they are in words; none: those of the command.
    fn resolve(&self) -> anyhow::Result<Option<(Watched, String)>> {
        let number = |number: i32| u32::try_from(number).unwrap_or(0);
        let (watched, words) = if let Some(pid) = self.pid {
            (Watched::Process(number(pid)), format!("process {pid}"))
        } else if let Some(tid) = self.thread {
            (Watched::Thread(number(tid)), format!("thread {tid}"))
        } else if let Some(name) = &self.comm {
            (Watched::Name(name.clone()), format!("threads named {name}"))
        } else if let Some(path) = &self.cgroup {
            let words = format!("cgroup {}", path.display());
            (Watched::Cgroup(path.clone()), words)
        } else {
            return Ok(None);
        };
        let is_none = watched.threads(&Root::default()).is_empty();
        if is_none && self.comm.as_ref().is_some_and(|name| !name.is_empty()) {
            say!("artis: there are no {words} yet: waiting for the first");
        } else if is_none {
            bail!("there is nothing to watch: {}", self.absent());
        }
        Ok(Some((watched, words)))
    }

    /// What does not exist, in words, when there is no thread.
    fn absent(&self) -> String {
        let listed = "`artis tasks` lists what there is";
        match self {
            Self { pid: Some(pid), .. } => {
                format!("process {pid} does not exist; it may have ended, and {listed}")
            }
            Self {
                thread: Some(tid), ..
            } => format!("thread {tid} does not exist; it may have ended, and {listed}"),
            // Any other name is waited for.
            Self { comm: Some(_), .. } => {
                "the name after --comm is empty, and no thread has an empty name".to_owned()
            }
            Self {
                cgroup: Some(path), ..
            } => {
                let folder = path.display();
                match path.metadata() {
                    Err(error) => format!("cannot read the cgroup {folder}: {}", in_words(&error)),
                    Ok(_) if !is_cgroup(path) => {
                        format!("{folder} is no cgroup: it has no list of threads")
                    }
                    Ok(_) => format!("the cgroup {folder} has no thread"),
                }
            }
            _ => "nobody was named".to_owned(),
        }
    }
}

/// The system's reason, in the words of this command.
fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        _ => error.to_string(),
    }
}

/// cgroup v2 and v1 list the threads of a group in these.
fn is_cgroup(folder: &Path) -> bool {
    let lists = ["cgroup.threads", "tasks"];
    lists.iter().any(|list| folder.join(list).exists())
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let program = args.target.command.first();
    let program = program.cloned().unwrap_or_default();
    explain(&args.target, program, &Plan::from(&args), &args.files)
}

impl From<&Args> for Plan {
    fn from(args: &Args) -> Self {
        Self {
            duration: args.duration,
            until_us: args.until,
            settings: Settings {
                worst: usize::from(args.worst),
                threshold_ns: args.threshold * 1000,
                until_ns: args.until.map(|us| us * 1000),
            },
            quiet: args.quiet,
        }
    }
}

/// Watches a command, with all that it starts, until it ends, and explains the ten worst. `program`
/// is what people call it.
pub(in crate::cli) fn command(
    command: Vec<OsString>,
    program: &OsStr,
    quiet: bool,
) -> anyhow::Result<ExitCode> {
    let target = Target {
        pid: None,
        thread: None,
        comm: None,
        cgroup: None,
        command,
    };
    let plan = Plan {
        duration: None,
        until_us: None,
        settings: Settings {
            worst: 10,
            threshold_ns: 0,
            until_ns: None,
        },
        quiet,
    };
    explain(&target, program.to_owned(), &plan, &Files::default())
}

fn explain(
    target: &Target,
    program: OsString,
    plan: &Plan,
    files: &Files,
) -> anyhow::Result<ExitCode> {
    let whom = target.resolve()?.map_or_else(
        || Whom::Command(program, target.command.clone()),
        |(watched, words)| Whom::Threads(watched, words),
    );
    let opened = files.open()?;
    explained(whom, plan, |document| opened.publish(document))
}
