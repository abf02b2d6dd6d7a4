// SPDX-License-Identifier: GPL-2.0-only
//! `artis tasks`: every thread, in the classes of the paper.

mod model;

use super::duration;
use super::output::{print_json, stdout};
use super::width;
use crate::machine::Root;
use crate::machine::tasks::{self, Policy, Task};
use crate::report::tasks::{Line, table};
use crate::task::kind::Kind;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  artis tasks --rt\n  sudo artis tasks --model -D 1m")]
pub struct Args {
    /// Only admitted tasks: their utilisation and bounds, and what was seen of them
    ///
    /// A response is counted from the wakeup. Ends with 2 when a number of the model does not hold,
    /// or the tasks do not fit.
    #[arg(long, conflicts_with = "rt")]
    model: bool,
    /// Watch the jobs of the admitted tasks for so long first: 10s, 1m
    #[arg(short = 'D', long, value_name = "TIME", requires = "model")]
    #[arg(value_parser = duration::parse)]
    duration: Option<Duration>,
    /// Only tasks of a real-time policy, and RT1+ tasks
    #[arg(long)]
    rt: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    tasks: Vec<Line>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    if args.model {
        return model::run(&root, args.duration, args.json);
    }
    let all = tasks::all(&root)?;
    let wanted = |task: &Task| !args.rt || task.policy.is_real_time() || task.policy == Policy::Ext;
    let line = |task: Task| {
        // A task that has ended meanwhile is left out.
        let status = tasks::status(&root, &task)?;
        Some(Line {
            class: Kind::of(&task, &status.allowed),
            migrations: tasks::migrations(&root, &task),
            status,
            task,
        })
    };
    let mut lines: Vec<Line> = all.into_iter().filter(wanted).filter_map(line).collect();
    lines.sort_by_key(|line| line.class);
    let mut out = stdout();
    if args.json {
        let document = Document {
            schema: "artis.tasks/1",
            tasks: lines,
        };
        print_json(&mut out, &document)?;
    } else {
        out.text(&table(&lines, width::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}
