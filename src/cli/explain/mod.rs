// SPDX-License-Identifier: GPL-2.0-only
//! `artis explain`: who made threads late, to the last microsecond.

pub(super) mod files;
pub(super) mod run;
mod show;

use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  sudo artis explain run -D 1m --comm 'controller*'")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Run(run::Args),
    Show(show::Args),
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Run(args) => run::run(args),
        Command::Show(args) => show::run(&args),
    }
}
