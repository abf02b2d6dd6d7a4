// SPDX-License-Identifier: GPL-2.0-only
//! The supervised side of named loads: starts the programs, sees that they are at work, runs
//! rounds again, stops them in order and adds up what they did.

use super::job::{Count, Job};
use super::stressng;
use crate::supervised::{Event, Inside, Usage};
use crate::{Error, program};
use artis_machine::{CpuList, Root, processes};
use artis_result::LoadDone;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time in which each load must have done some work: far more than a busy machine needs, for a
/// load that does nothing would make a measurement worthless.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Between two looks at loads that are starting.
const START_PAUSE: Duration = Duration::from_millis(20);
/// Time in which a load must end when it is asked to. Rounds that take longer are killed and not
/// counted.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// What the supervised process tells.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// Every load is at work.
    AtWork,
    /// All have been stopped.
    Done(Vec<LoadDone>),
}

/// Runs the jobs until the starter asks to stop, or goes. Its stop is answered with
/// [`Message::Done`].
pub fn run(inside: &mut Inside, jobs: &[Job], cpus: Option<&CpuList>) -> Result<(), Error> {
    if let Some(cpus) = cpus {
        inside.bind(cpus)?;
    }
    let mut loads = Vec::new();
    for job in jobs {
        loads.push(Load::start(inside, job)?);
    }
    let stopped = wait_until_at_work(inside, &mut loads)?;
    if !stopped {
        inside.say(Message::AtWork)?;
        while !turn(inside, &mut loads, None)? {}
    }
    let done = stop(inside, &mut loads, cpus)?;
    inside.say(Message::Done(done))
}

/// Whether it was asked to stop before all are at work.
fn wait_until_at_work(inside: &mut Inside, loads: &mut [Load]) -> Result<bool, Error> {
    let limit = Instant::now() + START_LIMIT;
    while let Some(idle) = loads.iter().find(|load| !load.is_at_work()) {
        if Instant::now() > limit {
            return Err(idle.idle(format!("in its first {} s", START_LIMIT.as_secs())));
        }
        if turn(inside, loads, Some(START_PAUSE))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits for one event and answers it. True: it is time to stop.
fn turn(
    inside: &mut Inside,
    loads: &mut [Load],
    patience: Option<Duration>,
) -> Result<bool, Error> {
    match inside.wait(patience)? {
        Event::Stop => return Ok(true),
        Event::Abandoned => return Err(abandoned()),
        Event::Nothing => {}
        Event::Child => {
            while let Some((pid, status, usage)) = inside.reap() {
                if let Some(load) = loads.iter_mut().find(|load| load.pid == Some(pid)) {
                    load.ended(status, usage)?;
                    load.start_round(inside)?;
                }
            }
        }
    }
    Ok(false)
}

/// Nobody hears it: the starter has gone.
fn abandoned() -> Error {
    Error::Reported("the process that started the load has gone".to_owned())
}

/// Interrupts what runs for ever, lets rounds come to their end, and counts.
fn stop(
    inside: &mut Inside,
    loads: &mut [Load],
    cpus: Option<&CpuList>,
) -> Result<Vec<LoadDone>, Error> {
    for load in loads.iter_mut() {
        load.ask_to_stop();
    }
    let limit = Instant::now() + STOP_LIMIT;
    while loads.iter().any(|load| load.pid.is_some()) {
        let left = limit.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match inside.wait(Some(left))? {
            Event::Abandoned => return Err(abandoned()),
            Event::Stop | Event::Nothing | Event::Child => {}
        }
        while let Some((pid, status, usage)) = inside.reap() {
            if let Some(load) = loads.iter_mut().find(|load| load.pid == Some(pid)) {
                load.ended(status, usage)?;
            }
        }
    }
    loads.iter().map(|load| load.done(cpus)).collect()
}

/// One load.
struct Load<'a> {
    job: &'a Job,
    folder: PathBuf,
    output: PathBuf,
    /// The program, while it runs.
    pid: Option<i32>,
    began: Instant,
    /// Up to when its work is counted: the end of a round, or when it was asked to stop.
    until: Instant,
    stopping: bool,
    rounds: u64,
    used: Usage,
}

impl<'a> Load<'a> {
    fn start(inside: &Inside, job: &'a Job) -> Result<Self, Error> {
        let name = job.preset.name();
        let folder = inside.folder().join(name);
        let unusable = |reason| Error::Folder {
            folder: inside.folder().to_owned(),
            reason,
        };
        std::fs::create_dir(&folder).map_err(unusable)?;
        job.prepare(&folder)?;
        let mut load = Self {
            job,
            output: inside.folder().join(format!("{name}.log")),
            folder,
            pid: None,
            began: Instant::now(),
            until: Instant::now(),
            stopping: false,
            rounds: 0,
            used: Usage::default(),
        };
        load.start_round(inside)?;
        Ok(load)
    }

    fn start_round(&mut self, inside: &Inside) -> Result<(), Error> {
        // Made anew each time, so that the output of rounds does not pile up.
        let output = File::create(&self.output)
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(|reason| Error::Folder {
                folder: inside.folder().to_owned(),
                reason,
            })?;
        let mut command = self.job.command(&self.folder);
        command
            .stdin(Stdio::null())
            .stdout(output.0)
            .stderr(output.1);
        self.pid = Some(inside.spawn(&mut command)?);
        Ok(())
    }

    fn is_report(&self) -> bool {
        matches!(self.job.count(&self.folder).0, Count::Report { .. })
    }

    /// Has it done anything? A finished round, or CPU time of its workers: the program that
    /// starts workers needs some for itself.
    fn is_at_work(&self) -> bool {
        let Some(pid) = self.pid else { return false };
        if self.rounds > 0 {
            return true;
        }
        let root = Root::default();
        let mut family = processes::below(&root, pid);
        let workers = self.job.workers_expected();
        if workers == 0 {
            family.extend(processes::one(&root, pid));
        }
        family.retain(|process| !process.is_zombie);
        family.len() >= workers.max(1) && family.iter().any(|process| process.cpu_ticks > 0)
    }

    /// Counts the end of the program.
    fn ended(&mut self, status: ExitStatus, usage: Usage) -> Result<(), Error> {
        self.pid = None;
        self.used += usage;
        if !status.success() || (self.is_report() && !self.stopping) {
            return Err(Error::ProgramFailed {
                program: format!("the load `{}` ended early", self.job.preset),
                reason: format!("{status}; {}", self.words()),
            });
        }
        if !self.is_report() {
            self.rounds += 1;
            self.until = Instant::now();
        }
        Ok(())
    }

    fn ask_to_stop(&mut self) {
        self.stopping = true;
        if let Some(pid) = self.pid
            && self.is_report()
        {
            self.until = Instant::now();
            // It is our child and not reaped yet, so the number is still its own.
            let _ = kill(Pid::from_raw(pid), Signal::SIGINT);
        }
    }

    /// What it did, once it has ended.
    fn done(&self, cpus: Option<&CpuList>) -> Result<LoadDone, Error> {
        if self.pid.is_some() && self.is_report() {
            return Err(Error::ProgramFailed {
                program: format!("the load `{}`", self.job.preset),
                reason: format!(
                    "it did not end {} s after it was asked to and was killed; {}",
                    STOP_LIMIT.as_secs(),
                    self.words()
                ),
            });
        }
        let (count, unit) = self.job.count(&self.folder);
        let work = match count {
            Count::Rounds => self.rounds as f64,
            Count::Report { file, stressor } => std::fs::read_to_string(file)
                .ok()
                .and_then(|report| stressng::bogo_ops(&report, stressor))
                .unwrap_or(0.0),
        };
        if work <= 0.0 {
            return Err(self.idle("until it was stopped".to_owned()));
        }
        Ok(LoadDone {
            name: self.job.preset.name().to_owned(),
            cpus: cpus.map(CpuList::to_string),
            command: self.command_line(),
            work,
            unit: unit.to_owned(),
            seconds: (self.until - self.began).as_secs_f64(),
            cpu_seconds: Some((self.used.user + self.used.system).as_secs_f64()),
        })
    }

    fn command_line(&self) -> String {
        let command = self.job.command(&self.folder);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        words.join(" ")
    }

    fn idle(&self, when: String) -> Error {
        Error::Idle {
            name: self.job.preset.name(),
            when,
            words: self.words(),
        }
    }

    fn words(&self) -> String {
        program::last_words(&self.output)
    }
}
