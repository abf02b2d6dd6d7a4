// SPDX-License-Identifier: GPL-2.0-only
//! `artis tasks`: every thread, in the classes of the paper.

use super::output::{print_json, stdout};
use super::width;
use crate::machine::Root;
use crate::machine::tasks::{self, Policy, Task};
use crate::report::tasks::{Line, table};
use crate::task::kind::Kind;
use serde::Serialize;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  artis tasks --rt")]
pub struct Args {
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
