// SPDX-License-Identifier: GPL-2.0-only
//! `artis measure`: one file for each quantity, and what they share ([`artis_run::session`]).

mod all;
mod commands;
pub(super) mod common;
mod completion;
mod costs;
mod cpus;
mod cyclictest;
mod exec;
mod jitter;
mod latency;
mod messages;
mod piece;
mod policy;
mod sentences;
mod throughput;
mod until;
mod words;

use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  sudo artis measure latency -a 1 -D 1m")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Latency(latency::Args),
    Exec(exec::Args),
    Jitter(jitter::Args),
    Throughput(throughput::Args),
    Commands(commands::Args),
    Messages(messages::Args),
    Completion(completion::Args),
    Costs(costs::Args),
    All(all::Args),
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Latency(args) => latency::run(args),
        Command::Exec(args) => exec::run(args),
        Command::Jitter(args) => jitter::run(args),
        Command::Throughput(args) => throughput::run(args),
        Command::Commands(args) => commands::run(args),
        Command::Messages(args) => messages::run(args),
        Command::Completion(args) => completion::run(args),
        Command::Costs(args) => costs::run(args),
        Command::All(args) => all::run(args),
    }
}
