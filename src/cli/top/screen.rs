// SPDX-License-Identifier: GPL-2.0-only
//! The screen: looks, draws and takes keys until it is asked to end.

use crate::cli::signals::stop_on_signals;
use crate::machine::Root;
use anyhow::Context;
use artis_monitor::look::Looker;
use artis_monitor::now::Now;
use artis_monitor::top::state::{Asked, State};
use artis_monitor::top::view;
use artis_monitor::watcher::Watcher;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a key is waited for, and how often late wakeups are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Shows it until `q`, Ctrl-C or a signal. The terminal is as before then.
pub(super) fn run(
    looker: &mut Looker,
    watcher: &mut Watcher<'_>,
    state: State,
    every: Duration,
) -> anyhow::Result<()> {
    let stop = stop_on_signals()?;
    let mut terminal = ratatui::try_init().context(
        "cannot draw on this terminal; `artis top --once` prints what there is without a screen",
    )?;
    let shown = show(&mut terminal, looker, watcher, state, every, &stop);
    // Whatever happened, the terminal is given back.
    ratatui::restore();
    shown
}

fn show(
    terminal: &mut DefaultTerminal,
    looker: &mut Looker,
    watcher: &mut Watcher<'_>,
    mut state: State,
    every: Duration,
    stop: &AtomicUsize,
) -> anyhow::Result<()> {
    let root = Root::default();
    let mut now: Now = looker.look(watcher.watched(&root));
    let mut looked = Instant::now();
    loop {
        terminal
            .draw(|frame| view::draw(&now, &state, frame.area(), frame.buffer_mut()))
            .context("cannot draw on the terminal")?;
        loop {
            if stop.load(Ordering::Relaxed) != 0 {
                return Ok(());
            }
            watcher.poll();
            if event::poll(LOOK).context("cannot read keys")? {
                match event::read().context("cannot read keys")? {
                    Event::Key(key) if state.key(key) == Asked::Quit => return Ok(()),
                    _ => break,
                }
            }
            if looked.elapsed() >= every && !state.is_paused {
                now = looker.look(watcher.watched(&root));
                looked = Instant::now();
                break;
            }
        }
    }
}
