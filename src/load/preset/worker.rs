// SPDX-License-Identifier: GPL-2.0-only
//! The supervised side of named loads: starts them, sees that they are at work, stops them in
//! order and collects what they did.

use super::Preset;
use super::job::Job;
use crate::supervised::{Event, Inside, Usage};
use crate::{Error, program};
use artis_machine::CpuList;
use artis_result::LoadDone;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Time in which each load must have done some work: far more than a busy machine needs, for a
/// load that does nothing would make a measurement worthless.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Between two looks at loads that are starting.
const START_PAUSE: Duration = Duration::from_millis(20);
/// Time in which a load must end when it is asked to. Rounds that take longer are killed and not
/// counted.
pub const STOP_LIMIT: Duration = Duration::from_secs(30);

/// What the supervised process reports.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// Every load is at work.
    AtWork,
    /// All have been stopped.
    Done(Vec<LoadDone>),
}

/// A load that has been started.
pub trait Load {
    /// Has it done any work?
    fn is_at_work(&self) -> bool;

    /// Takes note that a process has ended. False: it is not one of this load.
    ///
    /// # Errors
    /// When the load has ended early with it.
    fn ended(
        &mut self,
        inside: &Inside,
        pid: i32,
        status: ExitStatus,
        usage: Usage,
    ) -> Result<bool, Error>;

    /// Begins its end; [`has_ended`](Self::has_ended) says when it is over.
    fn ask_to_stop(&mut self);

    /// Has it come to its end?
    fn has_ended(&self) -> bool;

    /// What it did, once it has ended.
    ///
    /// # Errors
    /// When it did nothing, or had to be killed.
    fn done(&mut self, cpus: Option<&CpuList>) -> Result<LoadDone, Error>;

    /// The error of a load that did no work.
    fn idle(&self, when: String) -> Error;
}

type Loads<'a> = [Box<dyn Load + 'a>];

/// Runs the jobs until the starter asks to stop, or is gone. A stop is answered with
/// [`Message::Done`].
pub fn run(inside: &mut Inside, jobs: &[Job], cpus: Option<&CpuList>) -> Result<(), Error> {
    if let Some(cpus) = cpus {
        inside.bind(cpus)?;
    }
    let mut loads = Vec::new();
    for job in jobs {
        loads.push(job.start(inside)?);
    }
    let stopped = wait_until_at_work(inside, &mut loads)?;
    if !stopped {
        inside.say(Message::AtWork)?;
        while !turn(inside, &mut loads, None)? {}
    }
    let done = stop(inside, &mut loads, cpus)?;
    inside.say(Message::Done(done))
}

/// Makes the folder of the load with this name, and names the file for its messages.
pub fn files(inside: &Inside, name: &str) -> Result<(PathBuf, PathBuf), Error> {
    let folder = inside.folder().join(name);
    std::fs::create_dir(&folder).map_err(|reason| Error::Folder {
        folder: inside.folder().to_owned(),
        reason,
    })?;
    Ok((folder, inside.folder().join(format!("{name}.log"))))
}

/// The error of a load that ended by itself, with what it said.
pub fn ended_early(preset: Preset, status: ExitStatus, output: &Path) -> Error {
    Error::ProgramFailed {
        program: format!("the load `{preset}` ended early"),
        reason: format!("{status}; {}", program::last_words(output)),
    }
}

/// Whether it was asked to stop before all are at work.
fn wait_until_at_work(inside: &mut Inside, loads: &mut Loads) -> Result<bool, Error> {
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
fn turn(inside: &mut Inside, loads: &mut Loads, patience: Option<Duration>) -> Result<bool, Error> {
    match inside.wait(patience)? {
        Event::Stop => return Ok(true),
        Event::Abandoned => return Err(abandoned()),
        Event::Nothing => {}
        Event::Child => reap(inside, loads)?,
    }
    Ok(false)
}

/// Hands every process that has ended to its load.
fn reap(inside: &Inside, loads: &mut Loads) -> Result<(), Error> {
    while let Some((pid, status, usage)) = inside.reap() {
        for load in loads.iter_mut() {
            if load.ended(inside, pid, status, usage)? {
                break;
            }
        }
    }
    Ok(())
}

/// The starter is gone, so nobody reads this.
fn abandoned() -> Error {
    Error::Reported("the process that started the load has gone".to_owned())
}

/// Stops the loads and collects what they did.
fn stop(
    inside: &mut Inside,
    loads: &mut Loads,
    cpus: Option<&CpuList>,
) -> Result<Vec<LoadDone>, Error> {
    for load in loads.iter_mut() {
        load.ask_to_stop();
    }
    let limit = Instant::now() + STOP_LIMIT;
    while loads.iter().any(|load| !load.has_ended()) {
        let left = limit.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match inside.wait(Some(left))? {
            Event::Abandoned => return Err(abandoned()),
            Event::Stop | Event::Nothing | Event::Child => {}
        }
        reap(inside, loads)?;
    }
    loads.iter_mut().map(|load| load.done(cpus)).collect()
}
