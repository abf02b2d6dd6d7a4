// SPDX-License-Identifier: GPL-2.0-only
//! `artis metrics`: what `artis top` shows, for Prometheus, and events for the journal.

use super::output::stdout;
use super::signals::{self, stop_on_signals};
use super::{duration, watched};
use crate::machine::Root;
use artis_monitor::culprits::Outcome;
use artis_monitor::events::{Event, Events};
use artis_monitor::look::Looker;
use artis_monitor::metrics::serve::Server;
use artis_monitor::metrics::{Family, families, text, textfile};
use artis_monitor::watcher::{Seen, Watcher};
use artis_result::terminal::plain;
use artis_watch::{Alert, Storage};
use sd_notify::NotifyState;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often late wakeups are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// systemd's journal sets it for what it reads.
const JOURNAL: &str = "JOURNAL_STREAM";

#[derive(clap::Args)]
#[command(
    after_help = "Without --textfile and --listen it prints the metrics once, as text. With them it goes \
                  on until a signal, and says events on standard error: the scheduler on or off, \
                  leaks, late wakeups and their culprits, a partition that drifts.\n\n\
                  Examples:\n  sudo artis metrics --listen 127.0.0.1:9464 --bound 100us\n  \
                  sudo artis metrics --textfile /var/lib/node_exporter/artis.prom"
)]
pub struct Args {
    #[command(flatten)]
    watched: watched::Options,
    /// How often to look
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration::parse)]
    every: Duration,
    /// Replace this file each time, for node_exporter's textfile collector; it ends with .prom
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    /// Serve on this address of the loopback, such as 127.0.0.1:9464, as OpenMetrics
    #[arg(long, value_name = "ADDRESS", value_parser = loopback)]
    listen: Option<SocketAddr>,
    /// Print warnings and errors only
    #[arg(short, long)]
    quiet: bool,
}

/// Whoever can reach it reads names of threads: nobody outside of this machine.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        Ok(_) => Err(
            "only the loopback is served, such as 127.0.0.1:9464; to reach it from elsewhere, \
             forward it (ssh -L)"
                .to_owned(),
        ),
        Err(_) => Err("write an address and a port, such as 127.0.0.1:9464".to_owned()),
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let settings = args.watched.resolve(&root)?;
    if let Some(path) = &args.textfile {
        textfile::check(path)?;
    }
    let server = args.listen.map(Server::listen).transpose()?;
    let mut storage = Storage::uninit();
    let mut watcher = Watcher::start(&mut storage, &settings)?;
    let mut looker = Looker::new(root.clone());
    let stop = stop_on_signals()?;
    if server.is_none() && args.textfile.is_none() {
        looker.look(watcher.watched(&root));
        let wait = args.every.min(Duration::from_secs(1));
        signals::sleep(wait, &stop, &mut || ());
        let now = looker.look(watcher.watched(&root));
        for unknown in &now.unknown {
            say!("artis: {unknown}");
        }
        stdout().text(&text::text(&families::of(&now)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut giver = Giver {
        server,
        textfile: args.textfile.clone(),
        refused: None,
    };
    let mut events = Events::default();
    let mut seen = Gathered::default();
    let mut looked: Option<Instant> = None;
    while stop.load(Ordering::Relaxed) == 0 {
        seen.add(watcher.poll());
        if looked.is_none_or(|at| at.elapsed() >= args.every) || seen.is_news() {
            let now = looker.look(watcher.watched(&root));
            for event in events.look(&now, &seen.alerts, seen.outcome.as_ref()) {
                said(&event);
            }
            seen = Gathered::default();
            giver.give(families::of(&now), looked.is_none())?;
            if looked.is_none() {
                begin(&giver, args.quiet);
            }
            looked = Some(Instant::now());
        }
        signals::sleep(LOOK, &stop, &mut || ());
    }
    if let Some(path) = &args.textfile {
        // Figures that nobody renews would be taken for those of now. One that is gone is as well.
        let _ = std::fs::remove_file(path);
    }
    Ok(ExitCode::SUCCESS)
}

/// What has come since the last look.
#[derive(Default)]
struct Gathered {
    alerts: Vec<Alert>,
    outcome: Option<Outcome>,
}

impl Gathered {
    fn add(&mut self, seen: Seen) {
        self.alerts.extend(seen.alerts);
        self.outcome = seen.outcome.or(self.outcome.take());
    }

    /// Is there a culprit to say at once?
    fn is_news(&self) -> bool {
        self.outcome.is_some()
    }
}

/// Where metrics go.
struct Giver {
    server: Option<Server>,
    textfile: Option<PathBuf>,
    /// What was said of the file last: once until it changes.
    refused: Option<String>,
}

impl Giver {
    /// Gives these from now on. That the file cannot be written is an error at the begin; later it
    /// is said, and tried again.
    fn give(&mut self, families: Vec<Family>, is_first: bool) -> anyhow::Result<()> {
        if let Some(path) = &self.textfile {
            match textfile::write(path, &text::text(&families)) {
                Ok(()) => self.refused = None,
                Err(error) if is_first => return Err(error.into()),
                Err(error) => {
                    let text = format!("{:#}", anyhow::Error::from(error));
                    if self.refused.as_ref() != Some(&text) {
                        say!("{}artis: {text}", prefix("<4>"));
                        self.refused = Some(text);
                    }
                }
            }
        }
        if let Some(server) = &self.server {
            server.set(families);
        }
        Ok(())
    }
}

fn begin(giver: &Giver, is_quiet: bool) {
    if !is_quiet {
        if let Some(server) = &giver.server {
            say!("artis: metrics on http://{}/metrics", server.address);
        }
        if let Some(path) = &giver.textfile {
            say!("artis: metrics in {}", path.display());
        }
    }
    // Without NOTIFY_SOCKET this does nothing. With a broken one nobody can be notified.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
}

fn prefix(level: &'static str) -> &'static str {
    match std::env::var_os(JOURNAL) {
        Some(_) => level,
        None => "",
    }
}

fn said(event: &Event) {
    say!(
        "{}artis: {}",
        prefix(event.level.prefix()),
        plain(&event.text)
    );
}
