// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure`: one file a quantity, and what they share ([`session`]).

mod session;

use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {}
}
