// SPDX-License-Identifier: GPL-2.0-only
//! Watching threads with the flight recorder, until a document says who made them late.

use crate::exit::BOUND_MISSED;
use crate::progress::Sign;
use crate::signals::stop_on_signals;
use crate::start::not_started;
use anyhow::Context;
use artis_explain::document::{Document, SCHEMA};
use artis_machine::Root;
use artis_recorder::{Recorder, Settings, Storage, Watched};
use artis_report::explain as report;
use artis_task::starter::ends_with;
use nix::sys::signal::Signal;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often the recorder's marks are looked at: far less than a ring takes to be written over.
pub const LOOK: Duration = Duration::from_millis(20);
/// How often new threads and names are looked for.
pub const REFRESH: Duration = Duration::from_secs(1);

/// The document of what was watched since `began`.
pub fn document(
    recorder: &Recorder,
    watched: String,
    began: Instant,
    ended_early: Option<String>,
) -> Document {
    let kernel = Root::default().hint("/proc/sys/kernel/osrelease");
    Document {
        schema: SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: kernel.unwrap_or_default().trim().to_owned(),
        watched,
        seconds: began.elapsed().as_secs_f64(),
        ended_early,
        memory_bytes: recorder.memory_bytes(),
        events: recorder.events(),
        missed: recorder.missed(),
        absent: recorder.absent().to_vec(),
        threads: recorder.threads(),
        history: Default::default(),
        worst: Vec::new(),
        culprits: Vec::new(),
        advice: Vec::new(),
    }
    .explain(recorder.kept())
}

/// How to watch.
pub struct Plan {
    pub duration: Option<Duration>,
    pub until_us: Option<u64>,
    pub settings: Settings,
    pub quiet: bool,
}

/// Whom to watch.
pub enum Whom {
    /// Threads that there are or will be, and who they are in words.
    Threads(Watched, String),
    /// A command to start, with its arguments and all that it starts; first what people call it.
    Command(OsString, Vec<OsString>),
}

/// Watches, and explains the worst; `publish` writes the document.
///
/// # Errors
/// When the recorder cannot be loaded, or the document cannot be written.
pub fn explained(
    whom: Whom,
    plan: &Plan,
    publish: impl FnOnce(&Document) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let stop = stop_on_signals()?;
    let mut storage = Storage::uninit();
    let mut recorder = Recorder::load(&mut storage, plan.settings)?;
    if !plan.quiet {
        say!(
            "artis: {}",
            report::memory(recorder.memory_bytes(), recorder.kept_bytes_max())
        );
    }
    let mut child = None;
    let (watched, words) = match whom {
        Whom::Threads(watched, words) => {
            recorder.watch(&watched)?;
            (watched, words)
        }
        Whom::Command(program, words) => {
            let started = match start(&words, &mut recorder)? {
                Ok(started) => started,
                Err(code) => return Ok(code),
            };
            let pid = started.id();
            child = Some(started);
            let words = format!("the command {}", program.display());
            (Watched::Family(pid), words)
        }
    };
    let began = Instant::now();
    let ended = watch(&mut recorder, &watched, plan, &stop, child.as_mut())?;
    recorder.finish();
    let sign = Sign::new(!plan.quiet && child.is_none(), None);
    sign.step("explaining");
    let document = document(&recorder, words, began, ended.early.clone());
    drop(sign);
    drop(recorder);
    let status = child.map(|child| end(child, ended.status)).transpose()?;
    publish(&document)?;
    let exceeded = plan.until_us.and_then(|us| report::exceeded(&document, us));
    if let Some(exceeded) = exceeded {
        say!("artis: {exceeded}");
        return Ok(ExitCode::from(BOUND_MISSED));
    }
    Ok(status.map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// Starts the command, or gives the exit status of one that cannot be. It is watched from its first
/// instruction on: this thread is, while it creates the process, and a child of a watched thread
/// is.
fn start(words: &[OsString], recorder: &mut Recorder) -> anyhow::Result<Result<Child, ExitCode>> {
    let (program, arguments) = words.split_first().context("there is no command")?;
    recorder.watch(&Watched::Caller)?;
    let mut command = Command::new(program);
    command.args(arguments);
    let starter = nix::unistd::getpid();
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(move || ends_with(starter, Signal::SIGTERM)) };
    let child = command.spawn();
    recorder.forget(&Watched::Caller);
    Ok(child.map_err(|error| {
        let (code, reason) = not_started(program, &error);
        say!("artis: could not run {}: {reason}", program.display());
        ExitCode::from(code)
    }))
}

/// How the watching ended.
#[derive(Default)]
struct Ended {
    early: Option<String>,
    /// Of the command, if it ended by itself.
    status: Option<std::process::ExitStatus>,
}

fn watch(
    recorder: &mut Recorder,
    watched: &Watched,
    plan: &Plan,
    stop: &AtomicUsize,
    mut child: Option<&mut Child>,
) -> anyhow::Result<Ended> {
    let began = Instant::now();
    // The terminal is the command's, if there is one.
    let sign = Sign::new(!plan.quiet && child.is_none(), plan.duration);
    let mut refreshed = Instant::now();
    let mut ended = Ended::default();
    loop {
        std::thread::sleep(LOOK);
        recorder.poll();
        sign.show(|| report::so_far(recorder.worst_ns()));
        if let Some(child) = child.as_mut()
            && let Some(status) = child.try_wait()?
        {
            ended.status = Some(status);
            return Ok(ended);
        }
        if refreshed.elapsed() >= REFRESH {
            recorder.refresh(watched)?;
            refreshed = Instant::now();
            let grows = matches!(watched, Watched::Name(_) | Watched::Cgroup(_));
            if child.is_none() && !grows && !recorder.is_alive() {
                ended.early = Some("no watched thread was left".to_owned());
                return Ok(ended);
            }
        }
        if recorder.has_stopped() {
            ended.early = Some("one was above the limit".to_owned());
            return Ok(ended);
        }
        let signal = stop.load(Ordering::Relaxed);
        if signal != 0 {
            ended.early = Some(format!("signal {signal}"));
            return Ok(ended);
        }
        if plan
            .duration
            .is_some_and(|duration| began.elapsed() >= duration)
        {
            return Ok(ended);
        }
    }
}

/// Ends the command, if it goes on, and gives its exit status: 128 and the signal where one ended
/// it, 0 where that was ours.
///
/// # Errors
/// When it cannot be ended or waited for.
pub fn end(mut child: Child, status: Option<std::process::ExitStatus>) -> anyhow::Result<u8> {
    use std::os::unix::process::ExitStatusExt;
    let Some(status) = status else {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id())?);
        // A command that has just ended needs no signal.
        let _ = nix::sys::signal::kill(pid, Signal::SIGTERM);
        let asked = Instant::now();
        while child.try_wait()?.is_none() {
            if asked.elapsed() > REFRESH {
                child.kill()?;
                child.wait()?;
                break;
            }
            std::thread::sleep(LOOK);
        }
        return Ok(0);
    };
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(u8::try_from(code.unwrap_or(1)).unwrap_or(1))
}
