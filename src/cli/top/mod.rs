// SPDX-License-Identifier: GPL-2.0-only
//! `artis top`: what real-time tasks get now, on a screen or once.

mod screen;

use super::exit::BOUND_MISSED;
use super::output::{print_json, stdout};
use super::signals::{self, stop_on_signals};
use super::{duration, watched, width};
use crate::machine::Root;
use anyhow::bail;
use artis_monitor::look::Looker;
use artis_monitor::now::Now;
use artis_monitor::top::state::State;
use artis_monitor::top::view;
use artis_monitor::watcher::Watcher;
use artis_watch::Storage;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
#[command(
    after_help = "Root sees how late wakeups are, others the rest. It looks when a thread has left its \
                  CPU, and at what happened around the next wakeups when one was above --bound. With \
                  --once it ends with 2 when one was.\n\n\
                  Examples:\n  sudo artis top --bound 100us\n  sudo artis top --once --json --every 10s"
)]
pub struct Args {
    #[command(flatten)]
    watched: watched::Options,
    /// How often to look
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration::parse)]
    every: Duration,
    /// Look once, after that time, and end
    #[arg(long)]
    once: bool,
    /// Only real-time threads and RT1+ tasks with this in their name
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Print JSON
    #[arg(long, requires = "once")]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let settings = args.watched.resolve(&root)?;
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if !args.once && !is_terminal {
        bail!("there is no terminal for the screen; `artis top --once` prints it");
    }
    let mut storage = Storage::uninit();
    let mut watcher = Watcher::start(&mut storage, &settings)?;
    let mut looker = Looker::new(root.clone());
    let mut state = State::default();
    state.filter.clone_from(&args.filter);
    if !args.once {
        screen::run(&mut looker, &mut watcher, state, args.every)?;
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stop_on_signals()?;
    looker.look(watcher.watched(&root));
    signals::sleep(args.every, &stop, &mut || {
        watcher.poll();
    });
    let mut now = looker.look(watcher.watched(&root));
    now.rt0 = state.rt0(&now.rt0).into_iter().cloned().collect();
    now.rt1.retain(|one| state.shows(&one.name));
    let mut out = stdout();
    match args.json {
        true => print_json(&mut out, &now)?,
        false => out.text(&view::page(
            &now,
            &state,
            width::of_stdout().clamp(80, 200) as u16,
        ))?,
    }
    Ok(match is_late(&now) {
        true => ExitCode::from(BOUND_MISSED),
        false => ExitCode::SUCCESS,
    })
}

fn is_late(now: &Now) -> bool {
    let mut above = now.rt0.iter().filter_map(|one| one.wakeups.as_ref()?.above);
    above.any(|count| count > 0)
}
