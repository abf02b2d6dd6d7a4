// SPDX-License-Identifier: GPL-2.0-only
//! `artis demo`: classics of real time, on this machine.

mod inversion;

use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  sudo artis demo inversion --cpu 1")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Inversion(inversion::Args),
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Inversion(args) => inversion::run(&args),
    }
}
