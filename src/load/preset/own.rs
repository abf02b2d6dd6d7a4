// SPDX-License-Identifier: GPL-2.0-only
//! One of artis's own loads under the supervisor: a process for each CPU, whose counters are read
//! when the load ends.

use super::Preset;
use super::worker::{Load, files};
use crate::own::process::{Place, Process};
use crate::own::{Body, Load as Kind};
use crate::supervised::{Inside, Usage};
use crate::{Error, program};
use artis_machine::CpuList;
use artis_result::LoadDone;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Instant;

/// The code of a load, whose program is there if it needs one.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    kind: Kind,
    body: Body,
}

impl Code {
    /// # Errors
    /// [`Error::MissingProgram`].
    pub fn find(kind: Kind) -> Result<Self, Error> {
        let body = kind.body()?;
        Ok(Self { kind, body })
    }
}

/// Its processes, and what they did once they have been stopped.
pub struct Own {
    kind: Kind,
    output: PathBuf,
    processes: Vec<Process>,
    workers: usize,
    began: Instant,
    until: Instant,
    work: u64,
    used: Usage,
    /// Why stopping it failed.
    failed: Option<Error>,
}

impl Own {
    /// # Errors
    /// When the system refuses a process, or the load's files cannot be made.
    pub fn start(inside: &Inside, code: Code, workers: usize) -> Result<Self, Error> {
        let name = code.kind.name();
        let (folder, output) = files(inside, name)?;
        let began = Instant::now();
        let start_one = |_| {
            Process::start(name, Place::default(), |counters| {
                use_files(&folder, &output).map_err(Error::io("use the load's files"))?;
                code.body.run(counters)
            })
        };
        Ok(Self {
            kind: code.kind,
            processes: (0..workers).map(start_one).collect::<Result<_, _>>()?,
            output,
            workers,
            began,
            until: began,
            work: 0,
            used: Usage::default(),
            failed: None,
        })
    }
}

/// In a process of the load: its files and its messages go where the supervisor removes them.
fn use_files(folder: &Path, output: &Path) -> std::io::Result<()> {
    let messages = OpenOptions::new().append(true).create(true).open(output)?;
    nix::unistd::dup2_stdout(&messages)?;
    nix::unistd::dup2_stderr(&messages)?;
    // SAFETY: the process has one thread, so nobody reads the environment meanwhile.
    unsafe { std::env::set_var("TMPDIR", folder) };
    Ok(())
}

impl Load for Own {
    fn is_at_work(&self) -> bool {
        (self.processes.iter()).all(|process| process.counters().done() > 0)
    }

    fn ended(&mut self, _: &Inside, pid: i32, status: ExitStatus, _: Usage) -> Result<bool, Error> {
        if !(self.processes.iter()).any(|process| process.pid().as_raw() == pid) {
            return Ok(false);
        }
        Err(super::worker::ended_early(
            Preset::Own(self.kind),
            status,
            &self.output,
        ))
    }

    fn ask_to_stop(&mut self) {
        self.until = Instant::now();
        self.work = (self.processes.iter())
            .map(|process| process.counters().done())
            .sum();
        for process in self.processes.drain(..) {
            match process.stop_and_account() {
                Ok(used) => self.used += used,
                Err(error) => self.failed = Some(error),
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.processes.is_empty()
    }

    fn done(&mut self, cpus: Option<&CpuList>) -> Result<LoadDone, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.work == 0 {
            return Err(self.idle("until it was stopped".to_owned()));
        }
        let what = (self.kind.program()).unwrap_or_else(|| "artis's own code".to_owned());
        Ok(LoadDone {
            name: self.kind.name().to_owned(),
            cpus: cpus.map(CpuList::to_string),
            command: format!("{what}, {} at a time", self.workers),
            work: self.work as f64,
            unit: self.kind.unit().to_owned(),
            seconds: (self.until - self.began).as_secs_f64(),
            cpu_seconds: Some((self.used.user + self.used.system).as_secs_f64()),
        })
    }

    fn idle(&self, when: String) -> Error {
        Error::Idle {
            name: self.kind.name(),
            when,
            words: program::last_words(&self.output),
        }
    }
}
