// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure commands`: how long short commands take, one after the other.

use super::common::Common;
use super::policy::{self, Scheduling};
use super::until::Until;
use super::words::refuse_stray;
use crate::cli::value;
use crate::machine::CpuList;
use crate::measure::commands::series::series;
use crate::measure::commands::{self, Command, Plan};
use crate::measure::program::in_words;
use crate::measure::thread::Policy;
use crate::report::commands as report;
use crate::report::live::so_far;
use crate::result::names::COMMAND;
use artis_run::session::{Figures, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// The policy where nobody asks for one.
const DEFAULT: Policy = Policy::Normal;

/// Measure how long short commands take: started as a shell does it, one after the other
#[derive(clap::Args)]
#[command(
    mut_arg("priority", |arg| policy::help(arg, DEFAULT, "the commands")),
    mut_arg("loops", |arg| arg.help("Number of commands")),
    after_help = "A command is `true` unless another one is named. Its time is that from before the fork \
                  until it has been waited for; the program is found in PATH before, and what it prints \
                  is discarded. The first one is not recorded: caches are warm afterwards. Commands keep \
                  the policy and nice value of artis itself where these are normal, unless -p, --policy or \
                  --nice gives them others. Ctrl-C keeps the \
                  commands that are complete.\n\n\
                  Examples:\n  artis measure commands -D 30 --load compute --json commands.json\n  \
                  artis measure commands -l 200 -i 50ms -- git status"
)]
pub struct Args {
    /// CPUs that the commands, and what starts them, may use [default: all that are allowed]
    #[arg(short = 'a', long, value_name = "LIST", value_parser = value::cpus::own)]
    cpus: Option<CpuList>,
    /// Pause from a command's end to the next one's start, microseconds
    #[arg(short, long, value_name = "US", default_value_t = 0)]
    #[arg(value_parser = value::duration::microseconds(0..=3_600_000_000_u64))]
    interval: u64,
    #[command(flatten)]
    until: Until,
    #[command(flatten)]
    policy: Scheduling,
    #[command(flatten)]
    common: Common,
    /// A command without `--` before it
    #[arg(hide = true)]
    stray: Vec<OsString>,
    /// Command to run, with its arguments
    #[arg(value_name = "CMD", last = true, default_value = "true")]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    refuse_stray(&args.stray, &args.command, "artis measure commands")?;
    let plan = Plan {
        command: Command::find(&args.command)?,
        cpus: args.cpus.clone(),
        policy: args.policy.resolve(DEFAULT)?,
        count: args.until.loops(),
        duration: args.until.duration(),
        pause: Duration::from_micros(args.interval),
    };
    let measurement = Session::begin(&args.common, args.settings(&plan))?.start()?;
    let stop = measurement.stop_flag();
    let sign = measurement.voice().sign(plan.duration);
    let outcome = commands::measure(&plan, &stop, &mut |live| {
        args.until.show_part(&sign, live.count(), 1);
        sign.show(|| so_far("longest", live.max_ns(), live.count(), "commands"));
    })?;
    drop(sign);
    let finished = measurement.finish(Figures {
        seconds: Some(outcome.seconds),
        series: series(&outcome),
        counted: Some(COMMAND),
        failure: outcome.failed.map(Into::into),
        ..Figures::default()
    });
    let words = in_words(&args.command);
    finished.publish_table(|document| report::table(document, &words, plan.policy))?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// What the result says of the options.
    fn settings(&self, plan: &Plan) -> BTreeMap<String, Value> {
        let mut settings = BTreeMap::from([
            ("command".to_owned(), json!(in_words(&self.command))),
            ("cpus".to_owned(), json!(self.cpus)),
            ("interval_us".to_owned(), json!(self.interval)),
            ("unrecorded_commands".to_owned(), json!(1)),
        ]);
        settings.extend(policy::settings(plan.policy));
        settings.extend(self.until.settings());
        settings
    }
}
